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


TYPES = pd.DataFrame(
    {
        "date": ["2024-01-03", "2024-02-01"],
        "status": ["paid", "open"],
        "customer": ["A1", "B2"],
        "amount": ["1,200", "x"],
        "price": [1.25, 2.5],
        "units": [1, 2],
        "active": ["yes", "no"],
        "id": ["007", "008"],
    }
)

CLAIMS = [
    "amount is a number, sum it by customer.",
    "Sum amount by customer. The amount is numeric.",
    "amount is float64. Sum it.",
    "The column 'amount' is an integer.",
    "`amount` contains numbers; add them up.",
    "amount (float64) by customer.",
    "amount: int64, by customer.",
    "@sales has the columns customer: str, amount: float, and date: datetime64.",
    "date is a datetime. Count by month.",
    "date (datetime64) decides the month.",
    "The date is stored as a timestamp.",
    "active is a boolean; count those that are active.",
    "active is bool.",
    "active (bool) says who counts.",
    "price is an integer in cents.",
    "The price is a whole number.",
    "id is an int and identifies a customer.",
    "id is stored as an integer.",
    "Dates: date is of type datetime64.",
    "The customer is an integer id.",
]

NO_CLAIMS = [
    "For each customer, number of orders.",
    "For each customer: number of orders and mean price.",
    "By customer (number of units, mean price).",
    "By status: numbers of rows.",
    "Status, integer count, share.",
    "Group by status, number the groups from 1.",
    "Return customer, number of units, and share.",
    "Count each status (number of rows) by month.",
    "For each date, number of units sold.",
    "For each date: number of customers.",
    "By date (number of active customers).",
    "The most frequent status: number and share.",
    "Sort by customer, number of units descending.",
    "How many customers has each status: numbers by month.",
    "Each customer has a number of orders; give the mean.",
    "Each customer has numbers of units; add them.",
    "A customer has an integer multiple of units.",
    "For each customer, int the total.",
    "For each status, whole numbers of units only.",
    "Per customer, a number of statistics: mean and sum of price.",
    "Convert amount to a number.",
    "Parse amount as a number.",
    "Read date as a datetime and count by month.",
    "Parse date as datetime.",
    "Return date as timestamp.",
    "Give amount as a float.",
    "Treat id as an integer.",
    "Write active as boolean.",
    "If amount is a number, add it; else skip the row.",
    "Rows where amount is a number.",
    "Only rows whose amount is numeric.",
    "Skip a row unless amount is a number.",
    "Check whether id is an integer.",
    "Drop rows in which the amount is not a number.",
    "Make sure that date is a datetime in the result.",
    "Ensure amount is numeric.",
    "The answer's date should be a datetime.",
    "date must become a datetime.",
    "amount is number formatted text.",
    "amount is numbered from 1.",
    "status is number 3 of the columns.",
    "customer is number one by price.",
    "The customer is integer-like text.",
    "status is integrated from two systems.",
    "customer contains number and letter.",
    "customer contains a number and a letter.",
    "customer has a number after the letter.",
    "id contains a number with leading zeros.",
    "amount contains numbers with commas.",
    "amount has numbers like 1,200 in it.",
    "date is a timestamped text.",
    "date has a datetime in text form.",
    "active is boolean-like: yes or no.",
    "active is a boolean written as yes and no.",
    "price is a number.",
    "units is an integer, price a float.",
    "units (int64) and price (float64) by status.",
    "price: float, units: int.",
    "units is numeric. customer is a text.",
    "The customer's number is in another table.",
]


@each("request_", CLAIMS)
def test_a_type_that_a_column_does_not_have_is_found(request_: str) -> None:
    found = conflicts(request_, {"t": TYPES})
    assert found and all(one.startswith("The request says that") for one in found)


@each("request_", NO_CLAIMS)
def test_words_beside_a_column_that_claim_nothing_are_no_conflict(request_: str) -> None:
    assert conflicts(request_, {"t": TYPES}) == ()


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
