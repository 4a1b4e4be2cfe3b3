"""Variations of a sample: the same columns and dtypes, other rows. The seed is fixed, so they are reproducible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

ROWS = 1000
"""The maximum number of rows of the largest table from which variations are made."""

SEED = 20240229

NAMES = (
    "with shuffled rows",
    "with half of the rows",
    "with doubled rows",
    "with a stretch left out",
    "with missing values",
)
"""The variations whose names have no name of a column."""

GROUPS = 3
"""The maximum number of columns for which a variation with only one group is made."""


def variations(tables: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The variations with their names as text.

    Args:
        tables: DataFrames and Series by input name. Rows are added and removed in the largest; all are shuffled.
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
    """A table with at most this many rows, evenly spaced."""
    if len(table) <= rows:
        return table
    return taken(table, np.unique(np.linspace(0, len(table) - 1, rows).astype(int)))


def taken(table: Any, positions: Any) -> Any:
    """Rows of a table by position. A default index is numbered again."""
    part = table.iloc[positions]
    return part.reset_index(drop=True) if isinstance(table.index, pd.RangeIndex) else part


def _with_holes(table: Any, random: Any) -> Any:
    """The table with a tenth of the values missing in each column whose dtype allows it; None if no dtype does."""
    frame: Any = table.to_frame() if isinstance(table, pd.Series) else table.copy()
    changed = False
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place].copy()
        rows = random.permutation(len(column))[: max(1, len(column) // 10)]
        if column.dtype.kind in "iub" and not pd.api.types.is_extension_array_dtype(column.dtype):
            continue  # an integer dtype has no missing values, and the dtype must not change
        dtype = column.dtype
        column.iloc[rows] = None
        if column.dtype == dtype:
            frame.isetitem(place, column)
            changed = True
    if not changed:
        return None
    return frame.iloc[:, 0] if isinstance(table, pd.Series) else frame


def _groups(table: Any) -> Iterator[tuple[Any, Any]]:
    """Columns with few distinct values, each with its most common value."""
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
