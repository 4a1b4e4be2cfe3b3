"""Scripted answers of the model for the browser tests: a monthly growth of sales, and variants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.first_answers import joined
from tests.runner import MARKERS
from tests.scripted_model import Answer, prompt_of

STAGES = {marker: stage for stage, marker in MARKERS.items()}

DATA = """\
import numpy as np
import pandas as pd

random = np.random.default_rng(7)
days = pd.date_range("2024-01-01", "2024-12-31")
sales = pd.DataFrame({
    "order_date": random.choice(days, 2000),
    "region": random.choice(["North", "South", "West"], 2000),
    "revenue": random.gamma(2.0, 60.0, 2000).round(2),
})
sales.head(3)"""

CELL = """\
%%autocode growth -o "monthly: DataFrame" -o "best_month: str" -i "min_orders: int = 5"
-c "revenue is never negative"
--check "monthly.month.is_monotonic_increasing"
Monthly revenue growth from @sales, one row a month; skip months with fewer than 5 orders."""

PLAN = json.dumps(
    {
        "description": "Revenue a month, its growth over the month before, and the month with the highest growth.",
        "approach": "Add up revenue by calendar month, drop months with few orders, compare each month that is left "
        "with the one before it.",
        "inputs": [
            {"name": "sales", "type": "DataFrame", "meaning": "one row an order"},
            {
                "name": "min_orders",
                "type": "int",
                "required": False,
                "default": 5,
                "meaning": "months with fewer orders are skipped",
            },
        ],
        "outputs": [
            {
                "name": "monthly",
                "type": "DataFrame",
                "meaning": "one row a month, oldest first",
                "columns": [
                    {"name": "month", "dtype": "datetime64[ns]", "meaning": "first day of the month"},
                    {"name": "revenue", "dtype": "float64", "meaning": "sum of revenue"},
                    {"name": "orders", "dtype": "int64", "meaning": "number of orders"},
                    {"name": "growth", "dtype": "float64", "meaning": "over the month before; 0.1 is 10 %"},
                ],
            },
            {"name": "best_month", "type": "str", "meaning": "YYYY-MM with the highest growth; empty without one"},
        ],
        "assumptions": [
            "A month is the calendar month of order_date.",
            "Orders without a revenue count as orders, with a revenue of 0.",
            "Growth compares with the month kept before, even when months in between were skipped.",
            "The first month has no growth (NaN). Between equals, the earlier month is the best.",
        ],
    }
)

MODULE = '''\
import pandas as pd


def run(sales: pd.DataFrame, min_orders: int = 5) -> tuple[pd.DataFrame, str]:
    """Revenue a month, its growth, and the month that grew most."""
    month = sales["order_date"].dt.to_period("M").dt.to_timestamp().rename("month")
    monthly = (
        sales.assign(revenue=sales["revenue"].fillna(0.0))
        .groupby(month)
        .agg(revenue=("revenue", "sum"), orders=("revenue", "size"))
        .loc[lambda months: months["orders"] >= min_orders]
        .reset_index()
    )
    monthly["month"] = monthly["month"].astype("datetime64[ns]")
    monthly["growth"] = monthly["revenue"].pct_change()  # NaN for the first month
    if monthly["growth"].notna().any():
        best = monthly.loc[monthly["growth"].idxmax(), "month"].strftime("%Y-%m")
    else:
        best = ""
    return monthly, best
'''

TESTS = '''\
import pandas as pd
import pytest
from solution import run


def orders(**revenue):
    """Orders of 2024, the revenues of each month in a list."""
    rows = [(f"2024-{month[1:]}-{day:02}", r) for month, rs in revenue.items() for day, r in enumerate(rs, 1)]
    return pd.DataFrame({"order_date": pd.to_datetime([d for d, _ in rows]), "revenue": [float(r) for _, r in rows]})


def test_each_month_has_one_row_in_order():
    """one row a month"""
    monthly, _ = run(sales=orders(m02=[1, 1], m01=[1, 1]), min_orders=2)
    assert list(monthly["month"]) == [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-02-01")]


def test_growth_is_over_the_month_before():
    """Monthly revenue growth"""
    monthly, _ = run(sales=orders(m01=[40, 60], m02=[75, 75]), min_orders=1)
    assert monthly["growth"].iloc[1] == pytest.approx(0.5)  # 150 / 100 - 1


def test_the_first_month_has_no_growth():
    """Monthly revenue growth"""
    monthly, best = run(sales=orders(m01=[10, 20]), min_orders=1)
    assert monthly["growth"].isna().all() and best == ""


def test_months_with_few_orders_are_skipped():
    """skip months with fewer than 5 orders"""
    monthly, _ = run(sales=orders(m01=[1] * 5, m02=[1] * 4, m03=[2] * 5))
    assert list(monthly["orders"]) == [5, 5]
    assert monthly["growth"].iloc[1] == pytest.approx(1.0)  # 10 / 5 - 1


def test_the_best_month_grew_most():
    """best_month"""
    _, best = run(sales=orders(m01=[10], m02=[30], m03=[40]), min_orders=1)
    assert best == "2024-02"  # +200 % beats +33 %


def test_a_missing_revenue_counts_as_nothing():
    """revenue is never negative"""
    frame = orders(m01=[10, 20], m02=[60])
    frame.loc[0, "revenue"] = None
    assert run(sales=frame, min_orders=1)[0]["revenue"].tolist() == [20.0, 60.0]
'''

WRONG = MODULE.replace(
    'monthly["growth"] = monthly["revenue"].pct_change()  # NaN for the first month',
    'monthly["growth"] = monthly["revenue"].diff() / monthly["revenue"]',
)
MENDED: dict[str, list[dict[str, Any]]] = {
    "edits": [
        {
            "find": 'monthly["growth"] = monthly["revenue"].diff() / monthly["revenue"]',
            "replace": 'monthly["growth"] = monthly["revenue"].pct_change()  # NaN for the first month',
            "mends": ["test_growth_is_over_the_month_before", "test_months_with_few_orders_are_skipped"],
        }
    ]
}
DIAGNOSIS = {
    "failures": [
        {
            "test_name": name,
            "error_message": "growth is off",
            "expected_behavior": "growth is the change over the month before",
            "actual_behavior": "the change is divided by the month itself",
            "root_cause": "diff() is divided by the revenue of the same month",
            "suggested_fix": "Divide by the revenue of the month before: pct_change().",
            "error_type": "logic",
        }
        for name in ("test_growth_is_over_the_month_before", "test_months_with_few_orders_are_skipped")
    ]
}
WRONG_TESTS = TESTS.replace("approx(0.5)  # 150 / 100 - 1", "approx(1.5)  # 150 / 100")
BLAMED = {
    "failures": [
        {
            **DIAGNOSIS["failures"][0],
            "root_cause": "the test expects the ratio of the months, and growth is that less one",
            "suggested_fix": "Expect 0.5.",
            "error_type": "test_error",
        }
    ]
}
VERDICT = {
    "verdicts": [
        {
            "test_name": "test_growth_is_over_the_month_before",
            "derivation": "January has 40 + 60 = 100, February 75 + 75 = 150; growth is 150 / 100 - 1 = 0.5.",
            "verdict": "wrong",
            "replacement": next(part for part in TESTS.split("\n\n\n") if "growth_is_over" in part).strip(),
        }
    ]
}
UNKNOWN_PACKAGE = MODULE.replace("import pandas as pd\n", "import fiscalmonths\nimport pandas as pd\n", 1)
NO_PACKAGE = {
    "edits": [{"find": "import fiscalmonths\n", "replace": "", "mends": ["package fiscalmonths"]}],
}
NO_CONSTRAINTS: dict[str, list[str]] = {"constraints": []}


def fenced(code: str) -> str:
    return f"```python\n{code}```"


def answer(request: dict[str, Any]) -> str:
    """The answer to a request; a word in the prompt selects the variant."""
    prompt = prompt_of(request)
    stage = next(stage for marker, stage in STAGES.items() if marker in prompt)
    code, tests, fix, diagnosis = MODULE, TESTS, MENDED, DIAGNOSIS
    if "Wrong test." in prompt or "approx(1.5)" in prompt:
        tests, diagnosis = WRONG_TESTS, BLAMED
    if "Mend it." in prompt or "Never right." in prompt:
        code = WRONG
    if "Never right." in prompt:
        fix = {"edits": [{**MENDED["edits"][0], "replace": MENDED["edits"][0]["find"] + " * 1.0"}]}
    if "Ask first." in prompt:
        code, fix = UNKNOWN_PACKAGE, NO_PACKAGE
    return {
        "plan": joined(PLAN, ""),
        "code": joined(PLAN, fenced(code)),
        "tests": fenced(tests),
        "constraints": json.dumps(NO_CONSTRAINTS),
        "diagnose": json.dumps(diagnosis),
        "fix_code": json.dumps(fix),
        "fix_tests": json.dumps(VERDICT),
    }[stage]


def slowly(stage_seconds: float) -> Callable[[dict[str, Any]], Answer]:
    """The same answers, each after some seconds."""
    return lambda request: Answer(answer(request), delay=stage_seconds)


def holding(*stages: str) -> tuple[Any, ...]:
    """The usual answers, but those of these stages wait for an event. Returns the events, then the script.

    Plan and code are one answer, which waits before the one and before the other.
    """
    releases = {stage: threading.Event() for stage in stages}

    def script(request: dict[str, Any]) -> Answer:
        said, prompt = answer(request), prompt_of(request)
        stage = next(stage for marker, stage in STAGES.items() if marker in prompt)
        if stage != "code":
            return Answer(said, hold=releases.get(stage))
        return held_first(said, plan=releases.get("plan"), code=releases.get("code"))

    return *releases.values(), script


def held_first(
    text: str, *, plan: threading.Event | None = None, code: threading.Event | None = None, piece: int = 80
) -> Answer:
    """A first answer that stops in its plan and in its code until these events are set."""
    end = text.rindex('"""\n', 0, text.index("def run(")) if '"""\n' in text else 0
    within = Answer(text, piece=piece, then=code, then_after=end + 4 + (len(text) - end) // 2)
    return replace(within, hold=plan, hold_after=end // 2) if plan else within
