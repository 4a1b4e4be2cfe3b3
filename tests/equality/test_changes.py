"""Differences between two values, as sentences. Differences that come only from rounding are not reported."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.engine.difference_words import MOST_LINES, changes
from autocoder_jupyter.equality import compare
from autocoder_jupyter.types import Figure
from tests.cases import each


def differences(before: Any, now: Any, *, show_values: bool) -> tuple[str, ...]:
    return changes(compare(before, now), show_values=show_values)


FRAME = pd.DataFrame({"month": pd.to_datetime(["2024-01-01", "2024-02-01"]), "revenue": [0.3, None], "orders": [1, 2]})


@each(
    ("now", "told"),
    [
        (FRAME.copy(), ()),
        (FRAME.assign(revenue=[0.1 + 0.2, None]), ()),  # type: ignore[list-item]
        (FRAME.assign(revenue=[0.3, 2.0]), ("revenue: 1 of 2 values differ, first in row 1: nan → 2",)),
        (FRAME.head(1), ("2 → 1 rows",)),
        (FRAME.drop(columns="orders").assign(region="N"), ("new column region", "no more column orders")),
        (FRAME[["revenue", "month", "orders"]], ("another order of columns",)),
        (FRAME.astype({"orders": "float64"}), ("orders: int64 → float64",)),
    ],
)
def test_frames(now: Any, told: tuple[Any, ...] | tuple[str, ...]) -> None:
    assert differences(FRAME, now, show_values=True) == told


@each(
    ("before", "now", "told"),
    [
        ("2024-03", "2024-04", ("2024-03 → 2024-04",)),
        (float("nan"), float("nan"), ()),
        (1, 1.5, ("an int → a float",)),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, ("new c", "no more a", "b: 2 → 3")),
        ([1, 2], [1], ("2 → 1 elements",)),
        (pd.Series([1, 2]), pd.Series([1, 3]), ("values: 1 of 2 values differ, first in row 1: 2 → 3",)),
        (Figure(b"a", 1, 1), Figure(b"b", 1, 1), ("another picture",)),
    ],
)
def test_other_values(before: Any, now: Any, told: tuple[Any, ...] | tuple[str, ...]) -> None:
    assert differences(before, now, show_values=True) == told


def test_values_are_told_only_where_they_may_be_and_long_ones_are_cut() -> None:
    changed = FRAME.assign(revenue=[7.0, None])  # type: ignore[list-item]
    assert differences(FRAME, changed, show_values=False) == ("revenue: 1 of 2 values differ",)
    assert differences("secret", "other", show_values=False) == ("another value",)
    assert max(map(len, differences("a" * 9999, "b" * 9999, show_values=True))) < 200
    wide = pd.DataFrame({f"c{number}": [number] for number in range(40)})
    lines = differences(wide, wide + 1, show_values=True)
    assert len(lines) == MOST_LINES + 1 and lines[-1] == "and 34 more"


def test_integers_of_any_length_are_told_by_their_length() -> None:
    assert differences({"n": 10**5000}, {"n": 1}, show_values=True) == ("n: 10000000000000000000… (5,001 digits) → 1",)


@each(
    ("before", "now", "told", "withheld"),
    [
        pytest.param(
            FRAME,
            FRAME.set_axis(["a", "b"]),
            "the index: 2 of 2 values differ, first in row 0: 0 → a",
            None,
            id="index",
        ),
        pytest.param(
            pd.DataFrame([[1, 2.5]], columns=["a", "a"]),
            pd.DataFrame([[1, 3.5]], columns=["a", "a"]),
            "a: 1 of 1 values differ, first in row 0: 2.5 → 3.5",
            "a: 1 of 1 values differ",
            id="a column twice",
        ),
        pytest.param({"Ann": {"n": 1}}, {"Ann": {"n": 2}}, "Ann.n: 1 → 2", "a key.a key: another value", id="nested"),
        pytest.param({}, {"Ann": 1}, "new Ann", "1 new key", id="keys"),
        pytest.param(
            [1, 2, 3],
            [1, 5, 3],
            "1 of 3 elements differ, first in element 1: 2 → 5",
            "1 of 3 elements differ",
            id="list",
        ),
        pytest.param(1234567.1, 1234567.4, "1234567.1 → 1234567.4", "another value", id="numbers that look the same"),
        pytest.param(10**5000, 1, "10000000000000000000… (5,001 digits) → 1", "another value", id="a long int"),
    ],
)
def test_parts_of_a_value_are_named(before: Any, now: Any, told: str, withheld: str | None) -> None:
    assert told in differences(before, now, show_values=True)
    if withheld is not None:
        assert differences(before, now, show_values=False) == (withheld,)
