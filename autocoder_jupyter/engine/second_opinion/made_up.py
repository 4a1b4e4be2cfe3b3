"""Values that are made up for a small input. They tell the order of the data's values, and no value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

Form = Callable[[int], Any]
"""Makes a value from its rank among the values of its column, from 0."""


def forms(dtype: Any) -> list[Form]:
    """The ways to make up the values of a column, the simplest first."""
    if pd.api.types.is_datetime64_any_dtype(dtype):
        first = pd.Timestamp("2024-01-01", tz=getattr(dtype, "tz", None))
        return [
            lambda rank: first + pd.Timedelta(days=rank),
            lambda rank: first + pd.DateOffset(months=rank),
            lambda rank: first + pd.DateOffset(years=rank),
        ]
    if pd.api.types.is_numeric_dtype(dtype):
        return [lambda rank: 1, lambda rank: rank + 1, lambda rank: 10 * (rank + 1)]
    if pd.api.types.is_timedelta64_dtype(dtype):
        return [lambda rank: pd.Timedelta(days=rank + 1)]
    return [lambda rank: "a", lambda rank: chr(97 + rank) if rank < 26 else f"a{rank}"]


def is_made_up(column: Any) -> bool:
    """Whether all values of a column are missing, are truth values of a boolean dtype, or have one of the forms."""
    present = column.dropna()
    if present.empty or pd.api.types.is_bool_dtype(column.dtype):
        return True
    try:
        found = present.drop_duplicates()
        return any(_has(found, form) for form in forms(column.dtype))
    except (TypeError, ValueError, OverflowError):
        return False  # values that cannot be compared


def _has(found: Any, form: Form) -> bool:
    expected: Sequence[Any] = [form(rank) for rank in range(len(found))]
    return bool(found.isin(expected).all())
