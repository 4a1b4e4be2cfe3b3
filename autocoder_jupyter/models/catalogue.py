"""The models that a user can choose: those in litellm's tables, and those of servers on this machine.

The tables are read without importing litellm, which takes seconds.
"""

from __future__ import annotations

import asyncio
import difflib
import importlib.util
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from autocoder_jupyter.untrusted.plain_json import parse

# litellm's tables

_TABLE = "model_prices_and_context_window_backup.json"
_COMPATIBLE = "llms/openai_like/providers.json"
_TYPES = "types/utils.py"
_ENUM = re.compile(r"^class LlmProviders\(.*\):\n((?:[ \t].*\n|\n)+)", re.MULTILINE)
_MEMBER = re.compile(r"""^\s+\w+ = ["']([^"']+)["']""", re.MULTILINE)


def known_models(provider: str | None = None) -> list[str]:
    """Names of chat models for `-m`, sorted; only those of one provider if one is named."""
    return [name for owner, name in _chat_models() if provider in (None, owner)]


def known_providers() -> list[str]:
    """The providers of these models, sorted."""
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


def facts_of(model: str) -> Mapping[str, Any]:
    """What the table has of a model; empty if it is not in it."""
    return _table().get(model) or _table().get(model.partition("/")[2]) or {}


def unlisted(model: str) -> str:
    """A sentence about a model that is not in the table, although others of its provider are; "" if it is."""
    known = known_models(provider_of(model))
    if not provider_of(model) or not known or model in known or model in _owners():
        return ""
    return f"litellm does not know this model. {did_you_mean(model)}".strip()


def did_you_mean(model: str) -> str:
    """A question with up to three known models that are similar as a whole, else with similar providers; "" if there
    are none.
    """
    close = near_names(model) or _near_providers(model)
    return f"Did you mean {' or '.join(close)}?" if close else ""


def near_names(model: str) -> list[str]:
    """Up to three models of the table of which both the provider and the name behind it are similar."""
    prefix, slash, name = model.partition("/")
    if not slash:
        return _near(model, (each for each in _owners() if "/" not in each))
    found: list[str] = []
    for provider in [prefix] if prefix in provider_names() else _near(prefix, provider_names()):
        named = (each.removeprefix(f"{provider}/") for each in known_models(provider))
        found += [f"{provider}/{each}" for each in _near(name, named)]
    return found[:3]


def _near_providers(model: str) -> list[str]:
    """What a name may begin with, if its provider is not known."""
    prefix, slash, _ = model.partition("/")
    is_known = not slash or prefix in provider_names()
    return [] if is_known else [f"{each}/…" for each in _near(prefix, provider_names())]


_NEAR = 0.8
"""How similar names are at least. At the default of `difflib`, 0.6, `my-model` is similar to `o3`."""


def _near(word: str, known: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(word, sorted(known), 3, _NEAR)


_FAMILIES = {
    "Claude": ("claude",),
    "Gemini": ("gemini", "gemma"),
    "GPT": ("gpt", "chatgpt", "o1", "o3", "o4", "codex"),
    "Llama": ("llama",),
    "Mistral": ("mistral", "mixtral", "ministral", "magistral", "codestral", "devstral"),
    "Qwen": ("qwen", "qwq"),
    "DeepSeek": ("deepseek",),
    "Grok": ("grok",),
    "Command": ("command",),
    "Nova": ("nova",),
    "Phi": ("phi",),
    "GLM": ("glm",),
    "Kimi": ("kimi",),
}
"""Models that learned from the same data, by how the words of their names begin."""


def shared_family(one: str, other: str) -> str:
    """The family of both models, such as `Claude`, or their name if it is the same; "" if their names tell of none."""
    families = [_family(name) for name in (one, other)]
    if families[0] == families[1]:
        return families[0] or (one if one == other else "")
    return ""


def _family(model: str) -> str:
    """The family that the first word of a name says that is one of a family."""
    words = re.findall(r"[a-z]+\d*", model.rpartition("/")[2].casefold())
    found = (family for word in words for family, starts in _FAMILIES.items() if word.startswith(starts))
    return next(found, "")


def has_price(model: str) -> bool:
    """Whether the table may have the price of a model, under its own name or that of its provider's."""
    return ":" in model or not _priced().isdisjoint({model, model.partition("/")[2], model.rpartition("/")[2]})


@cache
def _priced() -> frozenset[str]:
    def is_priced(facts: Mapping[str, Any]) -> bool:
        costs = [value for key, value in facts.items() if "cost" in key or "pricing" in key]
        return any(cost > 0 if isinstance(cost, int | float) else bool(cost) for cost in costs)  # or a list of tiers

    return frozenset(model for model, facts in _table().items() if is_priced(facts))


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


# Servers on this machine
#
# Nothing is asked beyond this machine. All servers, Ollama too, list their models under `/v1/models`, with OpenAI's
# protocol. Any program can answer at these ports, so an answer is bounded in size and time, and the names in it are
# only shown and offered.

HOST = "127.0.0.1"
_OLLAMA = "Ollama"
PORTS = {11434: _OLLAMA, 1234: "LM Studio", 8000: "vLLM", 8080: "llama.cpp"}
"""The usual port of each server."""

_SECONDS = 1.0
_BYTES = 2**20
_MOST_OFFERED = 20
"""Models of a server that are offered."""

_MODEL_NAME = re.compile(r"[\w.:/@+-]{1,200}", re.ASCII)
_REQUEST = f"GET /v1/models HTTP/1.0\r\nHost: {HOST}\r\nAccept: application/json\r\nConnection: close\r\n\r\n".encode()


@dataclass(frozen=True)
class LocalServer:
    """A server that answers.

    Args:
        name: the program whose usual port it has. Another program may have it.
        models: the names of its models, as `-m` takes them; those for embeddings come last. Names of OpenAI's own
            models are left out, because they stand for these.
        api_base: its address for these models; None if litellm knows it.
    """

    name: str
    models: tuple[str, ...]
    api_base: str | None


async def local_servers() -> tuple[LocalServer, ...]:
    """The servers that answer, in the order of `PORTS`. All are asked at the same time, for a second at most."""
    known = set(known_models("openai"))
    answers = await asyncio.gather(*map(_models_at, PORTS))
    found = []
    for (port, name), models in zip(PORTS.items(), answers, strict=True):
        if models is not None and name == _OLLAMA:
            found.append(LocalServer(name, tuple(f"ollama_chat/{model}" for model in models), None))
        elif models is not None:
            named = (f"openai/{model}" for model in models)
            own = tuple(model for model in named if model not in known)
            found.append(LocalServer(name, own, f"http://{HOST}:{port}/v1"))
    return tuple(found)


async def _models_at(port: int) -> tuple[str, ...] | None:
    """The models of the server at a port; None if no such server answers."""
    writer = None
    try:
        async with asyncio.timeout(_SECONDS):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(_REQUEST)
            answer = await _read_all(reader)
        return read_models(answer)
    except (OSError, ValueError):  # TimeoutError is an OSError
        return None
    finally:
        if writer is not None:
            writer.close()


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while part := await reader.read(_BYTES):
        answer += part
        if len(answer) > _BYTES:
            raise ValueError("the answer is too long")
    return bytes(answer)


def read_models(answer: bytes) -> tuple[str, ...]:
    """The names of models in an answer with its head. What cannot be a name, and further ones, are left out."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if not re.match(rb"HTTP/1\.[01] 200\b", head):
        raise ValueError("the server does not list models")
    record = parse(body)
    listed = record.get("data", "") if isinstance(record, dict) else ""
    if not isinstance(listed, list | None):  # None: Ollama without models
        raise ValueError("the answer does not list models")
    names = [each["id"] for each in listed or () if isinstance(each, dict) and isinstance(each.get("id"), str)]
    good = [name for name in dict.fromkeys(names) if _MODEL_NAME.fullmatch(name)]
    return tuple(sorted(good, key=lambda name: "embed" in name.casefold())[:_MOST_OFFERED])
