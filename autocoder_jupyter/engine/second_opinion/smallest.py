"""Finds a small input on which two solutions still differ: removes rows, then replaces values by simpler ones.

Removing halves, then quarters, then single rows is the idea of delta debugging (Zeller and Hildebrandt, 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.second_opinion.made_up import Form, forms
from autocoder_jupyter.engine.second_opinion.variations import Tables, taken

Differs = Callable[[Tables], bool]

Change = Callable[[Any, int], Any]
"""Makes a simpler value from a value and its rank."""

TRIALS = 300
"""The maximum number of runs of both solutions to find it."""


def smallest(
    tables: Mapping[str, Any],
    differs: Differs,
    trials: int = TRIALS,
    has_time: Callable[[], bool] = lambda: True,
) -> Tables:
    """The input with the fewest rows that were found. If `tables` differs, so does the result.

    Args:
        tables: an input on which they differ.
        differs: whether they differ on another one.
        trials: how often that may be asked.
        has_time: whether the search may go on.
    """
    left = [trials]

    def tried(candidate: Tables) -> bool:
        left[0] -= 1
        return differs(candidate)

    kept = dict(tables)
    for name in sorted(kept, key=lambda name: -len(kept[name])):
        kept = _fewer_rows(kept, name, tried, lambda: left[0] > 0 and has_time())
    return kept


def _fewer_rows(tables: Tables, name: str, differs: Differs, goes_on: Callable[[], bool]) -> Tables:
    part = max(1, len(tables[name]) // 2)
    while goes_on():
        start, shrunk = 0, False
        while start < (count := len(tables[name])) and goes_on():
            rest = np.r_[0:start, min(start + part, count) : count].astype(int)
            candidate = {**tables, name: taken(tables[name], rest)}
            if differs(candidate):
                tables, shrunk = candidate, True
            else:
                start += part
        if part == 1 and not shrunk:
            break
        part = max(1, part // 2)
    return tables


def simplified(tables: Tables, differs: Differs, has_time: Callable[[], bool] = lambda: True) -> Tables:
    """The same input with made-up values, as far as the two still differ. Columns in which they would agree then keep
    values of the data.
    """
    for name in tables:
        for place in range(1 if isinstance(tables[name], pd.Series) else tables[name].shape[1]):
            column = _column(tables[name], place)
            for values in _simpler(column):
                if not has_time():
                    return tables
                candidate = {**tables, name: _replaced(tables[name], place, values)}
                if values.dtype == column.dtype and differs(candidate):
                    tables = candidate
                    break
    return tables


def _column(table: Any, place: int) -> Any:
    return table if isinstance(table, pd.Series) else table.iloc[:, place]


def _replaced(table: Any, place: int, values: Any) -> Any:
    if isinstance(table, pd.Series):
        return values
    copy = table.copy()
    copy.isetitem(place, values)
    return copy


def _simpler(column: Any) -> Iterator[Any]:
    """The column with simpler values, the simplest first: made-up ones, then those of the data that are changed."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return  # contains no value of the data
    for change in (*map(_by_rank, forms(column.dtype)), *_taken_over(column)):
        yield from _changed(column, change)


def _by_rank(form: Form) -> Change:
    return lambda _, rank: form(rank)


def _taken_over(column: Any) -> list[Change]:
    """Functions that make the data's values simpler: rounded numbers, and times that are moved to 2024."""
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        return [lambda value, _: round(value)] if pd.api.types.is_numeric_dtype(column.dtype) else []
    first = pd.Timestamp("2024-01-01", tz=column.dt.tz)
    earliest = column.min()
    if pd.isna(earliest):
        return []
    weeks = (first - earliest) // pd.Timedelta(days=7)
    years = 2024 - earliest.year
    return [
        lambda value, _: value.floor("D") + pd.Timedelta(days=7) * weeks,
        lambda value, _: value.floor("min") + pd.Timedelta(days=7) * weeks,
        lambda value, _: value.floor("D") + pd.DateOffset(years=years),
    ]


def _changed(column: Any, change: Change) -> Iterator[Any]:
    """The column with each value replaced by a function of the value and its rank; yields nothing if that fails."""
    try:
        ordered = sorted({value for value in column if not pd.isna(value)})
        place = {value: rank for rank, value in enumerate(ordered)}
        values = [None if pd.isna(value) else change(value, place[value]) for value in column]
        yield pd.Series(values, index=column.index, name=column.name).astype(column.dtype)
    except (TypeError, ValueError, OverflowError, KeyError):
        return  # values that cannot be sorted, or a dtype (such as categories) that cannot hold others
