from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from autocoder_jupyter.data.constraints import ParsedConstraints
from autocoder_jupyter.engine.evidence.derivation import Derivation
from autocoder_jupyter.engine.evidence.readings import Named
from autocoder_jupyter.engine.evidence.second_writer import _Pairs
from autocoder_jupyter.engine.plan import PlanAnswer
from autocoder_jupyter.engine.repair import DiagnosisAnswer, Rederivation
from autocoder_jupyter.engine.tests import SortedTests
from autocoder_jupyter.engines.staged.writer import CodeFix
from autocoder_jupyter.models import library
from autocoder_jupyter.models.protocol import ModelConfig, answer_form, bounded, schema_in_words, strict_schema
from autocoder_jupyter.models.questions import dialect_of
from autocoder_jupyter.types import CodeSolution, ErrorDiagnosis
from tests.cases import each as each_case


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


ANSWERS = [
    PlanAnswer,
    CodeFix,
    DiagnosisAnswer,
    Rederivation,
    SortedTests,
    _Pairs,
    Derivation,
    Named,
    ParsedConstraints,
]


@each_case("answer_type", ANSWERS)
def test_every_answer_has_a_strict_schema_whose_texts_and_lists_are_bounded(answer_type: type[BaseModel]) -> None:
    form = answer_form(answer_type)
    assert form.strict is not None

    def require_bounds(node: Any) -> None:
        for inner in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
            require_bounds(inner)
        if isinstance(node, dict) and isinstance(node.get("type"), str):
            assert node["type"] != "array" or 0 < node["maxItems"] <= 100
            assert node["type"] != "string" or "enum" in node or "const" in node or 0 < node["maxLength"] < 2000

    require_bounds(bounded(form.strict))
    assert bounded(form.strict)["properties"].keys() == form.strict["properties"].keys()


def test_a_value_of_any_type_is_closed() -> None:
    schema = strict_schema(PlanAnswer)
    assert schema is not None
    default = schema["$defs"]["PlannedParameter"]["properties"]["default"]
    assert {"type": "number"} in default["anyOf"] and {"type": "null"} in default["anyOf"]


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
    assert "{title: string, default?: integer, properties?: string[]}" in schema_in_words(Titled)


@pytest.mark.parametrize("answer_type", [Free])
def test_what_leaves_something_open_cannot_be_strict(answer_type: type[BaseModel]) -> None:
    assert strict_schema(answer_type) is None


class Kinds(BaseModel):
    """Every kind of field there is in our answers."""

    kind: Literal["a", "b"] = Field(description="which one")
    one: Literal["x"] = "x"
    maybe: float | None = None
    either: tuple[int | str, ...] = ()
    records: list[Titled] = Field(default_factory=list)
    free: dict[str, Any] = Field(default_factory=dict)
    whatever: Any = None
    sure: bool


def test_a_record_is_told_as_a_type() -> None:
    assert schema_in_words(Kinds).partition("\n")[2] == (
        '{kind: "a" | "b" /* which one */, one?: "x", maybe?: number | null, either?: (integer | string)[], '
        "records?: {title: string, default?: integer, properties?: string[]}[], free?: object, whatever?: any, "
        "sure: boolean}"
    )


@each_case("answer_type", [ErrorDiagnosis, CodeSolution, PlanAnswer, CodeFix, Rederivation, ParsedConstraints])
def test_the_words_are_short_and_name_every_field(answer_type: type[BaseModel]) -> None:
    words = schema_in_words(answer_type)
    assert words.count("\n") == 1
    assert len(words) < len(json.dumps(answer_type.model_json_schema()))
    assert all(f"{name}" in words for each in objects(answer_type.model_json_schema()) for name in each["properties"])


def test_a_schema_that_a_client_changed_is_whole_in_the_next_request() -> None:
    first = strict_schema(Titled)
    assert first is not None
    first["properties"].clear()
    second = strict_schema(Titled)
    assert second is not None and list(second["properties"]) == ["title", "default", "properties"]


FORMS = {
    "JSON schema": ("json_schema", False),
    "JSON schema with bounds": ("json_schema", True),
    "JSON mode": ("json_object", False),
    "words only": ("text", False),
}


def test_the_table_of_the_documentation_says_what_each_model_is_sent() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    rows = [row for line in page.splitlines() if (row := line.strip("|").split(" | "))[-1].strip() in FORMS]
    said = {model: FORMS[row[-1].strip()] for row in rows for model in re.findall("`([^`]+)`", row[1])}
    found = {model: dialect_of(ModelConfig(model), library.load()) for model in said}
    assert {model: (one.format, one.bounds) for model, one in found.items()} == said and len(rows) == 5
