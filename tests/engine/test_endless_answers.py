"""A whole generation with a model whose answers do not end: it ends within its limits, and is not paid for again."""

from __future__ import annotations

import pytest

from tests.model_faults import for_ever, varied_lines
from tests.runner import CODE, PLAN, TESTS, Runner, fenced
from tests.scripted_model import Answer

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]

LINES = varied_lines()
ENDLESS = Answer(wire=for_ever(*LINES))


async def test_a_plan_without_end_fails_with_the_reason_and_is_not_asked_for_again(runner: Runner) -> None:
    produced = await runner.generate({"plan": [ENDLESS]})
    assert not produced.report.success and "did not end" in produced.error
    assert produced.asked == ["code"] and produced.report.usage.output_tokens > 8_000
    (kept,) = produced.report.conversation_history
    assert kept.answer.startswith("Line 0")
    again = await runner.generate({"plan": [ENDLESS]})
    assert not again.report.success and "did not end" in again.error
    assert again.asked == [] and again.report.usage.output_tokens == 0
    anew = await runner.generate(
        {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}, settings={"cache": "override"}
    )
    assert anew.report.success


async def test_answers_without_end_keep_to_max_tokens_together(runner: Runner) -> None:
    most = 12_000
    script: dict[str, list[str | Answer]] = {"plan": [PLAN], "code": [ENDLESS], "tests": [ENDLESS], "second": [ENDLESS]}
    produced = await runner.generate(script, settings={"max_tokens": most, "second_opinion": "on"})
    one_piece = len(LINES[-1]) // 4 + 1
    usage = produced.report.usage
    assert not produced.report.success
    assert usage.input_tokens + usage.output_tokens <= most + 3 * one_piece


async def test_a_second_opinion_without_end_leaves_the_function_as_it_is(runner: Runner) -> None:
    script: dict[str, list[str | Answer]] = {
        "plan": [PLAN],
        "code": [fenced(CODE)],
        "tests": [fenced(TESTS)],
        "second": [ENDLESS],
    }
    produced = await runner.generate(script, settings={"second_opinion": "on"})
    assert produced.report.success and "did not end" in produced.opinion.note
    assert produced.report.usage.output_tokens > 8_000
