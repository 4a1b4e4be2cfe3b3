"""The JSON schema of an answer, in the three forms that are needed: for the prompt, for the wire, and strict."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel


def schema_in_words(answer_type: type[BaseModel]) -> str:
    """The instruction that is appended to a prompt: the same for every model, without titles, on one line."""
    schema = json.dumps(_without_titles(answer_type.model_json_schema()), separators=(",", ":"), ensure_ascii=False)
    return f"Answer with one JSON object and nothing else. It must fit this JSON Schema:\n{schema}"


def strict_schema(answer_type: type[BaseModel]) -> dict[str, Any] | None:
    """The schema as OpenAI's strict mode wants it, or None where it cannot be: a value of any type, a free mapping.

    Strict means: every object is closed and all its properties are required. Defaults are left out.
    """
    try:
        closed = _closed(answer_type.model_json_schema())
    except _Open:
        return None
    assert isinstance(closed, dict)
    return closed


class _Open(Exception):
    """The schema leaves something open."""


def _without_titles(node: Any, *, names: bool = False) -> Any:
    """`names`: the keys of `node` are names of properties, so a `title` among them is one too."""
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    inner = {"properties", "$defs"}
    return {
        key: _without_titles(value, names=key in inner and not names)
        for key, value in node.items()
        if names or key != "title" or not isinstance(value, str)
    }


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    if not set(node) - {"title", "description", "default"}:
        raise _Open
    closed = {key: value for key, value in node.items() if key not in ("default", "title")}
    if node.get("type") == "object":
        if "properties" not in node:
            raise _Open
        closed["required"] = list(node["properties"])
        closed["additionalProperties"] = False
    for names in ("properties", "$defs"):
        if names in closed:
            closed[names] = {name: _closed(inner) for name, inner in closed[names].items()}
    for schemas in ("items", "anyOf", "allOf", "oneOf", "prefixItems"):
        if schemas in closed:
            closed[schemas] = _closed(closed[schemas])
    return closed
