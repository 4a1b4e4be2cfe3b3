"""Finds a small input on which two solutions still differ: removes rows, then replaces values by simpler ones.

Removing halves, then quarters, then single rows is the idea of delta debugging (Zeller and Hildebrandt, 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.second_opinion.inside.variations import taken

Tables = dict[str, Any]
Differs = Callable[[Tables], bool]

TRIALS = 300
"""The maximum number of runs of both solutions to find it."""


def smallest(tables: Mapping[str, Any], differs: Differs, trials: int = TRIALS) -> Tables:
    """The input with the fewest rows that were found in this many trials. If `tables` differs, so does the result."""
    left = [trials]

    def tried(candidate: Tables) -> bool:
        left[0] -= 1
        return left[0] >= 0 and differs(candidate)

    kept = dict(tables)
    for name in sorted(kept, key=lambda name: -len(kept[name])):
        kept = _fewer_rows(kept, name, tried)
    return kept


def _fewer_rows(tables: Tables, name: str, differs: Differs) -> Tables:
    part = max(1, len(tables[name]) // 2)
    while True:
        start, shrunk = 0, False
        while start < (count := len(tables[name])):
            rest = np.r_[0:start, min(start + part, count) : count].astype(int)
            candidate = {**tables, name: taken(tables[name], rest)}
            if differs(candidate):
                tables, shrunk = candidate, True
            else:
                start += part
        if part == 1 and not shrunk:
            return tables
        part = max(1, part // 2)


def simplified(tables: Tables, differs: Differs) -> tuple[Tables, tuple[str, ...]]:
    """The same input with synthetic values, as far as the two still differ.

    Returns:
        The tables, and the columns whose values still come from the data (`sales.region`), because with synthetic ones
        the solutions would agree.
    """
    own = []
    for name in tables:
        for place, label in enumerate(_names(tables[name])):
            column = _column(tables[name], place)
            made_up = column.isna().all()
            for values, whether in _simpler(column):
                candidate = {**tables, name: _replaced(tables[name], place, values)}
                if values.dtype == column.dtype and differs(candidate):
                    tables, made_up = candidate, whether
                    break
            if not made_up:
                own.append(f"{name}.{label}")
    return tables, tuple(own)


def _names(table: Any) -> list[str]:
    return [str(table.name)] if isinstance(table, pd.Series) else [str(column) for column in table.columns]


def _column(table: Any, place: int) -> Any:
    return table if isinstance(table, pd.Series) else table.iloc[:, place]


def _replaced(table: Any, place: int, values: Any) -> Any:
    if isinstance(table, pd.Series):
        return values
    copy = table.copy()
    copy.isetitem(place, values)
    return copy


def _simpler(column: Any) -> Iterator[tuple[Any, bool]]:
    """The column with simpler values, the simplest first, each with whether it has no value of the data left."""
    made_up: list[Callable[[Any, int], Any]]
    taken_over: list[Callable[[Any, int], Any]] = []
    if pd.api.types.is_bool_dtype(column.dtype):
        yield column, True  # contains no value of the data
        return
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        made_up, taken_over = _times(column)
    elif pd.api.types.is_numeric_dtype(column.dtype):
        made_up = [lambda _, rank: 1, lambda _, rank: rank + 1, lambda _, rank: 10 * (rank + 1)]
        taken_over = [lambda value, _: round(value)]
    elif pd.api.types.is_timedelta64_dtype(column.dtype):
        made_up = [lambda _, rank: pd.Timedelta(days=rank + 1)]
    else:
        made_up = [lambda _, rank: "a", lambda _, rank: chr(97 + rank) if rank < 26 else f"a{rank}"]
    for changes, whether in ((made_up, True), (taken_over, False)):
        for change in changes:
            for values in _changed(column, change):
                yield values, whether


def _times(column: Any) -> tuple[list[Callable[[Any, int], Any]], list[Callable[[Any, int], Any]]]:
    """Functions for synthetic days and months in the same order; then for the original times, moved to 2024."""
    first = pd.Timestamp("2024-01-01", tz=column.dt.tz)
    earliest = column.min()
    made_up: list[Callable[[Any, int], Any]] = [
        lambda _, rank: first + pd.Timedelta(days=rank),
        lambda _, rank: first + pd.DateOffset(months=rank),
        lambda _, rank: first + pd.DateOffset(years=rank),
    ]
    if pd.isna(earliest):
        return made_up, []
    weeks = (first - earliest) // pd.Timedelta(days=7)
    years = 2024 - earliest.year
    return made_up, [
        lambda value, _: value.floor("D") + pd.Timedelta(days=7) * weeks,
        lambda value, _: value.floor("min") + pd.Timedelta(days=7) * weeks,
        lambda value, _: value.floor("D") + pd.DateOffset(years=years),
    ]


def _changed(column: Any, change: Callable[[Any, int], Any]) -> Iterator[Any]:
    """The column with each value replaced by a function of the value and its rank; yields nothing if that fails."""
    try:
        ordered = sorted({value for value in column if not pd.isna(value)})
        place = {value: rank for rank, value in enumerate(ordered)}
        values = [None if pd.isna(value) else change(value, place[value]) for value in column]
        yield pd.Series(values, index=column.index, name=column.name).astype(column.dtype)
    except (TypeError, ValueError, OverflowError, KeyError):
        return  # values that cannot be sorted, or a dtype (such as categories) that cannot hold others
