"""A user's schema of an output: validated on the sample and in the calls of tests, and sent to the repair step."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pandera.pandas as pa
import pytest

from autocoder_jupyter.contracts.applying import with_checked_samples
from autocoder_jupyter.contracts.describing import contract_of
from autocoder_jupyter.contracts.sample_schema import schema_of
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import Contract, Request
from autocoder_jupyter.types import OutputSpec, Report
from autocoder_jupyter.versions.request_fields import changes
from tests.cases import each
from tests.runner import Runner, fenced


class Totals(pa.DataFrameModel):
    shop: str = pa.Field(unique=True)
    total: float = pa.Field(ge=0, coerce=True)

    class Config:
        strict = True


SALES = pd.DataFrame({"shop": ["Ann", "Bob", "Ann"], "price": [10, -30, 5]})
OUTPUTS = (OutputSpec(name="totals", type="DataFrame"),)
PLAN = json.dumps(
    {
        "description": "Revenue by shop.",
        "approach": "Group and sum.",
        "outputs": [
            {
                "name": "totals",
                "type": "DataFrame",
                "columns": [{"name": "shop", "dtype": "str"}, {"name": "total", "dtype": "int64"}],
            }
        ],
        "assumptions": ["A refund is no revenue."],
    }
)
WRONG = """\
import pandas as pd


def run(sales: pd.DataFrame) -> pd.DataFrame:
    return sales.groupby("shop")["price"].sum().rename("total").reset_index()"""
RIGHT = WRONG.replace(".sum()", ".sum().clip(lower=0)")
TESTS = '''\
import pandas as pd
from solution import run


def test_sum():
    """Revenue by shop."""
    totals = run(sales=pd.DataFrame({"shop": ["x", "x"], "price": [2, 3]}))
    assert list(totals["shop"]) == ["x"] and list(totals["total"]) == [5]


def test_refund():
    """One row a shop."""
    assert len(run(sales=pd.DataFrame({"shop": ["x", "y"], "price": [-2, 1]}))) == 2'''


def contracts(**given: Any) -> dict[str, Contract]:
    return {name: contract_of("", name, value, is_output=name != "sales") for name, value in given.items()}


async def run_script(runner: Runner, code: str = RIGHT, given: Any = None, **more: Any) -> Any:
    script = {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(TESTS)], **more.pop("script", {})}
    found = contracts(totals=Totals) if given is None else given
    return await runner.generate(
        script, prompt="Revenue of @sales by shop.", samples={"sales": SALES}, outputs=OUTPUTS, contracts=found, **more
    )


def held(report: Report) -> dict[str, bool]:
    return {outcome.name: outcome.passed for outcome in report.evidence.acceptance}


PROMISES = ["totals satisfies Totals on the sample", "totals satisfies Totals in the calls of the tests"]
MEND = json.dumps({"edits": [{"find": ".sum()", "replace": ".sum().clip(lower=0)", "mends": PROMISES}]})


@pytest.mark.parametrize(("share", "shown"), [("rows", True), ("stats", False)])
async def test_a_broken_contract_fails_the_attempt_and_is_told_to_who_mends(
    runner: Runner, share: str, shown: bool
) -> None:
    script = {"fix_code": [MEND]}
    produced = await run_script(runner, WRONG, script=script, settings={"share": share, "second_opinion": "off"})
    assert produced.report.success, produced.report.error
    first = produced.report.history[0].evidence.acceptance
    assert [outcome.passed for outcome in first] == [False, False]
    on_sample = next(outcome for outcome in first if "on the sample" in outcome.name)
    assert on_sample.name == "totals satisfies Totals on the sample"
    assert "total: greater_than_or_equal_to(min_value=0): 1 of 2 rows" in on_sample.message
    assert ("-30" in on_sample.message) == shown
    mending = json.dumps(produced.model.requests[produced.asked.index("fix_code")])
    assert "greater_than_or_equal_to(min_value=0): 1 of 2 rows" in mending and ("row 1: -30" in mending) == shown
    assert held(produced.report) == {
        "totals satisfies Totals in the calls of the tests": True,
        "totals satisfies Totals on the sample": True,
    }


async def test_the_person_reads_values_that_no_file_holds(runner: Runner) -> None:
    produced = await run_script(
        runner, WRONG, settings={"max_iterations": 1, "share": "stats", "second_opinion": "off"}
    )
    report = produced.report
    assert not report.success and "This does not hold: totals satisfies Totals" in (report.error or "")
    on_sample = report.evidence.acceptance[0]
    assert "row 1: -30" in on_sample.in_full and "-30" not in on_sample.message
    folder = runner.root / "growth" / "versions" / report.run_id
    assert "row 1: -30" not in (folder / "report.json").read_text()


async def test_only_the_request_with_a_contract_tells_of_one(runner: Runner) -> None:
    settings = {"second_opinion": "off"}
    with_one = await run_script(runner, settings=settings)
    without = await run_script(runner, given={}, settings=settings)
    assert with_one.report.run_id != without.report.run_id
    questions = [json.dumps(request) for request in with_one.model.requests]
    assert all("which must satisfy Totals" in question for question in questions) and len(questions) == 2
    assert not any("<contracts>" in json.dumps(request) for request in without.model.requests)
    again = await run_script(runner, script={"plan": [], "code": [], "tests": []}, settings=settings)
    assert again.report.success and again.asked == []  # the same contract asks nothing


async def test_another_model_is_tested_with_the_existing_function_first(runner: Runner) -> None:
    class Wider(Totals):
        total: float = pa.Field(ge=-100, coerce=True)

    settings = {"second_opinion": "off"}
    first = await run_script(runner, settings=settings)
    second = await run_script(runner, given=contracts(totals=Wider), settings=settings)
    assert second.asked == [] and second.report.run_id != first.report.run_id
    assert second.report.change == "another contract of totals; version 1 satisfies it unchanged"
    assert second.report.contracts == {"totals": contracts(totals=Wider)["totals"].record}
    record = json.loads((runner.root / "growth" / "versions" / first.report.run_id / "request.json").read_text())
    assert changes(record, record) == "" and "totals" in record["contracts"]


async def test_what_a_test_gives_that_breaks_the_contract_of_the_input_is_not_judged(runner: Runner) -> None:
    bought = pa.DataFrameSchema({"shop": pa.Column(str), "price": pa.Column(int, pa.Check.ge(-30))})
    tests = TESTS.replace("[-2, 1]", "[-200, 1]")
    found = contracts(totals=Totals, sales=bought)
    script = {"tests": [fenced(tests)]}
    produced = await run_script(
        runner, WRONG, found, script=script, settings={"max_iterations": 1, "second_opinion": "off"}
    )
    assert held(produced.report) == {
        "totals satisfies Totals in the calls of the tests": True,  # of the one call that was judged
        "totals satisfies Totals on the sample": False,
    }


async def test_the_schema_of_a_sample_runs_and_holds_what_the_constraints_became(runner: Runner) -> None:
    produced = await run_script(
        runner, given={}, constraints=("price is at least -30",), settings={"second_opinion": "off"}
    )
    report = Report.model_validate_json(produced.report.model_dump_json())
    assert report.generated_schemas is None
    schema = schema_of("sales", report.sample_schemas["sales"])
    schema.validate(SALES)
    with pytest.raises(pa.errors.SchemaErrors, match="greater_than_or_equal_to"):
        schema.validate(SALES.assign(price=-31), lazy=True)


@each(
    ("outputs", "given", "what"),
    [
        ((), {"totals": Totals}, "no input or output 'totals'"),
        ((OutputSpec(name="totals", type="float"),), {"totals": Totals}, "totals is a float"),
        ((OutputSpec(name="totals", type="Series"),), {"totals": Totals}, "totals is a Series"),
        ((OutputSpec(name="totals", type="DataFrame"),), {"totals": pa.SeriesSchema(float)}, "is a SeriesSchema"),
    ],
    ids=["unknown", "number", "series", "frame"],
)
def test_a_contract_for_what_is_no_such_table_is_refused(outputs: Any, given: Any, what: str) -> None:
    with pytest.raises(InvalidRequest, match=what):
        with_checked_samples(Request("growth", "…", outputs=outputs, contracts=contracts(**given)))


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"mask": ("price",)}, "price is to be masked, but the contract of sales has checks of it"),
        ({"hide": ("price",)}, "price is to be hidden, but the request names it"),
    ],
)
async def test_a_contract_tells_nothing_of_what_is_held_back(runner: Runner, settings: Any, what: str) -> None:
    bought = pa.DataFrameSchema({"price": pa.Column(int, pa.Check.isin([10, -30, 5]))})
    with pytest.raises(InvalidRequest, match=what):
        await runner.generate(
            {}, prompt="By shop.", samples={"sales": SALES}, contracts=contracts(sales=bought), settings=settings
        )
