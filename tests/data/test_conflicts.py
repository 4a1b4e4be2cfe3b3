"""What a request says of the data that is not so is found by a check of the data, and the data win."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.data import checks as module
from autocoder_jupyter.data.checks import conflicts
from autocoder_jupyter.data.context import build_context
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.request import Share
from tests.cases import each
from tests.runner import PLAN, TESTS, Runner, fenced, sales

TABLE = pd.DataFrame(
    {
        "order_date": ["03.04.2024", "13.05.2024", "21.02.2023", None],
        "status": ["paid", "open ", "paid", "open "],
        "amount": ["1", "x", "3", "4"],
        "n": [1.5, 2.0, 3.0, 4.0],
    }
)


@each(
    ("request_", "said"),
    [
        (
            "Monthly sums; order_date is YYYY-MM-DD.",
            "The request says YYYY-MM-DD, but the dates in t.order_date have the format %d.%m.%Y",
        ),
        (
            "Read order_date with %m/%d/%Y.",
            "The request says %m/%d/%Y, but the dates in t.order_date have the format %d.%m.%Y",
        ),
        ("Group by `Order Date`.", "The request says Order Date, but the column of t is called order_date"),
        ("Rows where status is 'Paid'.", "The request says 'Paid', but in t.status it is 'paid'"),
        ('Rows where status is "open".', "The request says 'open', but in t.status it is 'open '"),
        ("Sum amount, a number.", "The request says that amount is a number, but in t its dtype is"),
        ("n is an integer, the count.", "The request says that n is a whole number, but in t its dtype is float64"),
        ("order_date is a datetime.", "The request says that order_date is a datetime, but in t its dtype is"),
    ],
)
def test_a_format_name_type_or_value_that_the_data_do_not_have_is_found(request_: str, said: str) -> None:
    (found,) = conflicts(request_, {"t": TABLE})
    assert found.startswith(said)


@each(
    "request_",
    [
        "Monthly sums of n; order_date is DD.MM.YYYY.",
        "Read order_date with %d.%m.%Y, and write the month as YYYY-MM.",
        "Rows where status is 'paid', in a column `total`.",
        "n is a number. 'Nothing' of that kind is there.",
        "Group by `order_date`, and call the result 'Order Date'.",
        "The DD-DD-DD and the M.M.M are no formats; it's the customer's own.",
    ],
)
def test_what_fits_or_says_nothing_of_the_data_is_no_conflict(request_: str) -> None:
    assert conflicts(request_, {"t": TABLE}) == ()


@pytest.mark.parametrize(("share", "count"), [("rows", 2), ("stats", 1), ("schema", 0)])
def test_a_value_is_quoted_only_where_rows_are_shared(share: Share, count: int) -> None:
    request_ = "order_date is YYYY-MM-DD, status is 'Paid'."
    assert len(conflicts(request_, {"t": TABLE}, share=share)) == count
    assert conflicts(request_, {"t": TABLE}, share=share, masked={"status", "order_date"}) == ()


def test_the_description_for_the_model_says_what_does_not_fit() -> None:
    context = build_context({"t": TABLE}, request="Sums by month; order_date is YYYY-MM-DD.")
    assert "Follow the data:\n- The request says YYYY-MM-DD" in context.text and len(context.conflicts) == 1
    plain: dict[str, Any] = {"t": TABLE}
    assert "Follow the data" not in build_context(plain, request="Sums by month.").text
    withheld = WithheldColumns.of((), ("order_date",))
    assert build_context(plain, request="order_date is YYYY-MM-DD", withheld=withheld).conflicts == ()


@pytest.mark.local_sandbox
async def test_the_plan_says_in_an_assumption_that_the_data_are_followed(tmp_path: Path) -> None:
    runner = Runner(tmp_path / ".autocode", "local")
    frame = sales().assign(day=["03.04.2024", "13.05.2024", "21.02.2023"])
    code = "def run(sales):\n    return float((sales['price'] * sales['quantity']).sum())"
    produced = await runner.generate(
        {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(TESTS)]},
        prompt="Total revenue of @sales; day is written as YYYY-MM-DD.",
        samples={"sales": frame},
        settings={"second_opinion": "off"},
    )
    assert produced.plan.assumptions == (
        "The request says YYYY-MM-DD, but the dates in sales.day have the format %d.%m.%Y: the data are followed.",
        "Rows with a missing price count as zero.",
    )


def test_each_text_is_read_once_whatever_the_request_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    folded = module._folded

    def counted(text: str) -> str:
        read.append(text)
        return folded(text)

    monkeypatch.setattr(module, "_folded", counted)
    texts = [*(f"Text {number}" for number in range(500)), "x" * 1_000_000]
    request = "Keep " + ", ".join(f"'text {number}'" for number in range(300))
    found = conflicts(request, {"sales": pd.DataFrame({"status": texts})})
    assert len(found) == 6 and found[0].endswith("it is 'Text 0'")
    assert len(read) <= 500 + 300 and max(map(len, read)) < 100
