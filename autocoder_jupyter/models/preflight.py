"""Keys of models, and failures that can be found before litellm is imported, which takes seconds.

Only certain failures are refused here. If litellm may find another way (a key in the parameters, a custom provider, a
proxy), litellm decides.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import math
import os
import re
import socket
import sys
import urllib.request
from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeGuard
from urllib.parse import SplitResult, urlsplit

from autocoder_jupyter.errors import (
    AuthenticationFailed,
    InvalidRequest,
    ModelUnavailable,
    PriceUnknown,
    UnknownModel,
)
from autocoder_jupyter.models import catalogue, keys
from autocoder_jupyter.models.catalogue import known_providers
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.settings.config import NO_KEY, OWN_PRICES

# Keys
#
# A key is read when a call is made, and passed with it. `keys` has those that a person typed.

_FURTHER_PROVIDERS = (
    "aleph_alpha",
    "cohere",
    "google",
    "huggingface",
    "nvidia_nim",
    "openrouter",
    "palm",
    "perplexityai",
)
"""Names of providers in their variables, if the table of models has other names."""

_CLOUDS = frozenset({"cloudflare", "databricks", "heroku", "oci", "ovhcloud", "sagemaker", "scaleway", "snowflake"})
"""Providers whose keys give access to more than models."""

_OTHER_KEYS = frozenset({"ANTHROPIC_AUTH_TOKEN", "HF_TOKEN", "REPLICATE_API_TOKEN"})


def belongs_to_provider(variable: str) -> bool:
    """Whether the name of an environment variable is that of a model provider's key, such as `OPENAI_API_KEY`."""
    owner = variable.removesuffix("_API_KEY")
    if owner == variable:
        return variable in _OTHER_KEYS
    providers = {*known_providers(), *_FURTHER_PROVIDERS} - _CLOUDS
    return _letters(owner) in map(_letters, providers)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def find_key(config: ModelConfig, litellm: ModuleType) -> str | None:
    """The key to pass; None if litellm finds it itself or the parameters contain one."""
    if "api_key" in config.params:
        return None
    if key := keys.typed(config):
        return key
    if config.api_key:
        return named_key(config)
    missing = missing_variables(config, litellm)
    if not missing:
        return None
    if config.api_base is not None:
        return NO_KEY
    raise no_key(config, missing)


def named_key(config: ModelConfig) -> str:
    """The key in the variable that `config.api_key` names."""
    key = os.environ.get(config.api_key or "", "").strip()
    if not key:
        raise AuthenticationFailed(
            f"There is no key for {config.model}.",
            why=f"api_key names the environment variable {config.api_key}, which is not set.",
            hint=f"Set it before Python starts. {TYPE_IT}",
        )
    return key


def no_key(config: ModelConfig, missing: Sequence[str]) -> AuthenticationFailed:
    """The error for a provider whose usual variables are not set. One of `missing` is enough."""
    return AuthenticationFailed(
        f"There is no key for {config.model}.",
        why=f"The environment variable {' or '.join(missing)} is not set.",
        hint=f"Set it before Python starts, name another variable with api_key=…, or choose another model. {TYPE_IT}",
    )


TYPE_IT = "In a notebook, %autocode setup asks for the key."


def missing_variables(config: ModelConfig, litellm: ModuleType) -> tuple[str, ...]:
    """The provider's key variables that are not set. One of them is enough.

    Empty for providers that also accept other credentials (cloud roles, tokens, login files), because then a missing
    variable is not an error.
    """
    if litellm.api_key:
        return ()
    missing = litellm.validate_environment(config.model)["missing_keys"]
    return tuple(missing) if all(name.endswith("_API_KEY") for name in missing) else ()


def key_variable(config: ModelConfig, litellm: ModuleType) -> str:
    """Name of the variable for the key, even if it is not set; "" if the provider needs no key."""
    if config.api_key:
        return config.api_key
    missing = missing_variables(config, litellm)
    if missing:
        return missing[0]
    usual = f"{provider(config.model, litellm).upper()}_API_KEY"
    return usual if usual in os.environ else ""


def provider(model: str, litellm: ModuleType) -> str:
    """The provider as litellm names it; "" if the model's name does not say it."""
    prefix, _, name = model.partition("/")
    if name and prefix in {str(getattr(known, "value", known)) for known in litellm.provider_list}:
        return prefix
    for known, models in litellm.models_by_provider.items():
        if model in models:
            return str(known)
    return ""


# Checks before the first question

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

FREE = frozenset({*_LOCAL, "lemonade"})
"""Providers that run locally, and cost nothing."""

_OWN_SERVERS = frozenset({"openai"})
"""Providers in `KEYS` whose protocol other servers have."""

_ADDRESSES = ("base_url", "api_base")
_OTHER_WAYS = ("api_key", "custom_llm_provider", "headers", "extra_headers", "default_headers", *_ADDRESSES)
"""Parameters in which litellm may find a key or a provider."""

_VARIABLES = ("api_key", "api_base", "custom_provider_map", "use_litellm_proxy")
"""Variables of the litellm module in which it may find a key or a provider."""

_CONNECT_SECONDS = 0.5
_UNREACHABLE = frozenset({errno.ECONNREFUSED, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENETUNREACH})
_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


def check(config: ModelConfig) -> None:
    """Refuse a model that certainly cannot be asked. Blocks: it opens and closes a connection to the user's address."""
    require_provider(config)
    require_key(config)
    require_address(config)


def require_key(config: ModelConfig) -> None:
    """Check that there may be a key.

    Raises:
        AuthenticationFailed: there is certainly no key.
    """
    if "api_key" in config.params or keys.typed(config):
        return
    if config.api_key:
        named_key(config)
        return
    if _may_be_found_by_litellm(config):
        return
    variables = KEYS.get(catalogue.provider_of(config.model), ())
    if variables and not any(os.environ.get(variable, "").strip() for variable in variables):
        raise no_key(config, [name for name in variables if name.endswith("_API_KEY")])


def recall_key(config: ModelConfig) -> bool:
    """Look for a key in the system's keyring, if there is none elsewhere and one may be needed. Returns whether it has
    one. Blocks: the user may have to unlock it.
    """
    provider = catalogue.provider_of(config.model)
    variables = (config.api_key,) if config.api_key else KEYS.get(provider, ())
    if "api_key" in config.params or any(os.environ.get(name, "").strip() for name in variables):
        return False
    is_here = urlsplit(config.api_base or "").hostname in ("localhost", catalogue.HOST)
    return not is_here and (provider in KEYS or bool(config.api_base)) and keys.recall(config)


def require_provider(config: ModelConfig) -> None:
    """Check that some provider may serve the model.

    Raises:
        UnknownModel: certainly no provider serves it; the hint has similar names.
    """
    model = config.model
    if not catalogue.provider_names() or ":" in model or _may_be_found_by_litellm(config):
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
    meant = f"{catalogue.did_you_mean(config.model)} ".lstrip()
    if config.api_base:
        own = f"openai/{name if slash else prefix}"
        meant += f"If a server with the protocol of OpenAI answers at {config.api_base}, write -m {own}. "
    return UnknownModel(
        f"There is no model {config.model!r}.",
        why=f"No provider {prefix!r} is known." if slash else "Its name does not say which provider serves it.",
        hint=f"{meant}{HOW_TO_NAME}",
    )


def require_price(config: ModelConfig) -> None:
    """Check that the price of the model may be known, where the cost is limited.

    Raises:
        PriceUnknown: it is certainly not known.
    """
    provider = catalogue.provider_of(config.model)
    may_be_decided = (provider in KEYS or config.api_base is not None) and provider not in FREE
    if not may_be_decided or "litellm" in sys.modules or own_prices(config) is not None:
        return
    if not catalogue.has_price(config.model):
        raise no_price(config)


_chosen_prices: dict[tuple[str, str | None], tuple[float, float]] = {}


def own_prices(config: ModelConfig) -> tuple[float, float] | None:
    """The user's own prices of an input and an output token, in US dollars; None if they are not set."""
    asked, answered = (config.params.get(name) for name in OWN_PRICES)
    if _is_price(asked) and _is_price(answered):
        return float(asked), float(answered)
    return _chosen_prices.get((config.model, config.api_base))


def use_prices(config: ModelConfig, prices: tuple[float, float] | None) -> None:
    """Use prices for this model at its address, where its parameters have none, until this process ends.

    Raises:
        InvalidRequest: they are no prices.
    """
    if prices is None:
        _chosen_prices.pop((config.model, config.api_base), None)
    elif all(_is_price(price) and math.isfinite(price) for price in prices):
        _chosen_prices[config.model, config.api_base] = prices
    else:
        raise InvalidRequest("A price must be a number, 0 or more.")


def _is_price(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def no_price(config: ModelConfig) -> PriceUnknown:
    """The error for a limit in dollars on a model without a known price."""

    def line(*prices: str) -> str:
        given = "".join(f"{name!r}: …, " for name in config.params if name not in OWN_PRICES)
        pairs = ", ".join(f"{name!r}: {price}" for name, price in zip(OWN_PRICES, prices, strict=True))
        return f"%config Autocode.litellm_params = {{{given}{pairs}}}"

    return PriceUnknown(
        f"The price of {config.model} is not known, so max_cost cannot be kept. Nothing was sent.",
        why="litellm's table does not have it, and litellm_params has none.",
        hint=f"If it is free: {line('0', '0')}\n"
        f"To set a price, in US dollars for a token: {line('2e-6', '8e-6')}\n"
        "Or limit its tokens instead, with max_tokens (--max-tokens).",
    )


HOW_TO_NAME = "Models are named provider/model: -m openai/gpt-4.1, or %config Autocode.model = '…'."


def require_address(config: ModelConfig) -> None:
    """Check that something listens at the model's address, if the user's settings name one.

    Raises:
        ModelUnavailable: the connection is refused, there is no host of this name, or requests to this machine would go
            to a proxy on another one.
    """
    address, advice = _address(config)
    place = urlsplit(address)
    if place.scheme not in ("http", "https") or not place.hostname:
        return
    if proxy := _proxy(place):
        _require_no_proxy_for_this_machine(config, address, place.hostname, proxy)
        return
    why = _connection_error(place.hostname, _port(place))
    if why:
        raise ModelUnavailable(
            f"{config.model} cannot be asked: nothing answers at {address}.",
            why=why,
            hint=f"{advice}, then run the cell again. If it has another address, set api_base=….",
        )


def _may_be_found_by_litellm(config: ModelConfig) -> bool:
    given = config.api_base is not None or any(name in config.params for name in _OTHER_WAYS)
    return given or bool(os.environ.get("USE_LITELLM_PROXY")) or _is_set_in_litellm()


def _is_set_in_litellm() -> bool:
    """Whether the user imported litellm and set one of its variables."""
    litellm = sys.modules.get("litellm")
    return litellm is not None and any(vars(litellm).get(name) for name in _VARIABLES)


def _address(config: ModelConfig) -> tuple[str, str]:
    """The address of the model, if known, and the advice if nothing answers there."""
    if _is_set_in_litellm():
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


def _proxy(place: SplitResult) -> str:
    """The proxy that makes the connection; "" if there is none. It may know more hosts than this machine."""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(place.scheme) or proxies.get("all") or ""
    return "" if urllib.request.proxy_bypass(place.hostname or "") else proxy


def _require_no_proxy_for_this_machine(config: ModelConfig, address: str, host: str, proxy: str) -> None:
    """Clients send also what is for this machine to a proxy, where it means another machine."""
    server = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if not _is_this_machine(host):
        return
    if _is_this_machine(server.hostname or "") and not _connection_error(server.hostname or "", _port(server)):
        return
    scheme = urlsplit(address).scheme
    names = [f"{scheme}_proxy", f"{scheme}_proxy".upper(), "all_proxy", "ALL_PROXY"]
    variable = next((name for name in names if os.environ.get(name)), "the settings of the system")
    without = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    name = "no_proxy" if os.environ.get("no_proxy") else "NO_PROXY"
    raise ModelUnavailable(
        f"{config.model} cannot be asked: requests to {address} would go to a proxy.",
        why=f"It is named in {variable}. A model on this machine is asked directly.",
        hint=f"Run %env {name}={','.join(filter(None, (without, host)))}, and the cell again; or set it where the "
        "kernel starts.",
    )


def _is_this_machine(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _connection_error(host: str, port: int) -> str:
    """Why no connection can be made; "" if one can, or if that is not certain."""
    try:
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS, all_errors=True).close()
    except socket.gaierror as error:
        return f"There is no host {host}." if error.errno in _NO_SUCH_NAME else ""
    except ExceptionGroup as refused:  # one error for each address of the host
        numbers = {getattr(error, "errno", None) for error in refused.exceptions}
        return "The connection is refused." if errno.ECONNREFUSED in numbers and numbers <= _UNREACHABLE else ""
    except OSError:
        return ""
    return ""
