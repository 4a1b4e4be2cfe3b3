"""Differences are described by values, independent of their dtype."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.engine.difference_words import expectation
from autocoder_jupyter.equality import EXAMPLE, compare, is_comparable
from tests.cases import each


def difference(found: Any, expected: Any, *, show_values: bool) -> str:
    return expectation(compare(found, expected, EXAMPLE), show_values=show_values)


FRAME = pd.DataFrame({"month": ["a", "b"], "revenue": [1.0, 2.0]})


@each(
    ("found", "expected"),
    [
        pytest.param(0.1 + 0.2, 0.3, id="rounding"),
        pytest.param(3.0, 3, id="an int for a float"),
        pytest.param(np.float64(2), 2, id="numpy"),
        pytest.param(math.nan, None, id="missing"),
        pytest.param([1, {"a": [2.0, None]}], (1, {"a": (2, pd.NA)}), id="nested"),
        pytest.param(dt.datetime(2024, 1, 1), dt.date(2024, 1, 1), id="a day"),
        pytest.param(FRAME, FRAME[["revenue", "month"]], id="order of columns"),
        pytest.param(FRAME, FRAME.astype({"revenue": "int64", "month": "category"}), id="dtypes"),
        pytest.param(FRAME, FRAME.set_axis([7, 9]), id="rows of a larger frame"),
        pytest.param(FRAME, FRAME.set_index("month"), id="a named index that came as a column"),
        pytest.param(pd.Series([1, 2]), pd.Series([1.0, 2.0], name="x"), id="series"),
        pytest.param(FRAME.head(0), FRAME.head(0), id="empty"),
    ],
)
def test_equal_values_agree(found: Any, expected: Any) -> None:
    assert is_comparable(expected) and difference(found, expected, show_values=True) == ""


@each(
    ("found", "expected", "shown", "withheld"),
    [
        pytest.param(3, 4, "it is 3, expected 4", "a value differs", id="number"),
        pytest.param(True, 1, "it is True, expected 1", "a value differs", id="bool and int"),
        pytest.param("a", "b", "it is 'a', expected 'b'", "a value differs", id="text"),
        pytest.param({"a": [1, 2]}, {"a": [1, 3]}, "at ['a'][1]: it is 2, expected 3", "a value differs", id="nested"),
        pytest.param([1], [1, 2], "it is [1], expected [1, 2]", "a value differs", id="length"),
        pytest.param(
            FRAME.assign(revenue=[1.0, 5.0]),
            FRAME,
            "column 'revenue', row 1: 5.0, expected 2.0",
            "column 'revenue', row 1 differs",
            id="a cell",
        ),
        pytest.param(FRAME.head(1), FRAME, "it has 1 row, expected 2", "it has 1 row, expected 2", id="rows"),
        pytest.param(
            FRAME.rename(columns={"revenue": "Ann"}),
            FRAME,
            "it comes without the column 'revenue' and with the column 'Ann', which was not expected",
            "it comes without a column and with a column, which was not expected",
            id="columns",
        ),
        pytest.param(3, FRAME, "it is a int, expected a DataFrame", "it is a int, expected a DataFrame", id="kind"),
        pytest.param(
            FRAME.set_index("month"),
            FRAME.set_index(pd.Index(["a", "c"], name="month"))[["revenue"]],
            "the index, row 1: 'b', expected 'c'",
            "the index, row 1 differs",
            id="index",
        ),
        pytest.param(
            pd.DataFrame({"x": range(9)}),
            pd.DataFrame({"x": range(1, 10)}),
            "column 'x', row 0: 0, expected 1; column 'x', row 1: 1, expected 2; column 'x', row 2: 2, expected 3; "
            "and 6 more cells differ",
            None,
            id="many cells",
        ),
    ],
)
def test_what_differs_is_said_with_its_place_and_without_its_values_where_these_are_withheld(
    found: Any, expected: Any, shown: str, withheld: str | None
) -> None:
    assert difference(found, expected, show_values=True) == shown
    if withheld is not None:
        assert difference(found, expected, show_values=False) == withheld


def test_what_has_no_values_cannot_be_expected() -> None:
    assert not is_comparable(object()) and not is_comparable([{"a": print}])


def test_integers_of_any_length_are_compared_and_told_by_their_length() -> None:
    told = difference({"n": [10**5000]}, {"n": [1]}, show_values=True)
    assert "(5,001 digits), expected 1" in told
    assert difference(10**5000, 10**5000, show_values=True) == "" and difference(10**5000, 0.5, show_values=True)


def test_of_several_values_in_a_dict_the_first_that_differs_is_described_and_the_others_are_counted() -> None:
    found = {"a": FRAME.assign(revenue=[1.0, 5.0]), "b": [1, 2], "c": pd.Series([1, 2])}
    expected = {"a": FRAME, "b": [1, 3], "c": pd.Series([2, 3])}
    told = difference(found, expected, show_values=True)
    assert told == "at ['a']: column 'revenue', row 1: 5.0, expected 2.0; and 3 more cells differ"
    assert difference({"c": found["c"]}, {"c": expected["c"]}, show_values=True).startswith("at ['c']: row 0: 1, ex")


def test_the_place_in_a_deep_value_is_cut() -> None:
    found, expected = 1, 2
    for _ in range(60):
        found, expected = {"k" * 99: found}, {"k" * 99: expected}  # type: ignore[assignment]
    told = difference(found, expected, show_values=True)
    assert len(told) < 250 and told.endswith("…: it is 1, expected 2")
