"""Keys of models that a person has typed. They are in the memory of this process, and in no file of this package.

A key belongs to one provider at one address. Where the settings or the environment name another address, it is not
found, so it is never sent there. The `keyring` library, if it is installed, may keep it in the system's keyring.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from typing import Any, NamedTuple

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.models import catalogue
from autocoder_jupyter.models.protocol import ModelConfig

_ADDRESSES = ("base_url", "api_base")
_VARIABLE = re.compile(r"_(?:API_BASE|BASE_URL|API_URL|API_BASE_URL|ENDPOINT)$")
_KEY = re.compile(r"[!-~]{4,4000}")
"""What can be sent in a header."""


class KeyPlace(NamedTuple):
    """Where a key may be sent: a provider, and the address that is set for it; "" for the provider's own."""

    provider: str
    address: str


_typed: dict[KeyPlace, str] = {}
_looked_up: set[KeyPlace] = set()
"""The places for which the system's keyring was asked."""


def place_of(config: ModelConfig) -> KeyPlace:
    """The place to which a key for this model would be sent."""
    prefix = config.model.partition("/")[0]
    provider = str(config.params.get("custom_llm_provider") or catalogue.provider_of(config.model) or prefix)
    given = (*(config.params.get(name) for name in _ADDRESSES), config.api_base)
    address = next((str(each) for each in given if each), "") or _set_for(provider)
    return KeyPlace(provider, address.rstrip("/"))


def _set_for(provider: str) -> str:
    """The addresses that the environment names for a provider, or for all."""
    begins = (f"{re.sub(r'[^A-Za-z0-9]', '_', provider).upper()}_", "LITELLM_")
    found = (
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if value and name.startswith(begins) and _VARIABLE.search(name)
    )
    return " ".join((*found, *(["USE_LITELLM_PROXY"] if os.environ.get("USE_LITELLM_PROXY") else [])))


def typed(config: ModelConfig) -> str | None:
    """The key that a person typed for the place of this model."""
    return _typed.get(place_of(config)) if _typed else None


def use(config: ModelConfig, key: str) -> None:
    """Use a key for the place of this model, until this process ends; "" removes it.

    Raises:
        InvalidRequest: it cannot be a key.
    """
    if key and not _KEY.fullmatch(key):
        raise InvalidRequest(
            "This cannot be a key.", why="A key has at least four characters, and no spaces, line breaks or accents."
        )
    if key:
        _typed[place_of(config)] = key
    else:
        _typed.pop(place_of(config), None)


def hidden(text: str) -> str:
    """A text without the keys that were typed: a service may repeat the one that it refuses."""
    for key in _typed.values():
        text = text.replace(key, "<key>")
    return text


# The system's keyring

_SERVICE = "autocoder-jupyter"
_SYSTEMS = {
    "macOS": "the macOS keychain",
    "Windows": "the Windows credential locker",
    "SecretService": "the system's keyring",
    "libsecret": "the system's keyring",
    "kwallet": "KWallet",
}
"""Backends of `keyring` that a system protects. Others may write a plain file."""


def keyring_name() -> str:
    """The system's keyring in words; "" if `keyring` is not installed or has none."""
    return _SYSTEMS[_backend_name(found)] if (found := _keyring()) is not None else ""


def keep(config: ModelConfig) -> None:
    """Write the typed key of a model's place into the system's keyring.

    Raises:
        InvalidRequest: there is none, or it refuses.
    """
    backend, key = _keyring(), typed(config)
    if key is None:
        return
    try:
        if backend is None:
            raise OSError("no keyring of the system is there")
        backend.set_password(_SERVICE, " ".join(place_of(config)), key)
    except Exception as error:  # of many types, and its text may be anything
        raise InvalidRequest(
            "The key could not be written to the system's keyring.",
            why=f"{type(error).__name__}. It is used until this kernel ends.",
        ) from None


def recall(config: ModelConfig) -> bool:
    """Look for a key in the system's keyring, once for each place. Returns whether there is one now. Blocks."""
    place = place_of(config)
    if place not in _typed and place not in _looked_up and (backend := _keyring()) is not None:
        _looked_up.add(place)
        try:
            key = backend.get_password(_SERVICE, " ".join(place))
        except Exception:  # locked, or without a user to unlock it
            key = None
        if isinstance(key, str) and _KEY.fullmatch(key):
            _typed[place] = key
    return place in _typed


def _keyring() -> Any:
    """The backend of `keyring` that a system protects; None if there is none."""
    if importlib.util.find_spec("keyring") is None:
        return None
    try:
        backend: Any = importlib.import_module("keyring").get_keyring()
        for one in (backend, *getattr(backend, "backends", ())):
            if _backend_name(one) in _SYSTEMS:
                return one
    except Exception:  # a backend without its service
        return None
    return None


def _backend_name(backend: Any) -> str:
    package, _, name = type(backend).__module__.rpartition(".")
    return name if package == "keyring.backends" else ""
