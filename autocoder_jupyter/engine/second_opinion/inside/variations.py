"""Variations of a sample: the same columns and dtypes, other rows. Seeded, so that they are the same every time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

ROWS = 1000
"""Rows of the largest table that a variation is made from, at most."""

SEED = 20240229

GROUPS = 3
"""Columns of which one group alone is tried."""


def variations(tables: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each variation with its name in words.

    Args:
        tables: DataFrames and Series by input name. Rows are added and taken away in the largest; all are shuffled.
    """
    base = {name: trimmed(table) for name, table in tables.items()}
    main = max(base, key=lambda name: len(base[name]), default="")
    count = len(base[main]) if main else 0
    if not count:
        return
    random = np.random.default_rng(SEED)
    yield "with shuffled rows", {name: taken(table, random.permutation(len(table))) for name, table in base.items()}

    def with_rows(positions: Any) -> dict[str, Any]:
        return {**base, main: taken(base[main], positions)}

    if count > 1:
        yield "with half of the rows", with_rows(np.sort(random.permutation(count)[: (count + 1) // 2]))
    repeated = random.permutation(count)[: max(1, count // 5)]
    yield "with doubled rows", with_rows(np.sort(np.concatenate([np.arange(count), repeated])))
    if count > 4:
        yield "with a stretch left out", with_rows(np.r_[0 : 2 * count // 5, 3 * count // 5 : count])
    holes = _with_holes(base[main], random)
    if holes is not None:
        yield "with missing values", {**base, main: holes}
    for column, value in _groups(base[main]):
        rows = np.flatnonzero((base[main][column] == value).to_numpy(dtype=bool, na_value=False))
        yield f"with one {column} only", with_rows(rows)


def trimmed(table: Any, rows: int = ROWS) -> Any:
    """A table of at most so many rows, taken evenly from all of it."""
    if len(table) <= rows:
        return table
    return taken(table, np.unique(np.linspace(0, len(table) - 1, rows).astype(int)))


def taken(table: Any, positions: Any) -> Any:
    """Rows of a table by their places. Labels that only count the rows are counted anew."""
    part = table.iloc[positions]
    return part.reset_index(drop=True) if isinstance(table.index, pd.RangeIndex) else part


def _with_holes(table: Any, random: Any) -> Any:
    """A tenth of the values missing in each column whose dtype can hold that; None when none can."""
    frame: Any = table.to_frame() if isinstance(table, pd.Series) else table.copy()
    changed = False
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place].copy()
        rows = random.permutation(len(column))[: max(1, len(column) // 10)]
        if column.dtype.kind in "iub" and not pd.api.types.is_extension_array_dtype(column.dtype):
            continue  # an integer has no missing value, and the dtype must stay
        dtype = column.dtype
        column.iloc[rows] = None
        if column.dtype == dtype:
            frame.isetitem(place, column)
            changed = True
    if not changed:
        return None
    return frame.iloc[:, 0] if isinstance(table, pd.Series) else frame


def _groups(table: Any) -> Iterator[tuple[Any, Any]]:
    """Columns of few values, each with its most common one."""
    if isinstance(table, pd.Series):
        return
    found = 0
    for column in table.columns:
        values = table[column]
        if not isinstance(values, pd.Series) or values.dtype.kind in "fcmM" or values.map(_is_nested).any():
            continue
        counts = values.value_counts(dropna=True)
        if 2 <= len(counts[counts > 0]) <= 50 and found < GROUPS:
            found += 1
            yield column, counts.index[0]


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | dict | set | tuple | np.ndarray)
