"""The fewest rows that fail, and where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autocoder_jupyter.scaling.narrowing import MOST_TRIES, MOST_WORK, Stretch, fewest_rows, rows_in_words, where_in


class Fails:
    """Whether all of some rows are there; counts what was tried."""

    def __init__(self, *needed: int) -> None:
        self.needed = set(needed)
        self.sizes: list[int] = []

    def __call__(self, rows: Any) -> bool:
        self.sizes.append(len(rows))
        assert (np.diff(rows) > 0).all()  # a piece keeps its order
        return self.needed <= set(rows.tolist())


@pytest.mark.parametrize("row", [0, 1, 499_999, 999_999])
def test_one_row_of_a_million_is_found_in_few_calls(row: int) -> None:
    fails = Fails(row)
    rows, how = fewest_rows(np.arange(1_000_000), None, fails)
    assert rows.tolist() == [row]
    assert len(fails.sizes) <= 42 and how == f"found in {len(fails.sizes)} calls"


def test_rows_that_fail_only_together_are_both_found() -> None:
    rows, how = fewest_rows(np.arange(1_000), None, Fails(3, 700))
    assert rows.tolist() == [3, 700] and how.startswith("found in")


def test_the_calls_and_their_rows_are_bounded_and_the_words_say_so() -> None:
    fails = Fails(*range(0, 10_000, 7))
    rows, how = fewest_rows(np.arange(10_000), None, fails)
    assert fails.needed <= set(rows.tolist())
    assert len(fails.sizes) <= MOST_TRIES and sum(fails.sizes) <= MOST_WORK * 10_000
    assert how == f"fewer were not tried after {len(fails.sizes)} calls"


def test_groups_are_tried_whole_before_their_rows() -> None:
    groups = np.arange(1_000) % 10
    tried: list[Any] = []

    def fails(rows: Any) -> bool:
        tried.append(rows)
        return 33 in rows

    rows, _ = fewest_rows(np.arange(1_000), groups, fails)
    assert rows.tolist() == [33]
    assert np.bincount(groups[tried[0]]).tolist()[:5] == [100] * 5


def test_rows_are_named_by_their_files() -> None:
    stretches = [Stretch("a.parquet", 900, 100), Stretch("b.parquet", 0, 50)]
    assert where_in(stretches, [99]) == "a.parquet, row 999"
    assert where_in(stretches, [98, 99, 100, 149]) == "a.parquet, rows 998 to 999; b.parquet, rows 0, 49"
    assert where_in([Stretch("", 5_000, 10)], [3]) == "row 5,003"


def test_many_rows_are_counted() -> None:
    assert rows_in_words(range(0, 40, 2)) == "rows 0, 2, 4, 6, 8 and 15 more"
