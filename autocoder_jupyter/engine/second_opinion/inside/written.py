"""A small table as Python source with exact dtypes, to show it and to use it in a test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.second_opinion.inside.values import is_missing

CELLS = 200
"""Rows. A longer table is not written as source."""


def source(table: Any) -> str:
    """An expression that uses `pd` and makes an equal table; "" if there is none."""
    if table.size > CELLS:
        return ""
    text = _series(table, table.name) if isinstance(table, pd.Series) else _frame(table)
    same = pd.testing.assert_series_equal if isinstance(table, pd.Series) else pd.testing.assert_frame_equal
    try:
        same(eval(text, {"pd": pd}), table)
    except Exception:
        return ""  # a dtype or index that a short expression cannot make
    return text


def _frame(frame: Any) -> str:
    columns = [f"        {name!r}: {_series(frame[name])}," for name in frame.columns]
    return "\n".join(["pd.DataFrame(", "    {", *columns, "    }", ")"])


def _series(column: Any, name: Any = None) -> str:
    values, dtype = ", ".join(map(_value, column)), str(column.dtype)
    named = "" if name is None else f", name={name!r}"
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        moments = f"pd.Series(pd.to_datetime([{values}], utc=True){named})"
        return f"{moments}.dt.tz_convert({str(column.dt.tz)!r}).astype({dtype!r})"
    return f"pd.Series([{values}], dtype={dtype!r}{named})"


def _value(value: Any) -> str:
    if is_missing(value):
        return "None"
    if isinstance(value, pd.Timestamp):
        return repr(str(value.tz_convert("UTC") if value.tz else value).removesuffix(" 00:00:00"))
    if isinstance(value, pd.Timedelta):
        return repr(str(value))
    return repr(value.item() if isinstance(value, np.generic) else value)
