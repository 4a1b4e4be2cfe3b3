"""Answers that repeat themselves without end are stopped, and read as far as they are an answer."""

from __future__ import annotations

import itertools

import pytest

from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.answers import ask_code
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.loops import REPEATED, LoopFinder, without_loop
from autocoder_jupyter.models.protocol import Question
from autocoder_jupyter.types import Usage
from tests.cases import each
from tests.model_faults import chunk, for_ever
from tests.scripted_model import Answer, ScriptedModel

QUESTION = Question("code", ({"role": "user", "content": "Write it."},))
CODE = "```python\ndef run():\n    return 1\n```\n"
LINES = [f"- assumption {number}: the rows count\n" for number in range(7)]


def found_after(pieces: itertools.chain[str], most: int) -> int | None:
    finder, size = LoopFinder(), 0
    for piece in pieces:
        size += len(piece)
        if finder.take(piece):
            return size
        if size > most:
            return None
    return None


@each("unit", ["\n", " \t", "abc", "The same line again.\n", "".join(LINES), "x" * 600 + "y"])
@pytest.mark.parametrize("piece", [1, 4, 1000])
def test_a_loop_is_found_within_a_page(unit: str, piece: int) -> None:
    text = CODE + unit * (8000 // len(unit))
    found = found_after(itertools.chain(text[at : at + piece] for at in range(0, len(text), piece)), 8000)
    assert found is not None and found <= 6000


@pytest.mark.parametrize("piece", [7, 1000])
def test_sentences_that_only_count_are_a_loop_within_some_pages(piece: int) -> None:
    text = CODE + "".join(f"- Assumption {number}: missing values count as zero.\n" for number in range(600))
    found = found_after(itertools.chain(text[at : at + piece] for at in range(0, len(text), piece)), 30_000)
    assert found is not None and found <= 14_000
    assert len(without_loop(text[:found])) < 2500 and without_loop(text[:found]).startswith(CODE)


def test_what_varies_is_no_loop() -> None:
    rows = [f'    ("2024-01-{number % 28 + 1:02}", {number}, "open"),\n' for number in range(2000)]
    assert found_after(itertools.chain(rows), 100_000) is None
    assert found_after(itertools.chain(["=" * 2000, "\n", "def run"]), 9999) is None


def test_of_a_loop_one_round_stays() -> None:
    assert without_loop(f"a{'b cd ' * 1000}") == "ab cd "
    assert without_loop("x" * 5000) == "x"
    assert without_loop("nothing") == "nothing"


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
async def test_an_answer_without_end_that_repeats_itself_is_stopped(field: str) -> None:
    wire = for_ever(*(chunk({field: line}) for line in LINES))
    with ScriptedModel([Answer(wire=wire)]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config()).ask(QUESTION)
    assert exchange.finish_reason == REPEATED and len(endpoint.requests) == 1
    assert len(exchange.answer) < 1000
    assert 500 < exchange.usage.output_tokens < 20_000


async def test_code_before_a_loop_is_used() -> None:
    endless = Answer(CODE + "I hope this helps!\n" * 5000)
    with ScriptedModel([endless]) as endpoint:
        code, _ = await ask_code(LiteLLMModel(endpoint.config()), QUESTION, must_define="run")
    assert code == "def run():\n    return 1\n" and len(endpoint.requests) == 1


async def test_a_loop_without_an_answer_is_shown_once_and_told() -> None:
    with ScriptedModel(["x" * 20_000] * 3) as endpoint, pytest.raises(UnusableAnswer, match="repeats itself") as caught:
        await ask_code(LiteLLMModel(endpoint.config()), QUESTION, must_define="run")
    assert "stopped" in caught.value.why
    assert endpoint.requests[1]["messages"][1]["content"] == "x"


async def test_what_was_written_is_charged_at_the_known_price() -> None:
    prices = {"input_cost_per_token": 0, "output_cost_per_token": 1e-3}
    with ScriptedModel([Answer("x" * 40_000)]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config(params=prices)).ask(QUESTION)
    assert exchange.usage != Usage() and exchange.usage.cost == pytest.approx(exchange.usage.output_tokens * 1e-3)
