"""Small parts of a sample, and a sample several times as large. The seed is fixed, so they are reproducible."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.second_opinion.variations import (
    SEED,
    Profile,
    Tables,
    Variation,
    main_table,
    trimmed_tables,
    with_rows,
)
from autocoder_jupyter.untrusted.parsing import parse

FEWEST, MOST = 3, 20
"""The numbers of rows of a small part."""

TIMES = 3
"""How many times as large the sample is made, at least."""

LARGEST = 20_000
"""The maximum number of rows of a table that was made larger."""


def small_parts(tables: Mapping[str, Any], count: int) -> Iterator[Tables]:
    """Random rows of the largest table, in their order, with the rows of other tables that match them.

    Args:
        tables: DataFrames and Series by input name.
        count: how many parts.
    """
    base = trimmed_tables(tables)
    name = main_table(base)
    rows = len(base[name]) if name else 0
    if rows <= FEWEST:
        return
    random = np.random.default_rng(SEED)
    for _ in range(count):
        size = int(random.integers(FEWEST, min(MOST, rows - 1) + 1))
        yield with_rows(base, name, np.sort(random.choice(rows, size, replace=False)))


def larger(tables: Mapping[str, Any], more_than: int = 0) -> Variation | None:
    """The sample with its largest table several times as large; None if that cannot be made.

    The times of the rows that are added are later, and their keys are new, so that they are rows as the sample could
    have.

    Args:
        tables: DataFrames and Series by input name.
        more_than: it has more rows than this, if that is possible.
    """
    base = trimmed_tables(tables)
    name = main_table(base)
    table = base[name] if name else None
    if not isinstance(table, pd.DataFrame) or table.empty or not isinstance(table.index, pd.RangeIndex):
        return None
    times = max(TIMES, min(more_than + 1, LARGEST) // len(table) + 1)
    profile = Profile.of(tables[name])
    others = {
        column for other, one in base.items() if other != name and isinstance(one, pd.DataFrame) for column in one
    }
    pieces, is_new = [table], profile.has_twins
    for number in range(1, times):
        moved, changed = _moved(table, profile, number)
        pieces.append(moved)
        is_new = is_new or changed
    is_new = is_new and not any(table.columns[place] in others for place in profile.keys)
    what = "with many times as many rows" if times > TIMES else "with three times as many rows"
    of = "" if len(base) == 1 else f" of {name}"
    whole = pd.concat(pieces, ignore_index=True)
    if not whole.dtypes.equals(table.dtypes):
        return None
    return Variation(f"{what}{of}" if is_new else f"if all rows{of} came {times} times", {**base, name: whole})


def largest_number(*codes: str) -> int:
    """The largest whole number in these modules that is at most `LARGEST`; 0 if there is none."""
    numbers = (
        node.value
        for code in codes
        for node in ast.walk(parse(code))
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value <= LARGEST
    )
    return max(numbers, default=0)


def _moved(table: Any, profile: Profile, number: int) -> tuple[Any, bool]:
    """A copy of the table whose times and keys do not occur in it, and whether something in it is new."""
    frame, changed = table.copy(), False
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        new = _later(column, number) if column.dtype.kind == "M" else None
        if place in profile.keys and column.dtype.kind == "i":
            new = column + number * int(column.max() - column.min() + 1)
        elif place in profile.keys and pd.api.types.is_string_dtype(column.dtype):
            new = (column + f"-{number}").astype(column.dtype)
        if new is not None:
            frame.isetitem(place, new)
            changed = True
    return frame, changed


def _later(column: Any, number: int) -> Any:
    """Times after all of the column's, or before all if the rows are sorted from late to early."""
    if column.isna().all():
        return None
    span = (column.max() - column.min()).ceil("D") + pd.Timedelta(days=1)
    sign = -1 if column.is_monotonic_decreasing and not column.is_monotonic_increasing else 1
    return (column + sign * number * span).astype(column.dtype)
