"""What is known of models without asking them: prices, windows, keys. For the cost of a call and for the doctor."""

from __future__ import annotations

import contextlib
import os
from types import ModuleType
from typing import Any

from autocoder_jupyter.models import credentials, library
from autocoder_jupyter.models.dialect import dialect_of
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.types import Usage

_FREE = frozenset({"ollama", "ollama_chat", "lemonade"})
"""Providers that run on one's own machine."""


def cost_of(usage: Usage, model: str, litellm: ModuleType) -> float | None:
    """US dollars of `usage`, or None when the price of `model` is not known.

    Blocks: litellm looks some models up over HTTP (Ollama).
    """
    try:
        asked, said = litellm.cost_per_token(
            model=model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cache_read_input_tokens=usage.cached_tokens,
        )
    except Exception:  # of many kinds, and always for one reason: the model is not in the table
        return None
    cost = float(asked + said)
    if cost == 0 and credentials.provider(model, litellm) not in _FREE:
        return None  # listed without a price
    return cost


def describe(config: ModelConfig) -> dict[str, Any]:
    """Facts about a model for a person: never the key itself. Loads litellm, so it blocks for seconds at first.

    Returns:
        `model`, `provider`, `api_base`, `key_variable`, `key_set`, `context_window` and `max_output` (tokens),
        `input_price` and `output_price` (US dollars a million tokens), `structured_output`. None: not known.
    """
    litellm = library.load()
    variable = credentials.key_variable(config, litellm)
    info: dict[str, Any] = {}
    with contextlib.suppress(Exception):  # "not mapped", by whatever name
        info = litellm.get_model_info(config.model)
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


def known_models(provider: str | None = None) -> list[str]:
    """Names of chat models, sorted, as they are given to `-m`; of one provider when one is named. Loads litellm."""
    litellm = library.load()
    names = set()
    for model, info in litellm.model_cost.items():
        owner = info.get("litellm_provider")
        if info.get("mode") == "chat" and owner and provider in (None, owner):
            names.add(model if model.startswith(f"{owner}/") else f"{owner}/{model}")
    return sorted(names)


def _per_million(price: float | None) -> float | None:
    return None if price is None else round(price * 1e6, 6)
