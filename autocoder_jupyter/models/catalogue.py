"""The names of models and providers, read from litellm's files without importing litellm, which takes seconds."""

from __future__ import annotations

import difflib
import importlib.util
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_TABLE = "model_prices_and_context_window_backup.json"
_COMPATIBLE = "llms/openai_like/providers.json"
_TYPES = "types/utils.py"
_ENUM = re.compile(r"^class LlmProviders\(.*\):\n((?:[ \t].*\n|\n)+)", re.MULTILINE)
_MEMBER = re.compile(r"""^\s+\w+ = ["']([^"']+)["']""", re.MULTILINE)


def known_models(provider: str | None = None) -> list[str]:
    """Names of chat models for `-m`, sorted; only those of one provider if one is named."""
    return [name for owner, name in _chat_models() if provider in (None, owner)]


def known_providers() -> list[str]:
    """Their providers, sorted."""
    return sorted({owner for owner, _ in _chat_models()})


@cache
def _chat_models() -> tuple[tuple[str, str], ...]:
    """Pairs of provider and name, sorted by name."""
    models = {
        (owner, model if model.startswith(f"{owner}/") else f"{owner}/{model}")
        for model, facts in _table().items()
        if facts.get("mode") == "chat" and (owner := facts.get("litellm_provider"))
    }
    return tuple(sorted(models, key=lambda pair: pair[1]))


@cache
def provider_names() -> frozenset[str]:
    """The prefixes that litellm accepts before the slash of a model's name; empty if its file cannot be read."""
    enum = _ENUM.search(_text(_TYPES))
    if enum is None:
        return frozenset()
    return frozenset({*_MEMBER.findall(enum[1]), *json.loads(_text(_COMPATIBLE) or "{}")})


def provider_of(model: str) -> str:
    """The provider of a model, from its prefix or from the table; "" if unknown."""
    prefix, slash, _ = model.partition("/")
    return prefix if slash and prefix in provider_names() else _owners().get(model, "")


def unlisted(model: str) -> str:
    """A sentence about a model that is not in the table, although others of its provider are; "" if it is."""
    known = known_models(provider_of(model))
    if not provider_of(model) or not known or model in known or model in _owners():
        return ""
    close = " or ".join(difflib.get_close_matches(model, known, n=3))
    return "litellm does not know this model." + (f" Did you mean {close}?" if close else "")


def similar_names(model: str) -> list[str]:
    """Up to three names similar to `model`, also with another provider before the slash."""
    prefix, slash, name = model.partition("/")
    if slash:
        return [f"{each}/{name}" for each in difflib.get_close_matches(prefix, sorted(provider_names()), n=3)]
    return difflib.get_close_matches(model, sorted(each for each in _owners() if "/" not in each), n=3)


def is_family(model: str) -> bool:
    """Whether a known model or provider starts with the same word: `gpt` in `gpt-77`, `petals` in `petals-team/x`."""
    word = _first_word(model)
    return not word or word in _families()


@cache
def _families() -> frozenset[str]:
    return frozenset(map(_first_word, (*_owners(), *provider_names())))


def _first_word(name: str) -> str:
    return re.split(r"[^a-z]", name.casefold(), maxsplit=1)[0]


@cache
def _owners() -> Mapping[str, str]:
    """The provider of each model in the table, by the model's name."""
    return {model: facts["litellm_provider"] for model, facts in _table().items() if facts.get("litellm_provider")}


def _table() -> Mapping[str, Mapping[str, Any]]:
    """The table of models in the installed litellm; empty if there is none."""
    table: dict[str, dict[str, Any]] = json.loads(_text(_TABLE) or "{}")
    return table


def _text(name: str) -> str:
    """A file of litellm's package; "" if there is none."""
    package = importlib.util.find_spec("litellm")
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder) / name
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return ""
