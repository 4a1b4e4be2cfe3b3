from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from autocoder_jupyter.models.schemas import schema_in_words, strict_schema
from autocoder_jupyter.types import CodeSolution, ErrorDiagnosis, InputSpec


class Titled(BaseModel):
    title: str
    default: int = 3
    properties: tuple[str, ...] = ()


class Free(BaseModel):
    anything: dict[str, Any]


def objects(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for item in schema for found in objects(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "object" else []
    return own + [found for value in schema.values() for found in objects(value)]


@pytest.mark.parametrize("answer_type", [ErrorDiagnosis, CodeSolution, Titled])
def test_a_strict_schema_closes_every_object(answer_type: type[BaseModel]) -> None:
    schema = strict_schema(answer_type)
    assert schema is not None
    for each in objects(schema):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])


def test_fields_that_are_called_like_keywords_stay() -> None:
    schema = strict_schema(Titled)
    assert schema is not None
    assert list(schema["properties"]) == ["title", "default", "properties"]
    assert "default" not in schema["properties"]["default"]
    assert '"title":{"type":"string"}' in schema_in_words(Titled)


@pytest.mark.parametrize("answer_type", [Free, InputSpec])
def test_what_leaves_something_open_cannot_be_strict(answer_type: type[BaseModel]) -> None:
    assert strict_schema(answer_type) is None


def test_the_words_are_short() -> None:
    words = schema_in_words(ErrorDiagnosis)
    assert '"title"' not in words
    assert words.count("\n") == 1
