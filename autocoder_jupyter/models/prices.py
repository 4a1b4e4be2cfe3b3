"""Prices, context windows and keys of models, from litellm's tables: for the cost of a call and for the doctor."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, TypeGuard

from autocoder_jupyter.data.tokens import estimate_tokens
from autocoder_jupyter.errors import ModelError
from autocoder_jupyter.models import credentials, library
from autocoder_jupyter.models.dialect import dialect_of
from autocoder_jupyter.models.metering import Worst
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.settings.advanced import OWN_PRICES
from autocoder_jupyter.types import Usage

MARGIN = 1.4
"""A safety factor: an estimate may be ten percent too low, and writing input to a cache costs a quarter more."""

_AROUND_A_MESSAGE = 8

_FREE = frozenset({"ollama", "ollama_chat", "lemonade"})
"""Providers that run locally."""


def cost_of(usage: Usage, config: ModelConfig, litellm: ModuleType) -> float | None:
    """The cost of `usage` in US dollars; None if the price of the model is unknown. The user's own prices come first.

    Blocks: litellm looks up some models over HTTP (Ollama).
    """
    if own := _own_prices(config):
        return usage.input_tokens * own[0] + usage.output_tokens * own[1]
    try:
        asked, said = litellm.cost_per_token(
            model=config.model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cache_read_input_tokens=usage.cached_tokens,
            cache_creation_input_tokens=usage.written_tokens,
        )
    except Exception:  # of many types, but always because the model is not in the table
        return None
    cost = float(asked + said)
    if cost == 0 and credentials.provider(config.model, litellm) not in _FREE:
        return None  # listed without a price
    return cost


def require_price(config: ModelConfig, litellm: ModuleType) -> None:
    """Check that the cost of a question can be computed. Blocks like `cost_of`.

    Raises:
        ModelError: the price of the model is unknown.
    """
    if cost_of(Usage(input_tokens=1000, output_tokens=1000), config, litellm) is None:
        raise ModelError(
            f"The price of {config.model} is not known, so max_cost cannot be kept. Nothing was sent.",
            why="litellm's table does not have it.",
            hint='Set it in litellm_params={"input_cost_per_token": …, "output_cost_per_token": …} (US dollars, 0 for '
            "a local model), or use max_tokens (--max-tokens) instead, or use another model.",
        )


def _own_prices(config: ModelConfig) -> tuple[float, float] | None:
    asked, said = (config.params.get(name) for name in OWN_PRICES)
    return (float(asked), float(said)) if _is_price(asked) and _is_price(said) else None


def _is_price(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def describe(config: ModelConfig) -> dict[str, Any]:
    """Facts about a model for the user, never the key itself. Imports litellm, so the first call blocks for seconds.

    Returns:
        `model`, `provider`, `api_base`, `key_variable`, `key_set`, `context_window` and `max_output` (tokens),
        `input_price` and `output_price` (US dollars per million tokens), `structured_output`. None means unknown.
    """
    litellm = library.load()
    variable = credentials.key_variable(config, litellm)
    info: dict[str, Any] = {}
    with contextlib.suppress(Exception):  # "not mapped", with various exception types
        info = dict(litellm.get_model_info(config.model))
    if own := _own_prices(config):
        info |= dict(zip(OWN_PRICES, own, strict=True))
    return {
        "model": config.model,
        "provider": credentials.provider(config.model, litellm),
        "api_base": config.api_base,
        "key_variable": variable,
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
) -> Worst:
    """The maximum usage of one request. Blocks like `cost_of`.

    Args:
        messages: the messages of the request.
        schema: the schema that is sent with them, if any.
        room: the maximum number of tokens of the answer.
        config: the model.
        litellm: the litellm module, for the price.
    """
    texts = [str(message.get("content") or "") for message in messages]
    texts += [json.dumps(schema, default=str)] if schema is not None else []
    asked = round(MARGIN * sum(estimate_tokens(text) + _AROUND_A_MESSAGE for text in texts))
    question, answer = Usage(input_tokens=asked), Usage(output_tokens=room)
    return Worst(
        question.model_copy(update={"cost": cost_of(question, config, litellm)}),
        answer.model_copy(update={"cost": cost_of(answer, config, litellm)}),
    )
