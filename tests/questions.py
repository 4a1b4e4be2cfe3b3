"""The questions of a generation as text, for tests and for the benchmark of the provider's cache."""

from __future__ import annotations

import json
from itertools import takewhile

import pandas as pd

from autocoder_jupyter.engine.first_answer import first_messages
from autocoder_jupyter.engine.plan import PlanAnswer, merge
from autocoder_jupyter.engine.prepare import prepare, with_environment
from autocoder_jupyter.engine.prompt import Brief
from autocoder_jupyter.engine.repair import DiagnosisAnswer, complete, diagnosis_messages
from autocoder_jupyter.engine.tests import tests_messages
from autocoder_jupyter.engines.staged.writer import CodeFix, fix_messages
from autocoder_jupyter.models.answers import with_schema
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.types import TestOutcome

PROMPT = "Monthly revenue growth from @sales, one row a month; skip months with fewer than 5 orders."

PLAN = {
    "description": "Revenue by month and its growth over the month before.",
    "approach": "Group by month, sum, drop months with fewer than 5 rows, shift by one calendar month, divide.",
    "outputs": [
        {
            "name": "monthly",
            "type": "DataFrame",
            "meaning": "one row a month that has at least 5 orders, the earliest first",
            "columns": [
                {"name": "month", "dtype": "datetime64[us]", "meaning": "its first day"},
                {"name": "revenue", "dtype": "float64", "meaning": "sum of float_0"},
                {"name": "growth", "dtype": "float64", "meaning": "share, not percent"},
            ],
        }
    ],
    "assumptions": [
        "The month is that of `when`.",
        "Growth is over the calendar month before; NaN where that was skipped.",
        "The number of orders is the number of rows.",
    ],
}

CODE = """\
import pandas as pd


def run(sales: pd.DataFrame) -> pd.DataFrame:
    by_month = sales.assign(month=sales["when"].dt.to_period("M")).groupby("month")["float_0"]
    monthly = by_month.agg(["sum", "size"])
    monthly = monthly[monthly["size"] >= 5]
    growth = monthly["sum"].pct_change()
    months = monthly.index.to_timestamp().as_unit("us")
    return pd.DataFrame({"month": months, "revenue": monthly["sum"].to_numpy(), "growth": growth.to_numpy()})"""

TESTS = '''\
import pandas as pd
from solution import run


def test_growth_is_over_the_calendar_month_before():
    """Growth is over the calendar month before; NaN where that was skipped."""
    when = pd.to_datetime(["2024-01-03"] * 5 + ["2024-02-03"] + ["2024-03-03"] * 5)
    out = run(sales=pd.DataFrame({"when": when, "float_0": [2.0] * 5 + [9.0] + [4.0] * 5}))
    assert out["growth"].isna().tolist() == [True, True]'''


def texts_of_all_stages(sales: pd.DataFrame) -> dict[str, str]:
    """The questions of a run with one repair, as they are sent: by stage, in the order of asking."""
    request = Request(name="growth", prompt=PROMPT, samples={"sales": sales})
    prepared = prepare(request, AgentConfig())
    context = with_environment(prepared.context.text, "Python 3.11, pandas 3.1")
    plan = merge(PlanAnswer.model_validate_json(json.dumps(PLAN)), prepared.inputs, ())
    brief = Brief(request, plan, context)
    failing = TestOutcome(
        id="test_growth_is_over_the_calendar_month_before",
        outcome="failed",
        message="E       assert [True, False] == [True, True]",
    )
    diagnosis = complete(DiagnosisAnswer(), [failing])
    asked = {
        "code": first_messages(request, prepared.inputs, context),
        "tests": tests_messages(brief),
        "diagnose": with_schema(
            diagnosis_messages(brief, CODE, TESTS, [failing]),
            DiagnosisAnswer,
        ),
        "fix": with_schema(fix_messages(brief, CODE, diagnosis.failures, ""), CodeFix),
    }
    return {stage: "\n".join(message["content"] for message in messages) for stage, messages in asked.items()}


def shared(first: str, text: str) -> str:
    """The common beginning of two questions."""
    return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, text, strict=False)))
