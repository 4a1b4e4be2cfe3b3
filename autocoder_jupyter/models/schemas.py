"""The schema of an answer: as text for the prompt, and as a strict JSON schema for the request."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

_KINDS_OF_ANSWERS = 64
"""Most answer types whose schemas are kept. pydantic makes a schema anew each time, which takes milliseconds."""


@dataclass(frozen=True)
class AnswerForm:
    """The form of a structured answer. Unlike its type it can be sent to another process.

    Args:
        name: name of the type.
        schema: its JSON schema.
        strict: the schema for a strict mode; None if it cannot be strict.
    """

    name: str
    schema: Mapping[str, Any]
    strict: Mapping[str, Any] | None


@functools.lru_cache(_KINDS_OF_ANSWERS)
def answer_form(answer_type: type[BaseModel]) -> AnswerForm:
    """The form of an answer of this type."""
    return AnswerForm(answer_type.__name__, json_schema(answer_type), strict_schema(answer_type))


@functools.lru_cache(_KINDS_OF_ANSWERS)
def json_schema(answer_type: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema of an answer, as pydantic writes it. It is kept, so nobody may change it."""
    return answer_type.model_json_schema()


@functools.lru_cache(_KINDS_OF_ANSWERS)
def schema_in_words(answer_type: type[BaseModel]) -> str:
    """The instruction at the end of a prompt, the same for every model: the record as a TypeScript type.

    It has a third of the length of a JSON schema. Descriptions of fields are comments.
    """
    schema = json_schema(answer_type)
    return f"Answer with one JSON object of this type, and nothing else:\n{_typed(schema, schema.get('$defs', {}))}"


_SIMPLE = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": "null"}


def _typed(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """A schema as a type."""
    if "$ref" in node:
        return _typed(definitions[node["$ref"].rpartition("/")[2]], definitions)
    if "enum" in node or "const" in node:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in node.get("enum", [node.get("const")]))
    if "anyOf" in node:
        return " | ".join(_typed(each, definitions) for each in node["anyOf"])
    match node.get("type"):
        case "object" if "properties" in node:
            return _typed_object(node, definitions)
        case "object":
            return "object"
        case "array":
            item = _typed(node.get("items", {}), definitions)
            return f"({item})[]" if " | " in item and not item.startswith("{") else f"{item}[]"
        case kind:
            return _SIMPLE.get(str(kind), "any")


def _typed_object(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    required = node.get("required", [])
    fields = []
    for name, inner in node["properties"].items():
        comment = f" /* {inner['description']} */" if "description" in inner else ""
        fields.append(f"{name}{'' if name in required else '?'}: {_typed(inner, definitions)}{comment}")
    return "{" + ", ".join(fields) + "}"


def strict_schema(answer_type: type[BaseModel]) -> dict[str, Any] | None:
    """The schema for OpenAI's strict mode; None if it has a value of any type or a free mapping.

    Strict means that every object is closed and all its properties are required. Defaults are left out.
    """
    try:
        closed = _closed(json_schema(answer_type))
    except _Open:
        return None
    assert isinstance(closed, dict)
    return closed


class _Open(Exception):
    """The schema cannot be strict."""


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
