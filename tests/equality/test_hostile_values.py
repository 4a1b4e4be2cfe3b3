"""Values of a worker are compared in linear time, and other threads of the notebook continue."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.engine.difference_words import changes, expectation
from autocoder_jupyter.engine.evidence.comparison import compared_outputs
from autocoder_jupyter.equality import EXAMPLE, compare
from tests.deadline import at_most
from tests.readers.watch import LONGEST, Watch, require_short

SECONDS = 16
"""Processor time for two values of a few megabytes. Work in quadratic time would take minutes."""

COUNT = 200_000

VALUES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "lists of numbers": lambda: ([0.5] * COUNT, [0.7] * COUNT),
    "lists in lists": lambda: ([[0]] * COUNT, [[1]] * COUNT),
    "dicts with other keys": lambda: ({str(n): n for n in range(COUNT)}, {str(n): n for n in range(1, COUNT)}),
    "sets": lambda: (set(range(COUNT)), set(range(1, COUNT))),
    "columns of texts": lambda: (pd.DataFrame({"a": ["x"] * COUNT}), pd.DataFrame({"a": ["y"] * COUNT})),
    "columns of objects": lambda: (_objects(None), _objects(1)),
    "columns of categories": lambda: (_categories(0), _categories(1)),
    "columns of two dtypes": lambda: (pd.DataFrame({"a": _hours()}), pd.DataFrame({"a": _hours().astype(object)})),
    "columns with labels of many levels": lambda: (_many_columns(), _many_columns()),
    "many columns": lambda: (pd.DataFrame(np.zeros((1, 4_000))), pd.DataFrame(np.ones((1, 4_000)))),
    "indexes": lambda: (_indexed(0), _indexed(1)),
    "arrays": lambda: (np.zeros(10 * COUNT, "int8"), np.ones(10 * COUNT, "int8")),
    "a text": lambda: ("a" * 20 * COUNT, "b" * 20 * COUNT),
    "a whole number": lambda: (1 << 40_000_000, (1 << 40_000_000) + 1),
}


def _objects(value: object) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series([value] * COUNT, dtype=object)})


def _categories(code: int) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Categorical.from_codes([code] * COUNT, pd.Index(["x", "y"]))})


def _hours() -> pd.Series[Any]:
    return pd.Series(pd.date_range("2024-01-01", periods=COUNT // 4, freq="h"))


def _many_columns() -> pd.DataFrame:
    labels = pd.MultiIndex.from_tuples([(float(n), n) for n in range(6_000)])
    return pd.DataFrame(np.zeros((1, 6_000)), columns=labels)


def _indexed(first: int) -> pd.DataFrame:
    numbers = np.arange(first, first + COUNT)
    return pd.DataFrame({"v": 1}, index=pd.MultiIndex.from_arrays([numbers, numbers]))


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_other_threads_continue_while_values_are_compared_and_described(name: str) -> None:
    one, other = VALUES[name]()
    gc.collect()
    gc.freeze()  # the collector would visit the values again and again

    def read() -> float:
        with Watch() as watch, at_most(SECONDS):
            lines = changes(compare(one, other), show_values=True)
            told = expectation(compare(one, other, EXAMPLE), show_values=True)
        assert max(map(len, (*lines, told)), default=0) < 1000
        return watch.longest

    require_short(read, LONGEST / 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_other_threads_continue_while_two_solutions_are_compared(name: str) -> None:
    one, other = VALUES[name]()
    gc.collect()
    gc.freeze()

    def read() -> float:
        with Watch() as watch, at_most(2 * SECONDS):
            compared_outputs({"out": one}, {"out": other}, [("out", "out")])
        return watch.longest

    require_short(read, LONGEST / 2)


def test_rows_that_only_one_solution_has_are_found_in_linear_time() -> None:
    def seconds(rows: int) -> float:
        one = pd.DataFrame({"k": [f"a{n}" for n in range(rows)], "v": range(rows)})
        other = pd.DataFrame({"k": [f"a{n + rows // 2}" for n in range(rows)], "v": range(rows)})
        begun = time.process_time()
        (place, _) = compared_outputs({"out": one}, {"out": other}, [("out", "out")]).places
        assert place.count == rows
        return time.process_time() - begun

    seconds(1_000)  # imports
    few, many = (min(seconds(rows) for _ in range(3)) for rows in (4_000, 32_000))
    assert many < 24 * few  # eight times the rows; in quadratic time it would be 64 times as long


@pytest.mark.parametrize("value", [[[[[[1]]]]], {"a": {"b": {"c": {"d": 1}}}}, {1, 2}, frozenset((1,)), b"x" * 9999])
def test_values_of_any_depth_are_described_in_a_short_line(value: Any) -> None:
    (line,) = changes(compare(value, 3), show_values=True)
    assert len(line) < 60
    assert len(expectation(compare(value, 3, EXAMPLE), show_values=True)) < 200
