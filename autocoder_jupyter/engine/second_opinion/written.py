"""A small table as plain values, and from these as Python source with exact dtypes, for the user and for a test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.equality.scalars import is_missing

CELLS = 200
"""The maximum number of values. A larger table is not written as source."""

_PLAIN = (bool, int, float, str)

Cells = Sequence[Sequence[Any]]
"""The values of a table by column: None, truth values, numbers and text."""


def cells(table: Any) -> list[list[Any]] | None:
    """The values of a table; None if it cannot be made from them again."""
    if table.size > CELLS:
        return None
    columns = [table] if isinstance(table, pd.Series) else [table.iloc[:, place] for place in range(table.shape[1])]
    found = [[_plain(value) for value in column] for column in columns]
    same = pd.testing.assert_series_equal if isinstance(table, pd.Series) else pd.testing.assert_frame_equal
    if not _has_plain_names(table) or not all(map(_is_plain, (value for column in found for value in column))):
        return None
    try:
        same(made(found, dtypes(table), table), table)
    except Exception:
        return None  # a dtype or index that a short expression cannot make, or must not tell
    return found


def _is_plain(value: Any) -> bool:
    return value is None or (type(value) in _PLAIN and (type(value) is not float or math.isfinite(value)))


def _has_plain_names(table: Any) -> bool:
    """Whether the names of the columns can be written as keys of a dict."""
    if isinstance(table, pd.Series):
        return table.name is None or type(table.name) in (str, int)
    return bool(table.columns.is_unique) and all(type(name) in (str, int) for name in table.columns.tolist())


def dtypes(table: Any) -> list[str]:
    """The names of the dtypes of a table's columns."""
    return [str(table.dtype)] if isinstance(table, pd.Series) else list(map(str, table.dtypes))


def made(values: Cells, kinds: Sequence[str], like: Any) -> Any:
    """A table with these values and dtypes, and the names of another one.

    Raises:
        ValueError: a dtype has a value of the data in its name, as the fill value of a sparse one.
    """
    if any(isinstance(pd.api.types.pandas_dtype(kind), pd.SparseDtype) for kind in kinds):
        raise ValueError("a sparse dtype tells its fill value")
    columns = [_made(column, kind) for column, kind in zip(values, kinds, strict=True)]
    if isinstance(like, pd.Series):
        return columns[0].rename(like.name)
    return pd.DataFrame(dict(enumerate(columns))).set_axis(like.columns, axis=1)


def source(values: Cells, kinds: Sequence[str], like: Any) -> str:
    """An expression that uses `pd`, for the same table."""
    if isinstance(like, pd.Series):
        return _written(values[0], kinds[0], like.name)
    columns = zip(like.columns, values, kinds, strict=True)
    lines = [f"        {name!r}: {_written(column, kind)}," for name, column, kind in columns]
    return "\n".join(["pd.DataFrame(", "    {", *lines, "    }", ")"])


def _made(column: Sequence[Any], kind: str) -> Any:
    zone = _zone(kind)
    if zone is None:
        return pd.Series(list(column), dtype=kind)
    moments: Any = pd.Series(pd.to_datetime(list(column), utc=True))
    return moments.dt.tz_convert(zone).astype(kind)


def _written(column: Sequence[Any], kind: str, name: Any = None) -> str:
    values, zone = ", ".join(map(repr, column)), _zone(kind)
    named = "" if name is None else f", name={name!r}"
    if zone is None:
        return f"pd.Series([{values}], dtype={kind!r}{named})"
    moments = f"pd.Series(pd.to_datetime([{values}], utc=True){named})"
    return f"{moments}.dt.tz_convert({zone!r}).astype({kind!r})"


def _zone(kind: str) -> str | None:
    dtype = pd.api.types.pandas_dtype(kind)
    return str(dtype.tz) if isinstance(dtype, pd.DatetimeTZDtype) else None


def _plain(value: Any) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, pd.Timestamp):
        return str(value.tz_convert("UTC") if value.tz else value).removesuffix(" 00:00:00")
    if isinstance(value, pd.Timedelta):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value
