from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from autocoder_jupyter.engine.evidence.derivation import Derivation
from autocoder_jupyter.engine.plan import PlanAnswer
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.answers import Unreadable, ask_structured, read_record
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.protocol import ModelConfig, Question
from autocoder_jupyter.types import ErrorDiagnosis
from tests.cases import each
from tests.scripted_model import Answer, ScriptedModel, prompt_of


class City(BaseModel):
    name: str
    people: int
    rivers: tuple[str, ...] = ()


GOOD = '{"name": "Basel", "people": 175000, "rivers": ["Rhine"]}'
BASEL = City(name="Basel", people=175000, rivers=("Rhine",))


@each(
    "answer",
    [
        GOOD,
        f"  \n{GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"~~~JSON\n{GOOD}\n~~~",
        f"````json\n{GOOD}\n````",
        f"Of course! Here it is:\n\n```json\n{GOOD}\n```\nAnything else?",
        f"Here: {GOOD} I hope {{this}} helps.",
        f"```json\n{GOOD}",
        '{"name": "Basel", "people": 175000, "rivers": ["Rhine",],}',
        '{\n  "name": "Basel",\n  "people": 175000,\n  "rivers": [\n    "Rhine",\n  ],\n}',
        "{“name”: “Basel”, “people”: 175000, “rivers”: [“Rhine”]}",
        "{'name': 'Basel', 'people': 175000, 'rivers': ['Rhine']}",
        '{"name": "Basel", "people": "175000", "rivers": ["Rhine"], "extra": true}',
        '{"thought": "a city"}\n' + GOOD,
        f'{{"city": {GOOD}}}',
        f'{{"city": {GOOD}, "confidence": 0.9}}',
        f"[{GOOD}]",
        '{"name": "Basel", // the city\n"people": 175000, /* about */ "rivers": ["Rhine"] // one\n}',
        '{\n  # the city\n  "name": "Basel",\n  "people": 175000,\n  "rivers": ["Rhine"],  # one\n}',
        'See https://example.org/cities for more.\n{"name": "Basel", "people": 175000, "rivers": ["Rhine",]}',
    ],
)
def test_a_record_is_read_however_it_is_wrapped(answer: str) -> None:
    assert read_record(answer, City) == BASEL


@each(
    "name",
    [
        "“Basel”, they say",
        "a, ] b",
        'say \\"hi\\"',
        "{x}",
        "```json",
        "don't",
        "https://a.b",
        "a // b",
        "# 1",
        "/* c",
        "Zürich 🏔",
    ],
)
def test_what_stands_inside_of_strings_is_left_alone(name: str) -> None:
    read = name.replace('\\"', '"')
    assert read_record(f'{{"name": "{name}", "people": 1}}', City).name == read
    assert read_record(f'{{"name": "{name}", "people": 1,}}', City).name == read


def test_raw_line_breaks_in_strings_are_read() -> None:
    assert read_record('{"name": "a\nb", "people": 1}', City).name == "a\nb"


def test_null_means_the_default() -> None:
    assert read_record('{"name": "Basel", "people": 1, "rivers": null}', City).rivers == ()


@each("answer", ["", "I cannot.", "[1, 2]", "{", '{"name": "Basel"}', '{"name": "Basel", "peo', "{}"])
def test_what_does_not_fit_is_refused(answer: str) -> None:
    with pytest.raises(Unreadable):
        read_record(answer, City)


PLAN: dict[str, Any] = {"description": "d", "approach": "a", "outputs": [{"name": "total", "type": "float"}]}


@each("wrong", [{}, "", "none", 3, False, {"threshold": 5}, "a"])
@each("field", ["parameters", "assumptions", "packages", "system_packages", "holds"])
def test_an_optional_list_of_a_wrong_shape_is_empty(wrong: Any, field: str) -> None:
    assert getattr(read_record(json.dumps({**PLAN, field: wrong}), PlanAnswer), field) == []


def test_a_record_that_stands_for_a_list_of_records_is_read() -> None:
    rate = {"name": "rate", "type": "float", "default": 0.19, "meaning": {}}
    for given in ([rate], rate, {"rate": {"type": "float", "default": 0.19}}):
        plan = read_record(
            json.dumps({**PLAN, "parameters": given, "outputs": {"total": {"type": "float"}}}), PlanAnswer
        )
        assert [(each.name, each.default, each.meaning) for each in plan.parameters] == [("rate", 0.19, "")]
        assert [(each.name, each.type) for each in plan.outputs] == [("total", "float")]


@each("wrong", [{"parameters": [{"name": "rate"}]}, {"outputs": [{"name": "rate"}]}])
def test_what_is_needed_is_still_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Unreadable, match="does not fit the schema"):
        read_record(json.dumps(PLAN | wrong), PlanAnswer)


def test_a_decision_of_a_wrong_shape_is_not_the_default() -> None:
    given = {"derivation": "d", "decided": {"no": "way"}, "values": []}
    with pytest.raises(Unreadable, match="decided"):
        read_record(json.dumps(given), Derivation)


@pytest.mark.parametrize("answer", ["{}", '{"failures": [{"test_name": "test_a", "error_type": "logic"}', '{"a": 1}'])
def test_a_broken_diagnosis_is_not_an_empty_one(answer: str) -> None:
    with pytest.raises(Unreadable):
        read_record(answer, ErrorDiagnosis)


def test_a_complaint_is_short_and_says_where() -> None:
    with pytest.raises(Unreadable) as caught:
        read_record('{"name": 3}', City)
    assert "- name: Input should be a valid string" in str(caught.value)
    assert "- people: Field required" in str(caught.value)
    assert "http" not in str(caught.value)


async def test_a_record_is_asked_for_by_schema_and_in_words(question: Question) -> None:
    with ScriptedModel([GOOD]) as endpoint:
        city, exchanges = await ask_structured(LiteLLMModel(endpoint.config(model="openai/gpt-4.1")), question, City)
    assert city == BASEL
    assert len(exchanges) == 1
    (request,) = endpoint.requests
    assert request["response_format"]["type"] == "json_schema"
    assert request["response_format"]["json_schema"]["strict"] is True
    assert prompt_of(request).startswith("How are you?\n\nAnswer with one JSON object")
    assert "people: integer" in prompt_of(request)


@pytest.mark.parametrize("refused", [set(), {"json_schema"}, {"response_format"}], ids=["all", "no schema", "nothing"])
async def test_the_prompt_is_the_same_whatever_the_model_supports(question: Question, refused: set[str]) -> None:
    with ScriptedModel([GOOD], refuse=refused) as endpoint:
        model = LiteLLMModel(endpoint.config(model="openai/gpt-4.1"))
        city, (exchange,) = await ask_structured(model, question, City)
    assert city == BASEL
    assert list(exchange.messages) == endpoint.requests[-1]["messages"]
    assert len({str(request["messages"]) for request in endpoint.requests}) == 1


async def test_content_in_parts_gets_the_schema_as_another_part() -> None:
    parts = [{"type": "text", "text": "A city."}]
    with ScriptedModel([GOOD]) as endpoint:
        model = LiteLLMModel(endpoint.config())
        await ask_structured(model, Question("plan", ({"role": "user", "content": parts},)), City)
    assert [part["type"] for part in endpoint.requests[0]["messages"][0]["content"]] == ["text", "text"]
    assert len(parts) == 1


async def test_a_bad_answer_is_repaired_with_the_error_in_view(question: Question) -> None:
    with ScriptedModel(['{"name": "Basel"}', GOOD]) as endpoint:
        city, exchanges = await ask_structured(LiteLLMModel(endpoint.config()), question, City)
    assert city == BASEL
    assert len(exchanges) == 2
    assert exchanges[0].key != exchanges[1].key
    _, said, complaint = endpoint.requests[1]["messages"]
    assert said == {"role": "assistant", "content": '{"name": "Basel"}'}
    assert "people: Field required" in complaint["content"]


async def test_an_empty_answer_is_repaired_too(question: Question) -> None:
    with ScriptedModel(["", GOOD]) as endpoint:
        city, _ = await ask_structured(LiteLLMModel(endpoint.config()), question, City)
    assert city == BASEL
    assert endpoint.requests[1]["messages"][1]["content"] == "(nothing)"


async def test_repairs_end(question: Question) -> None:
    refusal = "I'm sorry, but I cannot help with that."
    with ScriptedModel([refusal] * 9) as endpoint, pytest.raises(UnusableAnswer, match="no JSON object") as caught:
        await ask_structured(LiteLLMModel(endpoint.config()), question, City)
    assert f"It begins: {refusal}" in caught.value.why
    assert len(endpoint.requests) == 3
    assert len(endpoint.requests[2]["messages"]) == 3


async def test_an_answer_that_stays_empty_is_called_empty(question: Question) -> None:
    with ScriptedModel([" \n"] * 9) as endpoint, pytest.raises(UnusableAnswer) as caught:
        await ask_structured(LiteLLMModel(endpoint.config()), question, City)
    assert caught.value.why == "It is empty."


async def test_a_truncated_record_is_continued_not_repaired(question: Question) -> None:
    with ScriptedModel([Answer(GOOD[:30], finish_reason="length"), GOOD[30:]]) as endpoint:
        city, exchanges = await ask_structured(LiteLLMModel(endpoint.config()), question, City)
    assert city == BASEL
    assert len(exchanges) == 1


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-5", "anthropic/claude-3-5-haiku-20241022"])
async def test_claude_gives_records(question: Question, model: str) -> None:
    with ScriptedModel([GOOD]) as endpoint:
        client = LiteLLMModel(ModelConfig(model, api_base=endpoint.root))
        city, _ = await ask_structured(client, question, City)
    assert city == BASEL


async def test_a_type_that_cannot_be_strict_is_sent_as_it_is(question: Question) -> None:
    class Open(BaseModel):
        words: dict[str, str]

    with ScriptedModel(['{"words": {"a": "b"}}']) as endpoint:
        found, _ = await ask_structured(LiteLLMModel(endpoint.config(model="openai/gpt-4.1")), question, Open)
    assert found == Open(words={"a": "b"})
    assert endpoint.requests[0]["response_format"]["json_schema"]["strict"] is False
