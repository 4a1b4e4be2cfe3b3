"""A refinement starts from the existing function: tests that it does not contradict stay and must pass."""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Awaitable
from typing import Any

import pytest

from autocoder_jupyter.engine.evidence.second_writer import second_messages
from autocoder_jupyter.engine.start import withheld_since
from autocoder_jupyter.engine.tests import _is_quoted_from, unreachable
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import AgentConfig, Earlier, Request
from autocoder_jupyter.run.events import VersionsCompared
from autocoder_jupyter.types import CodePlan, Evidence, InputSpec, OutputSpec, TestChoice, TestOutcome
from tests.runner import CODE, TESTS, Generated, Runner, fenced
from tests.runner import PLAN as FIRST_PLAN
from tests.scripted_model import Script, prompt_of

WISH = "Also give the mean price, and let an empty frame have a revenue of -1."

EARLIER = Earlier(
    version="a" * 16,
    request_key="a" * 16,
    plan=CodePlan(
        description="Total revenue.",
        approach="Multiply and sum.",
        inputs=(InputSpec(name="sales", type="DataFrame"),),
        outputs=(OutputSpec(name="total", type="float"),),
        assumptions=("Rows with a missing price count as zero.",),
    ),
    code=CODE,
    tests=TESTS,
    evidence=Evidence(tests=(TestOutcome(id="test_sum", outcome="passed", sentence="Total revenue of @sales."),)),
)

PLAN = json.dumps(
    {
        "description": "Total revenue and mean price.",
        "approach": "Multiply and sum; average.",
        "outputs": [{"name": "total", "type": "float"}, {"name": "mean_price", "type": "float"}],
        "assumptions": ["Rows with a missing price count as zero.", "The mean of nothing is 0."],
    }
)

REFINED = """\
import pandas as pd


def run(sales: pd.DataFrame) -> tuple[float, float]:
    if sales.empty:
        return -1.0, 0.0
    return float((sales["price"] * sales["quantity"]).sum()), float(sales["price"].mean())"""

FURTHER = '''\
import pandas as pd
from solution import run


def test_mean():
    """Also give the mean price."""
    assert run(sales=pd.DataFrame({"price": [2.0, 4.0], "quantity": [1, 2]}))[1] == 3.0  # (2 + 4) / 2


def test_nothing():
    """An empty frame has a revenue of -1."""
    empty = pd.DataFrame({"price": pd.Series([], dtype="float64"), "quantity": pd.Series([], dtype="int64")})
    assert run(sales=empty)[0] == -1.0'''


def sorted_tests(*dropped: tuple[str, str]) -> str:
    verdicts = [
        {"test_name": name, "verdict": "drop", "reason": "It expects 0.", "contradicted_by": words}
        for name, words in dropped
    ]
    return json.dumps({"verdicts": [{"test_name": "test_sum", "verdict": "keep"}, *verdicts]})


def refine(
    runner: Runner,
    sorting: str | None = None,
    code: str = REFINED,
    tests: str = FURTHER,
    settings: Any = None,
    **script: Script,
) -> Awaitable[Generated]:
    sorting = sorted_tests(("test_empty", "an empty frame have a revenue of -1")) if sorting is None else sorting
    answers = {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(tests)], "sort_tests": [sorting], **script}
    return runner.generate(answers, wishes=(WISH,), earlier=EARLIER, settings=settings)


@pytest.mark.local_sandbox
async def test_a_wish_is_granted_and_what_it_changed_is_told(runner: Runner) -> None:
    produced = await refine(runner)
    report = produced.report
    assert report.success, report.error
    assert [output.name for output in report.declared_outputs] == ["total", "mean_price"]
    assert {test.id for test in report.evidence.tests} == {"test_sum", "test_mean", "test_nothing"}
    changes = report.changes
    assert changes is not None and changes == produced.of(VersionsCompared)[0].changes
    assert [(test.id, test.fate) for test in changes.tests] == [("test_sum", "kept"), ("test_empty", "dropped")]
    assert changes.tests[1].reason == "It expects 0."
    assert changes.outputs == ()  # on the sample the total is what it was
    assert changes.code == CODE and changes.plan.outputs == EARLIER.plan.outputs
    assert report.wishes == (WISH,)


@pytest.mark.local_sandbox
async def test_each_sees_what_it_needs_and_no_more(runner: Runner) -> None:
    produced = await refine(runner)
    prompts = {
        stage: prompt_of(request) for stage, request in zip(produced.asked, produced.model.requests, strict=True)
    }
    for stage in ("code", "tests"):
        assert f"- {WISH}" in prompts[stage] and "<wishes>" in prompts[stage]
    assert "Total revenue of @sales. (passed)" in prompts["code"]
    assert CODE in prompts["code"] and "def test_" not in prompts["code"]
    assert "def test_sum" in prompts["tests"] and "def run(" not in prompts["tests"].partition("<tests_that_stay>")[2]
    assert "def test_empty" in prompts["sort_tests"] and f"<wish>\n{WISH}\n</wish>" in prompts["sort_tests"]
    for unseen in ("return float(", "mean_price", "<wishes>"):
        assert unseen not in prompts["sort_tests"]


@pytest.mark.local_sandbox
async def test_a_test_that_the_wish_does_not_contradict_cannot_be_dropped_and_fails_what_breaks_it(
    runner: Runner,
) -> None:
    wrong = REFINED.replace(' * sales["quantity"]', "")
    sorting = sorted_tests(("test_empty", "a revenue of -1"), ("test_sum", "sums are in the way"))
    stays = {"verdicts": [{"test_name": "test_sum", "derivation": "2*1 + 3*2 = 8", "verdict": "stands"}]}
    produced = await refine(
        runner,
        sorting,
        code=wrong,
        diagnose=lambda _: json.dumps(
            {"failures": [{"test_name": "test_sum", "error_message": "?", "error_type": "test_error"}]}
        ),
        fix_tests=lambda _: json.dumps(stays),
        fix_code=lambda _: "I do not know.",
    )
    assert not produced.report.success
    assert {test.id: test.outcome for test in produced.report.evidence.tests}["test_sum"] == "failed"


def test_words_that_are_not_in_the_wish_contradict_nothing() -> None:
    assert _is_quoted_from("an  EMPTY frame", WISH) and _is_quoted_from('"mean price".', WISH)
    assert (
        not _is_quoted_from("sums are in the way", WISH)
        and not _is_quoted_from("", WISH)
        and not _is_quoted_from(" . ", WISH)
    )


def test_no_test_can_call_a_function_that_needs_more_than_it_did() -> None:
    before, targets = EARLIER.plan.inputs, InputSpec(name="targets", type="DataFrame")
    choice = TestChoice(id="test_sum")
    assert unreachable((choice,), before, before) == (choice,)
    assert unreachable((choice,), before, (*before, targets.model_copy(update={"required": False}))) == (choice,)
    (gone,) = unreachable((choice,), before, (*before, targets))
    assert gone.fate == "dropped" and "without targets" in gone.reason


def test_a_wish_and_what_it_starts_from_name_another_request() -> None:
    from autocoder_jupyter.request import Request
    from autocoder_jupyter.versions.request_fields import RequestKey

    plain = Request(name="growth", prompt="Total.")
    wished = dataclasses.replace(plain, wishes=(WISH,), earlier=EARLIER)
    other = dataclasses.replace(wished, earlier=dataclasses.replace(EARLIER, request_key="b" * 16))
    assert len({RequestKey.of(request, ()).id for request in (plain, wished, other)}) == 3


def test_a_dry_run_shows_what_the_wish_starts_from() -> None:
    from autocoder_jupyter.engine.planning import preview
    from autocoder_jupyter.request import AgentConfig, Request

    shown = preview(Request(name="growth", prompt="Total.", wishes=(WISH,), earlier=EARLIER), AgentConfig())
    assert CODE in shown and f"- {WISH}" in shown and "Known to hold:" in shown


@pytest.mark.local_sandbox
async def test_a_version_that_may_contain_what_is_withheld_now_is_not_sent(runner: Runner) -> None:
    answers: dict[str, Script] = {"plan": [FIRST_PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
    first = await runner.generate(answers)
    for settings, why in (
        ({"share": "stats"}, "--share rows, and now stats is shared"),
        ({"hide": ("price",)}, "price is to be hidden"),
        ({"mask": ("price",)}, "the values of that column"),
    ):
        with pytest.raises(InvalidRequest, match=why):
            await runner.generate({}, wishes=(WISH,), earlier=Earlier.of(first.report), settings=settings)


def test_what_is_withheld_since_a_version_was_made_is_found_whatever_its_record_holds() -> None:
    def since(record: dict[str, Any], text: str = "", **settings: Any) -> str:
        return withheld_since(record, (text,), AgentConfig(**settings))

    made = {"settings": {"share": "stats", "hide": ["salary"], "mask": ["name"]}}
    assert since(made, share="stats", hide=("salary",), mask=("name",)) == ""
    assert "names it" in since(made, "run(salary)", share="stats", hide=("salary",))
    assert since(made, share="stats", mask=("salary",)) == "" and since(made, share="stats", hide=("name",))
    assert since({"settings": {"share": "schema"}}, share="schema", mask=("name",)) == ""
    for hostile in ({}, {"settings": 3}, {"settings": {"share": ["rows"], "hide": {"salary": 1}, "mask": [[]]}}):
        assert since(hostile, share="schema") and since(hostile, hide=("salary",)) and since(hostile, mask=("name",))
        assert since(hostile) == ""


SECOND = f'"""\n- the mean of nothing is 0\n"""\n\nOUTPUTS = {{"total": "float", "mean_price": "float"}}\n\n{REFINED}\n'


@pytest.mark.local_sandbox
async def test_an_output_that_the_wish_adds_is_compared_with_the_second_opinion_too(runner: Runner) -> None:
    opinion = (await refine(runner, second=[fenced(SECOND)], settings={"second_opinion": "on"})).opinion
    assert (opinion.state, opinion.note) == ("agree", "")
    assert opinion.compared == ("total", "mean_price")


def test_the_second_opinion_of_a_refinement_gets_a_signature_that_is_python_and_may_add_outputs() -> None:
    inputs = (
        InputSpec(name="min_orders", type="int", required=False, default=5),
        InputSpec(name="sales", type="DataFrame"),
    )
    request = Request(
        "growth", "Total.", outputs=(OutputSpec(name="total", type="float"),), wishes=(WISH,), earlier=EARLIER
    )
    asked = str(second_messages(request, inputs, "")[-1]["content"])
    line = next(line.strip() for line in asked.splitlines() if line.strip().startswith("def run("))
    ast.parse(line)
    assert line == "def run(sales: pd.DataFrame, min_orders: int = 5): ..."
    assert 'OUTPUTS = {"total": "float", ...}: these, and after them those that only the request adds' in asked
