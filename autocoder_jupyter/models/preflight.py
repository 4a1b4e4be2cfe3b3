"""Checks for failures that can be found before litellm is imported, which takes seconds.

Only certain failures are refused here. If litellm may find another way (a key in the parameters, a custom provider, a
proxy), litellm decides.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import urllib.request
from typing import Any
from urllib.parse import SplitResult, urlsplit

from autocoder_jupyter.errors import ModelUnavailable, UnknownModel
from autocoder_jupyter.models import catalogue, credentials
from autocoder_jupyter.models.protocol import ModelConfig

KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "gemini": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""For each provider the variables for its key; only providers that accept no other credentials."""

OLLAMA_ADDRESS = "OLLAMA_API_BASE"
_OLLAMA = (OLLAMA_ADDRESS, "http://localhost:11434", "Start it in a terminal: ollama serve")
_LOCAL = {"ollama": _OLLAMA, "ollama_chat": _OLLAMA}
"""For each local provider: the variable for its address, its default address, and how to start it."""

_OWN_SERVERS = frozenset({"openai"})
"""Providers in `KEYS` whose protocol other servers have."""

_ADDRESSES = ("base_url", "api_base")
_OTHER_WAYS = ("api_key", "custom_llm_provider", "headers", "extra_headers", "default_headers", *_ADDRESSES)
"""Parameters in which litellm may find a key or a provider."""

_VARIABLES = ("api_key", "api_base", "custom_provider_map", "use_litellm_proxy")
"""Variables of the litellm module in which it may find a key or a provider."""

_CONNECT_SECONDS = 0.5
_NO_WAY = frozenset({errno.ECONNREFUSED, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENETUNREACH})
_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


def check(config: ModelConfig) -> None:
    """Refuse a model that certainly cannot be asked. Blocks: it opens and closes a connection to the user's address.

    Raises:
        AuthenticationFailed: the variable for the key is not set.
        UnknownModel: no provider of such a model is known.
        ModelUnavailable: nothing answers at the address.
    """
    require_provider(config)
    require_key(config)
    require_address(config)


def require_key(config: ModelConfig) -> None:
    """Check that there may be a key.

    Raises:
        AuthenticationFailed: there is certainly no key.
    """
    if "api_key" in config.params:
        return
    if config.api_key:
        credentials.named_key(config)
        return
    if _may_have_another_way(config):
        return
    variables = KEYS.get(catalogue.provider_of(config.model), ())
    if variables and not any(os.environ.get(variable, "").strip() for variable in variables):
        raise credentials.no_key(config, [name for name in variables if name.endswith("_API_KEY")])


def require_provider(config: ModelConfig) -> None:
    """Check that some provider may serve the model.

    Raises:
        UnknownModel: certainly no provider serves it; the hint has similar names.
    """
    model = config.model
    if not catalogue.provider_names() or ":" in model or _may_have_another_way(config):
        return
    if catalogue.provider_of(model) or catalogue.is_family(model):
        return
    raise unknown_provider(config)


def may_have_own_server(model: str) -> bool:
    """Whether a model may be at another address than the one of a provider's service."""
    provider = catalogue.provider_of(model)
    return provider not in KEYS or provider in _OWN_SERVERS


def unknown_provider(config: ModelConfig) -> UnknownModel:
    """The error for a name that no provider serves; the hint has similar names."""
    prefix, slash, name = config.model.partition("/")
    close = catalogue.similar_names(config.model)
    meant = f"Did you mean {' or '.join(close)}? " if close else ""
    if config.api_base:
        own = f"openai/{name if slash else prefix}"
        meant += f"If a server with the protocol of OpenAI answers at {config.api_base}, write -m {own}. "
    return UnknownModel(
        f"There is no model {config.model!r}.",
        why=f"No provider {prefix!r} is known." if slash else "Its name does not say which provider serves it.",
        hint=f"{meant}{HOW_TO_NAME}",
    )


HOW_TO_NAME = "Models are named provider/model: -m openai/gpt-4.1, or %config Autocode.model = '…'."


def require_address(config: ModelConfig) -> None:
    """Check that something listens at the model's address, if the user's settings name one.

    Raises:
        ModelUnavailable: the connection is refused, or there is no host of this name.
    """
    address, advice = _address(config)
    place = urlsplit(address)
    if place.scheme not in ("http", "https") or not place.hostname or _behind_proxy(place):
        return
    why = _obstacle(place.hostname, _port(place))
    if why:
        raise ModelUnavailable(
            f"{config.model} cannot be asked: nothing answers at {address}.",
            why=why,
            hint=f"{advice}, then run the cell again. If it has another address, set api_base=….",
        )


def _may_have_another_way(config: ModelConfig) -> bool:
    given = config.api_base is not None or any(name in config.params for name in _OTHER_WAYS)
    return given or bool(os.environ.get("USE_LITELLM_PROXY")) or _told_to_litellm()


def _told_to_litellm() -> bool:
    """Whether the user imported litellm and set one of its variables."""
    litellm = sys.modules.get("litellm")
    return litellm is not None and any(vars(litellm).get(name) for name in _VARIABLES)


def _address(config: ModelConfig) -> tuple[str, str]:
    """The address of the model, if known, and the advice if nothing answers there."""
    if _told_to_litellm():
        return "", ""
    variable, usual, advice = _LOCAL.get(catalogue.provider_of(config.model), ("", "", "Start the service"))
    given: tuple[Any, ...] = (*(config.params.get(name) for name in _ADDRESSES), config.api_base)
    address = next((each for each in given if each), os.environ.get(variable) or usual)
    return str(address), advice


def _port(place: SplitResult) -> int:
    with contextlib.suppress(ValueError):  # not a number
        if place.port is not None:
            return place.port
    return 443 if place.scheme == "https" else 80


def _behind_proxy(place: SplitResult) -> bool:
    """Whether a proxy makes the connection. It may know more hosts than this machine."""
    proxies = urllib.request.getproxies()
    return bool(proxies.keys() & {place.scheme, "all"}) and not urllib.request.proxy_bypass(place.hostname or "")


def _obstacle(host: str, port: int) -> str:
    """Why no connection can be made; "" if one can, or if that is not certain."""
    try:
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS, all_errors=True).close()
    except socket.gaierror as error:
        return f"There is no host {host}." if error.errno in _NO_SUCH_NAME else ""
    except ExceptionGroup as refused:  # one error for each address of the host
        numbers = {getattr(error, "errno", None) for error in refused.exceptions}
        return "The connection is refused." if errno.ECONNREFUSED in numbers and numbers <= _NO_WAY else ""
    except OSError:
        return ""
    return ""
