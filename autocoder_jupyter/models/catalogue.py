"""The names of models that are known, read from litellm's table without loading litellm: that takes seconds."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_TABLE = "model_prices_and_context_window_backup.json"


def known_models(provider: str | None = None) -> list[str]:
    """Names of chat models, sorted, as they are given to `-m`; of one provider when one is named."""
    return [name for owner, name in _chat_models() if provider in (None, owner)]


def known_providers() -> list[str]:
    """Who serves them, sorted."""
    return sorted({owner for owner, _ in _chat_models()})


@cache
def _chat_models() -> tuple[tuple[str, str], ...]:
    """(provider, name) of each, sorted by name."""
    models = {
        (owner, model if model.startswith(f"{owner}/") else f"{owner}/{model}")
        for model, facts in _table().items()
        if facts.get("mode") == "chat" and (owner := facts.get("litellm_provider"))
    }
    return tuple(sorted(models, key=lambda pair: pair[1]))


def _table() -> Mapping[str, Mapping[str, Any]]:
    """Litellm's table of models, as it was installed; empty where there is none."""
    package = importlib.util.find_spec("litellm")
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder) / _TABLE
        if path.is_file():
            table: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
            return table
    return {}
