"""`--split`: the function must be able to be called for pieces, and that is compared in each attempt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autocoder_jupyter.agent.arguments import build_request
from autocoder_jupyter.display.card import evidence_rows, rows
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import OutputSpec
from autocoder_jupyter.types.interface import DeclaredSplit, demand
from autocoder_jupyter.view.as_text import blocks_text
from tests.engine.splitting_functions import orders
from tests.runner import Runner, fenced
from tests.scripted_model import prompt_of

COLUMNS = [{"name": "customer", "dtype": "str"}, {"name": "amount", "dtype": "float64"}]

PLAN = json.dumps(
    {
        "description": "The amount of each customer.",
        "approach": "Group and sum.",
        "outputs": [{"name": "table", "type": "DataFrame", "columns": COLUMNS}],
        "assumptions": [],
    }
)

CODE = """\
import pandas as pd


def run(sales: pd.DataFrame) -> pd.DataFrame:
    return sales.groupby("customer", as_index=False)[["amount"]].sum()"""

OF_ALL = '.assign(amount=lambda table: table["amount"] / table["amount"].sum())'

SHARES = CODE + OF_ALL


def fix(find: str, replace: str, mends: str) -> str:
    return json.dumps({"edits": [{"find": find, "replace": replace, "mends": [mends]}]})


GIVEN: dict[str, Any] = {
    "prompt": "The amount of each customer of @sales.",
    "samples": {"sales": orders(60)},
    "outputs": (OutputSpec(name="table", type="DataFrame"),),
    "settings": {"skip_tests": True, "max_iterations": 2},
}


@pytest.mark.local_sandbox
async def test_a_function_that_may_not_be_split_as_demanded_is_mended(runner: Runner) -> None:
    script: dict[str, Any] = {
        "plan": [PLAN],
        "code": [fenced(SHARES)],
        "fix_code": [fix(f".sum(){OF_ALL}", ".sum()", "sales may be split: whole groups of customer")],
    }
    produced = await runner.generate(script, split="groups:customer", **GIVEN)
    assert produced.report.success, produced.error
    assert produced.code.rstrip() == CODE
    asked = dict(zip(produced.asked, map(prompt_of, produced.model.requests), strict=True))
    assert "contain all rows with the same 'customer'" in asked["code"]
    assert "sales may be split: whole groups of customer" in asked["fix_code"] and "in pieces" in asked["fix_code"]
    state = FunctionRun("growth")
    for event in produced.events:
        state = state.after(event)
    shown = " ".join(blocks_text((*rows(state), *evidence_rows(state))))
    assert "sales may be split: whole groups of customer" in shown
    assert "comparisons; the order of rows does not count" in shown
    kept = await runner.generate({}, split="groups:customer", **GIVEN)
    assert kept.report.success and kept.asked == []
    for report in (produced.report, kept.report):
        assert report.plan is not None and report.plan.split == DeclaredSplit(
            input="sales", kind="groups", keys=("customer",)
        )


@pytest.mark.local_sandbox
async def test_without_a_mend_it_fails_with_the_counter_example(runner: Runner) -> None:
    script: dict[str, Any] = {
        "plan": [PLAN],
        "code": [fenced(CODE)],
        "fix_code": [fix(".sum()", ".sum().copy()", "sales may be split: any batch of rows")],
    }
    produced = await runner.generate(script, split="rows", **GIVEN)
    assert not produced.report.success
    (outcome,) = produced.report.evidence.acceptance
    assert outcome.name == "sales may be split: any batch of rows"
    assert outcome.message.startswith("rows: ") and "in pieces" in outcome.message


@pytest.mark.parametrize(
    ("split", "said"),
    [("groups:custmer", "sales has no column 'custmer'"), ("groups:customer,x", "no column 'x'")],
)
async def test_a_column_that_is_not_there_is_said_before_anything_is_sent(
    runner: Runner, split: str, said: str
) -> None:
    with pytest.raises(InvalidRequest, match=said):
        await runner.generate({}, split=split, **GIVEN)
    with pytest.raises(InvalidRequest, match="needs a table as a sample"):
        await runner.generate({}, split=split, **{**GIVEN, "samples": {}})


def test_a_way_to_split_is_read_in_a_cell_and_in_a_script() -> None:
    assert demand(" groups : customer , region ") == ("groups", ("customer", "region"))
    assert parse_cell("growth --split 'groups: customer'", "Do it.").split == "groups:customer"
    assert build_request("x", split="merge").split == "merge"
    assert build_request("x").split == parse_cell("growth", "Do it.").split == ""
    for wrong in ("", "groups", "groups:", "whole", "rows:customer", "groups:a,a"):
        with pytest.raises(InvalidRequest, match="is not a way to split a table") as refused:
            demand(wrong)
        assert "groups:customer" in refused.value.hint
