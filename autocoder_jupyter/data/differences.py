"""Compare a value with an expected value, and describe the difference in one line for the user or the model.

Numbers are equal within rounding, 3 equals 3.0, and missing values are equal. The order of rows counts, the order of
columns does not. The index counts only if that of the expected frame has a name or labels; a named index may also be
given as columns.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.untrusted.long_ints import shortened

RELATIVE, ABSOLUTE = 1e-9, 1e-12

_SHOWN = 3
"""Maximum number of cells, columns or items that are named."""

_LONGEST = 80
_WITHHELD = "a value differs"


def is_comparable(value: Any) -> bool:
    """Whether a value can be compared: tables, plain values, and lists and dictionaries of these."""
    if isinstance(value, dict):
        return all(map(is_comparable, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_comparable, value))
    plain = (str, bool, int, float, np.generic, dt.date, dt.timedelta, type(None), pd.DataFrame, pd.Series)
    return isinstance(value, plain) or value is pd.NA


def difference(found: Any, expected: Any, *, show_values: bool) -> str:
    """The difference in one line; "" if the values are equal.

    Args:
        found: the value that a sandbox returned.
        expected: the expected value.
        show_values: whether the text may contain values, or only columns, positions and counts.
    """
    if isinstance(expected, pd.DataFrame):
        return _of_frames(found, expected, show_values)
    if isinstance(expected, pd.Series):
        return _of_series(found, expected, show_values)
    place = _unequal(found, expected, "")
    if place is None:
        return ""
    where, one, other = place
    if not show_values:
        return _WITHHELD  # a key in the path can be a value of the data too
    return f"{f'at {where}: ' if where else ''}it is {_short(one)}, expected {_short(other)}"


def _of_frames(found: Any, expected: pd.DataFrame, show_values: bool) -> str:
    if not isinstance(found, pd.DataFrame):
        return f"it is a {type(found).__name__}, expected a DataFrame"
    if _has_own_index(expected) and not _has_own_index(found) and None not in expected.index.names:
        expected = expected.reset_index()
    missing = [column for column in expected.columns if column not in found.columns]
    extra = [column for column in found.columns if column not in expected.columns]
    if missing or extra:
        told = [f"without {_named(missing, show_values)}"] if missing else []
        told += [f"with {_named(extra, show_values)}, which was not expected"] if extra else []
        return f"it comes {' and '.join(told)}"
    if len(found) != len(expected):
        return f"it has {_rows(len(found))}, expected {len(expected)}"
    columns = [(f"column {column!r}", found[column], expected[column]) for column in expected.columns]
    return _of_columns([*_indexes(found, expected), *columns], show_values)


def _of_series(found: Any, expected: pd.Series[Any], show_values: bool) -> str:
    if not isinstance(found, pd.Series):
        return f"it is a {type(found).__name__}, expected a Series"
    if len(found) != len(expected):
        return f"it has {_rows(len(found))}, expected {len(expected)}"
    return _of_columns([*_indexes(found, expected), ("", found, expected)], show_values)


def _indexes(found: Any, expected: Any) -> list[tuple[str, Any, Any]]:
    return [("the index", found.index, expected.index)] if _has_own_index(expected) else []


def _has_own_index(table: pd.DataFrame | pd.Series[Any]) -> bool:
    """Whether the index is not just a row number."""
    index = table.index
    return index.nlevels > 1 or index.name is not None or not pd.api.types.is_integer_dtype(index.dtype)


def _of_columns(columns: Sequence[tuple[str, Any, Any]], show_values: bool) -> str:
    """Describe the first cells that differ, column by column."""
    told: list[str] = []
    further = 0
    for name, found, expected in columns:
        for row, (one, other) in enumerate(zip(list(found), list(expected), strict=True)):
            if _unequal(one, other, "") is None:
                continue
            if len(told) == _SHOWN:
                further += 1
                continue
            place = f"{name}, row {row}" if name else f"row {row}"
            told.append(f"{place}: {_short(one)}, expected {_short(other)}" if show_values else f"{place} differs")
    return "; ".join([*told, *([f"and {further} more cells differ"] if further else [])])


def _unequal(one: Any, other: Any, where: str) -> tuple[str, Any, Any] | None:
    """The first position where two values differ, and both values there; None if they are equal."""
    if isinstance(other, Mapping):
        if not isinstance(one, Mapping) or set(one) != set(other):
            return where, one, other
        places = (_unequal(one[key], other[key], f"{where}[{_short(key)}]") for key in other)
        return next((place for place in places if place is not None), None)
    if isinstance(other, list | tuple):
        if not isinstance(one, list | tuple) or len(one) != len(other):
            return where, one, other
        pairs = enumerate(zip(one, other, strict=True))
        places = (_unequal(a, b, f"{where}[{number}]") for number, (a, b) in pairs)
        return next((place for place in places if place is not None), None)
    return None if _agree(_plain(one), _plain(other)) else (where, one, other)


def _agree(one: Any, other: Any) -> bool:
    if _is_missing(one) or _is_missing(other):
        return _is_missing(one) and _is_missing(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        try:
            return one == other or math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        except OverflowError:  # an integer that no float can hold
            return False
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


def _plain(value: Any) -> Any:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return pd.Timestamp(value) if isinstance(value, np.datetime64) else pd.Timedelta(value)
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is dt.date:
        return pd.Timestamp(value)
    return value


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def _named(columns: Sequence[Any], show_values: bool) -> str:
    """Describe missing or extra columns. Their names may come from the program, so they are treated like values."""
    many = f"{len(columns)} columns" if len(columns) > 1 else "a column"
    if not show_values:
        return many
    shown = ", ".join(_short(column) for column in columns[:_SHOWN])
    return f"the column {shown}" if len(columns) == 1 else f"the columns {shown}{' …' * (len(columns) > _SHOWN)}"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _short(value: Any) -> str:
    plain = _plain(value)
    text = str(plain) if isinstance(plain, pd.Timestamp | pd.Timedelta) else repr(shortened(plain))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
