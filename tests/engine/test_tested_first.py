"""What a request demands in addition is tested on the existing function first; a model is asked only if it fails."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.engine.start import adapted
from autocoder_jupyter.engine.tests import with_earlier_defaults
from autocoder_jupyter.request import Example, Request
from autocoder_jupyter.run.events import OpinionGiven
from autocoder_jupyter.types import CodePlan, CodeSolution, InputSpec, OutputSpec, Report
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.field_changes import Change
from autocoder_jupyter.versions.request_fields import differences
from tests.cases import each
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced, sales

SCRIPT: dict[str, Any] = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
TABLE_PLAN = json.dumps(
    {
        "description": "Revenue of each row.",
        "approach": "Multiply.",
        "outputs": [{"name": "rows", "type": "DataFrame", "columns": [{"name": "revenue", "dtype": "float64"}]}],
    }
)
TABLE_CODE = """\
import pandas as pd


def run(sales: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"revenue": sales["price"] * sales["quantity"]})"""
TABLE_TESTS = '''\
import pandas as pd
from solution import run


def test_rows():
    """One row for each row."""
    assert run(sales=pd.DataFrame({"price": [2.0], "quantity": [3]}))["revenue"].tolist() == [6.0]'''
TABLE: dict[str, Any] = {"plan": [TABLE_PLAN], "code": [fenced(TABLE_CODE)], "tests": [fenced(TABLE_TESTS)]}
ROWS = (OutputSpec(name="rows", type="DataFrame"),)

OWN = "def test_of_mine():\n    assert run(pd.DataFrame({'price': [1.0], 'quantity': [2]})) == 2.0\n"
EXAMPLE = Example("@few -> 4.0", (("", pd.DataFrame({"price": [2.0], "quantity": [2]})),), (("", 4.0),))


def holds(produced: Generated, words: str) -> None:
    """The existing code was tested and kept, in a version of its own."""
    report = produced.report
    assert report.success, report.error
    assert report.change == f"{words}; version 1 satisfies it unchanged" and report.kept is None


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("added", "words"),
    [
        pytest.param({"checks": ("total > 0",)}, "a new check: total > 0", id="check"),
        pytest.param({"examples": (EXAMPLE,)}, "a new example: @few -> 4.0", id="example"),
        pytest.param({"own_tests": OWN}, "other tests of yours", id="own test"),
    ],
)
async def test_what_holds_already_asks_no_model(runner: Runner, added: dict[str, Any], words: str) -> None:
    first = await runner.begin(SCRIPT)
    again = await runner.generate({}, **added)
    assert again.asked == []
    holds(again, words)
    assert (again.code, again.report.tests) == (first.code, first.report.tests)
    assert again.report.run_id == again.report.request_key != first.report.run_id == again.report.parent
    assert again.report.evidence.acceptance and all(one.passed for one in again.report.evidence.acceptance)
    third = await runner.generate({}, **added, samples={"sales": sales().head(2)})
    assert third.asked == [] and third.report.kept == "2 rows" and third.report.run_id == again.report.run_id
    back = await runner.generate({})
    assert back.asked == [] and back.report.run_id == first.report.run_id  # without it, the first version counts again


@pytest.mark.local_sandbox
async def test_a_new_constraint_is_tested_with_the_existing_function_first(runner: Runner) -> None:
    await runner.begin(TABLE, outputs=ROWS)
    again = await runner.generate({}, outputs=ROWS, constraints=("revenue is never negative",))
    assert again.asked == []
    holds(again, "a new constraint: revenue is never negative")
    assert "revenue is never negative" in [check.name for check in again.report.evidence.checks]


@pytest.mark.local_sandbox
async def test_a_constraint_that_no_rule_can_read_asks_for_its_tests_only(runner: Runner) -> None:
    first = await runner.begin(SCRIPT)
    further = TESTS.replace("test_sum", "test_order").replace("test_empty", "test_none")
    script = {"tests": [fenced(further)], "constraints": [json.dumps({"constraints": []})]}
    again = await runner.generate(script, constraints=("the order of the rows does not matter",))
    assert set(again.asked) <= {"constraints", "tests"} and "tests" in again.asked
    holds(again, "a new constraint: the order of the rows does not matter")
    assert again.code == first.code and first.report.tests.strip() in again.report.tests
    assert {"test_sum", "test_order"} <= {test.id for test in again.report.evidence.tests}


@pytest.mark.local_sandbox
async def test_what_does_not_hold_is_mended_and_the_old_tests_are_kept(runner: Runner) -> None:
    first = await runner.begin(SCRIPT)
    edit = {"find": "return float(", "replace": "return 1 + float(", "mends": ["total > 140.5"]}
    revised = {"find": "return 1 + float(", "replace": "return 0 + float(", "mends": ["test_sum"]}
    script = {"fix_code": [json.dumps({"edits": [edit]}), json.dumps({"edits": [revised]})]}
    script["diagnose"] = [json.dumps({"failures": []})]
    failed = await runner.generate(script, checks=("total > 140.5",), settings={"max_iterations": 1})
    assert failed.asked[0] == "fix_code" and not failed.report.success  # it broke the old tests, which still count
    assert failed.report.tests == first.report.tests
    assert "version 1 does not satisfy it: This does not hold: total > 140.5" in failed.report.change
    known = [version.is_good for version in Versions(runner.root, "growth").all()]
    assert known == [True, False]


@pytest.mark.local_sandbox
async def test_a_mended_function_is_a_version_of_its_own_with_the_old_tests(runner: Runner) -> None:
    fragile = CODE.replace("return float(", "return -1.0 if len(sales) == 1 else float(")
    first = await runner.generate({**SCRIPT, "code": [fenced(fragile)]})
    assert first.report.success, first.error
    edit = {"find": "-1.0 if len(sales) == 1 else float(", "replace": "float(", "mends": ["your example @few -> 4.0"]}
    mended = await runner.generate({"fix_code": [json.dumps({"edits": [edit]})]}, examples=(EXAMPLE,))
    assert mended.asked == ["fix_code"] and mended.report.success, mended.error
    assert mended.report.tests == first.report.tests and mended.report.parent == first.report.run_id
    assert mended.report.written_by == "openai/scripted" and mended.code.strip() == CODE.strip()


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("before", "now", "why"),
    [
        ({"checks": ("total > 0",)}, {}, "without the check: total > 0"),
        ({}, {"prompt": "Revenue of @sales in all."}, "new wording"),
        ({}, {"schema": "price is net of tax"}, "what is said about the data"),
    ],
)
async def test_what_no_test_can_tell_is_written_anew(
    runner: Runner, before: dict[str, Any], now: dict[str, Any], why: str
) -> None:
    """A demand that went may have been why the function is as it is."""
    await runner.generate(SCRIPT, **before)
    again = await runner.generate(SCRIPT, **now)
    assert "code" in again.asked and again.report.change == why


DEFAULT_PLAN = json.dumps(
    {"description": "Sales above.", "approach": "Filter.", "outputs": [{"name": "total", "type": "float"}]}
)
DEFAULT_CODE = """\
import pandas as pd


def run(sales: pd.DataFrame, least: int = 2) -> float:
    return float(sales.loc[sales["quantity"] >= least, "price"].sum())"""
DEFAULT_TESTS = '''\
import pandas as pd
from solution import run

SALES = pd.DataFrame({"price": [1.0, 2.0, 4.0], "quantity": [1, 2, 3]})


def test_default():
    """At least two."""
    assert run(sales=SALES) == 6.0


def test_given():
    """At least three."""
    assert run(SALES, 3) == 4.0'''


def least(default: int) -> tuple[InputSpec, ...]:
    return (InputSpec(name="least", type="int", required=False, default=default),)


@pytest.mark.local_sandbox
async def test_another_default_is_changed_in_the_signature_and_old_tests_get_the_old_one(runner: Runner) -> None:
    script: dict[str, Any] = {
        "plan": [DEFAULT_PLAN], "code": [fenced(DEFAULT_CODE)], "tests": [fenced(DEFAULT_TESTS)],
    }  # fmt: skip
    first = await runner.generate(script, inputs=least(2))
    assert first.report.success, first.error
    again = await runner.generate({}, inputs=least(3))
    assert again.asked == []
    holds(again, "another default of least: 2 → 3")
    assert "least: int = 3" in again.code and [spec.default for spec in again.plan.inputs] == [None, 3]
    assert "with the defaults that it had before: least=2" in again.report.tests


@pytest.mark.local_sandbox
async def test_declared_outputs_that_it_returns_already_ask_no_model(runner: Runner) -> None:
    plan = json.dumps(
        {
            "description": "Totals.",
            "approach": "Sum.",
            "outputs": [{"name": "total", "type": "float"}, {"name": "count", "type": "int"}],
        }
    )
    code = CODE.replace("-> float", "-> tuple[float, int]").replace(".sum())", ".sum()), len(sales)")
    tests = TESTS.replace("== 8.0", "== (8.0, 2)").replace("== 0.0", "== (0.0, 0)")
    await runner.generate({"plan": [plan], "code": [fenced(code)], "tests": [fenced(tests)]}, outputs=())
    declared = (OutputSpec(name="total", type="float"), OutputSpec(name="count", type="int", meaning="all rows"))
    again = await runner.generate({}, outputs=declared)
    assert again.asked == []
    holds(again, "a new output: total; a new output: count")
    assert again.plan.outputs[1].meaning == "all rows"


@pytest.mark.local_sandbox
async def test_what_is_recorded_about_the_code_stays_with_it(runner: Runner) -> None:
    first = await runner.generate({**SCRIPT, "second": [fenced(CODE)]}, settings={"second_opinion": "on"})
    assert first.opinion.state == "agree", first.opinion
    again = await runner.generate({}, checks=("total > 0",), settings={"second_opinion": "on"})
    assert again.asked == [] and again.opinion.state == "agree" and again.of(OpinionGiven)
    assert again.opinion.note == "Result on the original sample."


@each(
    ("outputs", "is_same"),
    [
        ((OutputSpec(name="a", type="float"), OutputSpec(name="b", type="int")), True),
        ((OutputSpec(name="b", type="int"), OutputSpec(name="a", type="float")), False),
        ((OutputSpec(name="a", type="float"),), False),
        ((OutputSpec(name="a", type="int"), OutputSpec(name="b", type="int")), False),
        ((), False),
    ],
)
def test_only_outputs_that_are_returned_so_are_taken_over(outputs: tuple[OutputSpec, ...], is_same: bool) -> None:
    plan = CodePlan(
        description="", approach="", outputs=(OutputSpec(name="a", type="float"), OutputSpec(name="b", type="int"))
    )
    report = Report(
        name="f",
        run_id="r",
        prompt="p",
        success=True,
        plan=plan,
        solution=CodeSolution(code="def run(): return 1.0, 2"),
    )
    found = adapted(report, Request("f", "p", outputs=outputs), (Change("a new output: b", "output"),))
    assert (found is not None) is is_same


@each(
    "code",
    [
        "def run(least): return least",
        "def run(least=1 + 1): return least",
        "LEAST = 2\ndef run(least=LEAST): return least",
        "def run(**given): return given['least']",
        "least = 2",
        "def run(least=(\n  2)): return least",
    ],
)
def test_a_default_is_changed_only_where_it_is_a_literal(code: str) -> None:
    plan = CodePlan(description="", approach="", inputs=least(2), outputs=(OutputSpec(name="x", type="int"),))
    report = Report(name="f", run_id="r", prompt="p", success=True, plan=plan, solution=CodeSolution(code=code))
    found = adapted(report, Request("f", "p", inputs=least(-3)), (Change("another default", "default"),))
    assert found is None or "least=(\n  -3)" in found.code


def test_a_default_with_quotes_stays_a_default_and_becomes_no_code() -> None:
    spec = InputSpec(name="word", type="str", required=False, default='"""\nimport os\n"""')
    source = with_earlier_defaults("from solution import run\n\n\ndef test_it():\n    assert run()", (spec,), {"word"})
    assert "\nimport os\n" not in source
    compile(source, "test", "exec")


def test_a_new_default_is_told_apart_from_another_input() -> None:
    def between(before: InputSpec, now: InputSpec) -> list[Change]:
        record = {"inputs": [before.model_dump()]}
        return list(differences(record, {"inputs": [now.model_dump()]}))

    (changed,) = between(least(2)[0], least(3)[0])
    assert (changed.what, changed.words) == ("default", "another default of least: 2 → 3")
    (changed,) = between(least(2)[0], InputSpec(name="least", type="float", required=False, default=2.0))
    assert changed.what == "request"
    assert between(least(2)[0], least(2)[0]) == []
