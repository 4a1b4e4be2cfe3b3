"""An answer that ended a run is asked again in the next run; all other answers are replayed."""

from __future__ import annotations

import json

import pytest

from autocoder_jupyter.run.events import Finished
from tests.engine.test_refine import refine
from tests.runner import CODE, PLAN, TESTS, Runner, fenced
from tests.scripted_model import Answer

pytestmark = pytest.mark.local_sandbox

REFUSAL = "I am sorry, but I cannot help with that."
WRONG = CODE.replace('sales["price"] * sales["quantity"]', 'sales["price"]')
GOOD = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
WRONG_FIRST = {**GOOD, "code": [fenced(WRONG)]}

DIAGNOSIS = json.dumps(
    {"failures": [{"test_name": "test_sum", "error_message": "?", "error_type": "logic", "suggested_fix": "Multiply."}]}
)


def fix(replacement: str) -> str:
    edit = {"find": '(sales["price"])', "replace": replacement, "mends": ["test_sum"]}
    return json.dumps({"edits": [edit]})


RIGHT_FIX = fix('(sales["price"] * sales["quantity"])')


async def test_each_repair_is_a_question_of_its_own_also_after_the_same_answer(runner: Runner) -> None:
    produced = await runner.generate({**GOOD, "plan": [REFUSAL, REFUSAL, PLAN]})
    assert produced.report.success and produced.asked.count("code") == 3


async def test_a_refusal_ends_one_run_and_not_the_next(runner: Runner) -> None:
    first = await runner.generate({"plan": [REFUSAL] * 3})
    assert "unusable" in str(first.report.error)
    second = await runner.generate(GOOD)
    assert second.report.success and second.asked.count("code") == 1


async def test_a_refusal_of_a_refined_plan_ends_one_run_and_not_the_next(runner: Runner) -> None:
    first = await refine(runner, plan=[REFUSAL] * 3)
    assert "unusable" in str(first.report.error)
    second = await refine(runner)
    assert second.report.success and second.asked.count("code") == 1


async def test_only_the_stage_that_was_refused_is_asked_anew(runner: Runner) -> None:
    first = await runner.generate({**GOOD, "tests": [REFUSAL] * 3})
    assert not first.report.success
    second = await runner.generate({"tests": [fenced(TESTS)]})
    assert second.report.success and second.asked == ["tests"]


async def test_a_module_that_never_had_the_planned_interface_is_asked_for_anew(runner: Runner) -> None:
    renamed = fenced(CODE.replace("sales: pd.DataFrame", "df: pd.DataFrame").replace("sales[", "df["))
    first = await runner.generate({**GOOD, "code": [renamed] * 3})
    assert "interface" in str(first.report.error)
    # The tests are asked for again if their answer was under way when the code was given up.
    second = await runner.generate(GOOD)
    assert second.report.success and second.asked.count("code") == 1


async def test_a_refusal_that_was_repaired_is_replayed_with_its_repair(runner: Runner) -> None:
    await runner.generate({**GOOD, "plan": [REFUSAL, PLAN]})
    again = await runner.generate({})
    assert again.report.success and again.asked == []


async def test_a_run_that_failed_asks_its_last_question_anew_and_replays_the_rest(runner: Runner) -> None:
    settings = {"max_iterations": 2}
    useless = fix('(sales["price"] * 1)')
    first = await runner.generate({**WRONG_FIRST, "diagnose": [DIAGNOSIS], "fix_code": [useless]}, settings=settings)
    assert "Not solved in 2 attempts" in str(first.report.error)
    second = await runner.generate({"diagnose": [DIAGNOSIS], "fix_code": [RIGHT_FIX]}, settings=settings)
    assert second.report.success and second.asked == ["diagnose", "fix_code"]
    third = await runner.generate({}, settings=settings)
    assert third.report.success and third.asked == []


async def test_a_run_of_a_single_attempt_that_failed_is_begun_anew(runner: Runner) -> None:
    settings = {"max_iterations": 1}
    assert not (await runner.generate(WRONG_FIRST, settings=settings)).report.success
    second = await runner.generate(GOOD, settings=settings)
    assert second.report.success and sorted(second.asked) == ["code", "tests"]


async def test_a_spent_budget_throws_no_answer_away(runner: Runner) -> None:
    dear = Answer(fenced(TESTS), usage={"prompt_tokens": 10, "completion_tokens": 99_000, "total_tokens": 99_010})
    spent = await runner.generate({**WRONG_FIRST, "tests": [dear]}, settings={"max_tokens": 100_000})
    assert spent.of(Finished)[-1].state == "over_budget"
    again = await runner.generate({"diagnose": [DIAGNOSIS], "fix_code": [RIGHT_FIX]})
    assert again.report.success and again.asked == ["diagnose", "fix_code"]


async def test_a_service_that_goes_away_throws_no_answer_away(runner: Runner) -> None:
    with pytest.raises(Exception, match="refuse"):
        await runner.generate({"plan": [PLAN], "code": [fenced(CODE)], "tests": [Answer(status=401)]})
    again = await runner.generate({"code": [fenced(CODE)], "tests": [fenced(TESTS)]})
    assert again.report.success and "code" not in again.asked


async def test_an_unusable_fix_does_not_end_a_run_that_has_attempts_left(runner: Runner) -> None:
    refused = [REFUSAL] * 6  # three for the edits, three for the whole module
    produced = await runner.generate({**WRONG_FIRST, "diagnose": [DIAGNOSIS] * 2, "fix_code": [*refused, RIGHT_FIX]})
    assert produced.report.success, produced.report.error
    assert produced.asked.count("fix_code") == 7
    again = await runner.generate({})
    assert again.report.success and again.asked == []


async def test_whoever_cannot_edit_may_write_the_whole_module(runner: Runner) -> None:
    produced = await runner.generate(
        {**WRONG_FIRST, "diagnose": [DIAGNOSIS], "fix_code": [REFUSAL, REFUSAL, REFUSAL, fenced(CODE)]}
    )
    assert produced.report.success and produced.report.attempts == 2


async def test_fixes_that_are_never_usable_end_the_run_with_that_reason(runner: Runner) -> None:
    settings = {"max_iterations": 3}
    produced = await runner.generate(
        {**WRONG_FIRST, "diagnose": [DIAGNOSIS] * 2, "fix_code": [REFUSAL] * 12}, settings=settings
    )
    assert not produced.report.success and "I am sorry" in produced.error
    assert produced.code.strip() == WRONG.strip()
