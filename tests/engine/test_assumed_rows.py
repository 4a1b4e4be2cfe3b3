"""How many rows an assumption leaves out: only where its words leave no doubt."""

from __future__ import annotations

import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence.assumed_rows import rows_left_out
from autocoder_jupyter.types import RowStep

SALES = pd.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "status": ["paid", "open", "paid", "open"],
        "country": ["CH", "DE", None, "AT"],
        "amount": [1.0, 2.0, 3.0, 4.0],
        "product": ["a", "b", "", "c"],
        "order date": ["2024-01-01"] * 4,
    }
)
STORES = pd.DataFrame({"store": ["a", "b"], "city": ["A", "B"]})


def step(reason: str, rows: int, table: str = "", **more: bool) -> RowStep:
    return RowStep(line=6, table=table, before=1_000, after=1_000 - rows, reason=reason, **more)


STEPS = (
    step("with status cancelled", 118),
    step("where country is missing", 64),
    step("with an unreadable date", 57),
    step("where date is missing", 3),
    step("where quantity is missing", 5),
    step("where price is missing", 6),
    step("with a repeated order_id and line", 9),
    step("that match no row of stores", 12),
    step("where region is missing", 7, of_groups=True),
)

CERTAIN = {
    "Orders without a country are left out.": 64,
    "rows whose country is missing are dropped": 64,
    "Rows with a missing `country` are ignored.": 64,
    "Cancelled orders are left out.": 118,
    "Orders with status 'cancelled' do not count.": 118,
    "Orders with an unreadable date are left out.": 57,
    "Orders with a missing or unreadable date are left out.": 60,
    "Orders whose date is missing are left out.": 3,
    "An order with a missing quantity or price is left out.": 11,
    "Rows with a repeated order_id and line are dropped.": 9,
    "Orders that are not in stores are left out.": 12,
    # the sample has no such row
    "Orders without an amount are left out.": 0,
    "Rows with a duplicate id are dropped.": 0,
    "Orders with a missing amount or id are left out.": 0,
}

DOUBTFUL = [
    "Orders without a country are kept.",
    "Orders without a country are left out of the mean.",
    "Orders without a country are not left out.",
    "Orders without a country are left out; they are rare.",
    "If orders have no country, they are left out.",
    "Only orders without a country are left out of total.",
    "Online orders abroad without a country are left out.",  # fewer rows than those of the step
    "Orders without a country or an amount are left out.",  # one of them has no step
    "Orders without a quantity are left out.x",
    "Cancelled online orders abroad are left out.",
    "Orders that are not cancelled are left out.",
    "Orders of a cancelled country are left out.",  # it names another column
    "Rows with a repeated order_id are dropped.",  # of the step it is one column of two
    "Orders that are not in shops are left out.",
    "Orders without a product are left out.",  # an empty text may be none
    "Orders without a customer are left out.",  # no column
    "Orders without a region are left out.",  # groups
    "Orders without a store are left out; see above.",
    "A missing status is no warning.",
    "A missing country counts as Switzerland.",
    "Orders with an unreadable amount are left out.",
    "x" * 300 + " without a country are left out.",
    "",
]


@pytest.mark.parametrize("text", CERTAIN)
def test_what_a_plain_sentence_says_has_the_rows_of_its_steps(text: str) -> None:
    assert rows_left_out([text], STEPS, {"sales": SALES, "stores": STORES}) == {text: CERTAIN[text]}


@pytest.mark.parametrize("text", DOUBTFUL)
def test_of_any_other_sentence_nothing_is_said(text: str) -> None:
    assert rows_left_out([text], STEPS, {"sales": SALES, "stores": STORES}) == {}


def test_two_tables_with_the_same_column_are_not_told_apart() -> None:
    text = "Orders without a country are left out."
    steps = (step("where country is missing", 64, "sales"), step("where country is missing", 2, "stores"))
    assert rows_left_out([text], steps, {}) == {}
    assert rows_left_out([text], (), {"sales": SALES.dropna(), "stores": SALES.dropna()}) == {}
