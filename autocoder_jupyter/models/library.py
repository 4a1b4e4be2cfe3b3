"""litellm: its import, without side effects on the process, and the prices and limits of models in its tables.

This is the only place that imports it: late, and not on the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import json
import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, cast

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.data.tokens import estimate_tokens
from autocoder_jupyter.models import keys, preflight
from autocoder_jupyter.models.protocol import ModelConfig, WorstCase
from autocoder_jupyter.models.questions import dialect_of
from autocoder_jupyter.settings.config import OWN_PRICES
from autocoder_jupyter.types import Usage

# The import
#
# By default, it downloads a price list, loads a `.env` file of the working folder into `os.environ`, redirects
# tiktoken's cache, and later prints advertisements on errors.

_ENVIRONMENT = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
_OPENAI = frozenset({"openai", "azure", "custom_openai", "text-completion-openai"})
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")

_TOKENIZER = "litellm.litellm_core_utils.default_encoding"
"""litellm needs it when an answer begins. Providers that are not in `_OPENAI` get it before the request is sent."""

_CACHE = "TIKTOKEN_CACHE_DIR"
"""The variable that the import of `_TOKENIZER` sets."""

SENDING_SECONDS = 0.1
"""How long a request is sent before the tokenizer is imported, so that one does not delay the other."""

_AT_FIRST_REQUEST = ("litellm._service_logger", "anyio._backends._asyncio")
"""Modules that litellm and httpx import in the first request, with those that these need."""

_RARE_COLLECTIONS = 100_000
"""The threshold of the garbage collector during the import of a large library; the default is 700 or 2,000 objects."""

_lock = threading.Lock()
_litellm: Any = None


def load() -> ModuleType:
    """The litellm module. The first call takes seconds and blocks."""
    global _litellm
    with _lock:
        if _litellm is None:
            with _environment_restored(), collecting_rarely():
                _litellm = importlib.import_module("litellm")
            _skip_import_of_proxy(importlib.import_module("litellm.main"))
            _litellm.suppress_debug_info = True
            for name in _LOGGERS:
                logging.getLogger(name).setLevel(logging.CRITICAL)
        return cast(ModuleType, _litellm)


def load_client(model: str) -> None:
    """Import the modules that litellm's first request to a model would import on the event loop. Blocks for seconds.

    Many providers are reached with openai's client, which has more than 400 modules.
    """
    litellm = load()
    try:
        provider = litellm.get_llm_provider(model)[1]
    except litellm.exceptions.BadRequestError:
        return
    if provider not in _OPENAI:
        load_tokenizer()
    with collecting_rarely():
        if provider in _OPENAI or provider in litellm.openai_compatible_providers:
            importlib.import_module("openai.resources")
        for name in _AT_FIRST_REQUEST:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def load_tokenizer() -> None:
    """Import litellm's tokenizer. The first call takes 0.2 s and blocks."""
    if _TOKENIZER not in sys.modules:
        _load_tokenizer(os.environ.get(_CACHE))


@contextlib.contextmanager
def importing_tokenizer() -> Iterator[None]:
    """During a request, import litellm's tokenizer on another thread: a model needs longer until it answers.

    If an answer comes sooner, litellm imports it on the event loop. In both cases the environment is as it was soon.
    """
    if _TOKENIZER in sys.modules:
        yield
        return
    before, has_begun = os.environ.get(_CACHE), threading.Event()

    def begin() -> None:
        has_begun.set()
        start_thread(lambda: _load_tokenizer(before), "autocode-prepare")

    timer = asyncio.get_running_loop().call_later(SENDING_SECONDS, begin)
    try:
        yield
    finally:
        timer.cancel()
        if not has_begun.is_set():
            begin()


def _load_tokenizer(before: str | None) -> None:
    """Import it, and give the environment variable that it sets its value from before."""
    with _lock, collecting_rarely():
        tokenizer = importlib.import_module(_TOKENIZER)
        if os.environ.get(_CACHE) == tokenizer.cache_dir:
            _restore(_CACHE, before)


def is_loaded() -> bool:
    """Whether `load` returns at once."""
    return _litellm is not None


async def preload() -> ModuleType:
    """`load` for an event loop. Start it early, so that the import runs during other work."""
    if is_loaded():
        return cast(ModuleType, _litellm)
    return await background.call_blocking(load)


def _skip_import_of_proxy(main: Any) -> None:
    """Let the first request not import the server of litellm, which is needed only for messages with files."""
    original = getattr(main, "update_messages_with_model_file_ids", None)
    if original is None:
        return

    def update(messages: list[Any], *args: Any, **more: Any) -> Any:
        texts = all(isinstance(message.get("content"), str) for message in messages)
        return messages if texts else original(messages, *args, **more)

    main.update_messages_with_model_file_ids = update


@contextlib.contextmanager
def _environment_restored() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    os.environ.update(_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            _restore(name, value)


def _restore(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@contextlib.contextmanager
def collecting_rarely() -> Iterator[None]:
    """Collect garbage rarely: an import leaves almost no garbage, and collections would take a quarter of its time."""
    before = gc.get_threshold()
    rarely = (max(before[0], _RARE_COLLECTIONS), *before[1:])
    if before[0]:
        gc.set_threshold(*rarely)
    try:
        yield
    finally:
        if gc.get_threshold() == rarely:  # no other code has changed it
            gc.set_threshold(*before)


# Prices and context windows

MARGIN = 1.4
"""A safety factor: an estimate may be ten percent too low, and writing input to a cache costs a quarter more."""

_TOKENS_PER_MESSAGE = 8


def cost_of(usage: Usage, config: ModelConfig, litellm: ModuleType) -> float | None:
    """The cost of `usage` in US dollars; None if the price of the model is unknown. The user's own prices come first.

    Blocks: litellm looks up some models over HTTP (Ollama).
    """
    if own := preflight.own_prices(config):
        return usage.input_tokens * own[0] + usage.output_tokens * own[1]
    try:
        input_cost, output_cost = litellm.cost_per_token(
            model=config.model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cache_read_input_tokens=usage.cached_tokens,
            cache_creation_input_tokens=usage.written_tokens,
        )
    except Exception:  # of many types, but always because the model is not in the table
        return None
    cost = float(input_cost + output_cost)
    if cost == 0 and preflight.provider(config.model, litellm) not in preflight.FREE:
        return None  # listed without a price
    return cost


def require_price(config: ModelConfig, litellm: ModuleType) -> None:
    """Check that the cost of a question can be computed. Blocks like `cost_of`."""
    if cost_of(Usage(input_tokens=1000, output_tokens=1000), config, litellm) is None:
        raise preflight.no_price(config)


def describe(config: ModelConfig) -> dict[str, Any]:
    """Facts about a model for the user, never the key itself. Imports litellm, so the first call blocks for seconds."""
    litellm = load()
    preflight.recall_key(config)
    variable = preflight.key_variable(config, litellm)
    info: dict[str, Any] = {}
    with contextlib.suppress(Exception):  # "not mapped", with various exception types
        info = dict(litellm.get_model_info(config.model))
    if own := preflight.own_prices(config):
        info |= dict(zip(OWN_PRICES, own, strict=True))
    return {
        "model": config.model,
        "provider": preflight.provider(config.model, litellm),
        "api_base": config.api_base,
        "key_variable": variable,
        "key_typed": keys.typed(config) is not None,
        "key_set": bool(os.environ.get(variable)) if variable else None,
        "context_window": info.get("max_input_tokens"),
        "max_output": info.get("max_output_tokens"),
        "input_price": _per_million(info.get("input_cost_per_token")),
        "output_price": _per_million(info.get("output_cost_per_token")),
        "structured_output": dialect_of(config, litellm).format,
    }


def _per_million(price: float | None) -> float | None:
    return None if price is None else round(price * 1e6, 6)


def worst_case(
    messages: Iterable[Mapping[str, Any]], schema: object, room: int, config: ModelConfig, litellm: ModuleType
) -> WorstCase:
    """The maximum usage of one request. Blocks like `cost_of`."""
    texts = [str(message.get("content") or "") for message in messages]
    texts += [json.dumps(schema, default=str)] if schema is not None else []
    asked = round(MARGIN * sum(estimate_tokens(text) + _TOKENS_PER_MESSAGE for text in texts))
    question, answer = Usage(input_tokens=asked), Usage(output_tokens=room)
    return WorstCase(
        question.model_copy(update={"cost": cost_of(question, config, litellm)}),
        answer.model_copy(update={"cost": cost_of(answer, config, litellm)}),
    )
