"""The only place that imports litellm: late, off the event loop, and without leaving traces in the process.

Left alone, the import fetches a price list over the network, loads a `.env` file of the working folder into
`os.environ`, points tiktoken elsewhere, and later prints advertisements on errors.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any, cast

from autocoder_jupyter.concurrency import background

_ENVIRONMENT = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
_OPENAI = frozenset({"openai", "azure", "custom_openai", "text-completion-openai"})
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")

_NEW_OBJECTS = 100_000
"""New objects between two garbage collections while a large library is imported; 700 or 2,000 otherwise."""

_lock = threading.Lock()
_litellm: Any = None


def load() -> ModuleType:
    """The litellm module. The first call takes seconds and blocks."""
    global _litellm
    with _lock:
        if _litellm is None:
            with _environment_restored(), _collecting_rarely():
                _litellm = importlib.import_module("litellm")
                # Every stream ends in this module, which sets TIKTOKEN_CACHE_DIR; here that is undone.
                importlib.import_module("litellm.litellm_core_utils.default_encoding")
            _litellm.suppress_debug_info = True
            for name in _LOGGERS:
                logging.getLogger(name).setLevel(logging.CRITICAL)
        return cast(ModuleType, _litellm)


def load_client(model: str) -> None:
    """Import what litellm's first request to a model would import on the event loop. Blocks for seconds.

    openai's client, by which many providers are reached, brings more than 400 modules then.

    Args:
        model: as litellm writes it. For an unknown model nothing is imported; its call reports the error.
    """
    litellm = load()
    try:
        provider = litellm.get_llm_provider(model)[1]
    except litellm.exceptions.BadRequestError:
        return
    if provider in _OPENAI or provider in litellm.openai_compatible_providers:
        with _collecting_rarely():
            importlib.import_module("openai.resources")


def is_loaded() -> bool:
    """Whether `load` returns at once."""
    return _litellm is not None


async def preload() -> ModuleType:
    """`load` for an event loop: start it early to hide the import behind other work."""
    if is_loaded():
        return cast(ModuleType, _litellm)
    return await background.call_blocking(load)


@contextlib.contextmanager
def _environment_restored() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in (*_ENVIRONMENT, "TIKTOKEN_CACHE_DIR")}
    os.environ.update(_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Nearly all that an import makes stays, and looking through it again and again takes a quarter of the time."""
    before = gc.get_threshold()
    rarely = (max(before[0], _NEW_OBJECTS), *before[1:])
    if before[0]:
        gc.set_threshold(*rarely)
    try:
        yield
    finally:
        if gc.get_threshold() == rarely:  # no other code has changed it meanwhile
            gc.set_threshold(*before)
