"""Single values: whether two are equal, their text for the user, and their JSON."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pandas as pd

LONGEST = 80
"""The number of characters of a value that are shown."""

_RELATIVE = 1e-9


def is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA."""
    return value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def same(one: Any, other: Any) -> bool:
    """Whether two scalars are equal: `3` and `3.0`, a day as text and as a date, a number with fewer decimals."""
    if is_missing(one) or is_missing(other):
        return is_missing(one) and is_missing(other)
    if isinstance(one, bool | np.bool_) or isinstance(other, bool | np.bool_):
        return bool(one == other) and isinstance(one, bool | np.bool_) == isinstance(other, bool | np.bool_)
    if is_number(one) and is_number(other):
        return _close(float(one), float(other))
    if is_time(one) or is_time(other):
        first, second = moment(one), moment(other)
        return first is not None and second is not None and first == second
    return type(one) is type(other) and bool(one == other)


def _close(one: float, other: float) -> bool:
    if one == other or not (math.isfinite(one) and math.isfinite(other)):
        return one == other
    return abs(one - other) <= max(tolerance([one], [other]), _RELATIVE * max(1.0, abs(one), abs(other)))


def comparable(one: Any, other: Any) -> bool:
    """Whether two scalars are of the same kind, so that a difference is meaningful."""
    if is_missing(one) or is_missing(other):
        return True
    if is_time(one) or is_time(other):
        return moment(one) is not None and moment(other) is not None
    return is_number(one) == is_number(other) and isinstance(one, str) == isinstance(other, str)


def is_number(value: Any) -> bool:
    """Whether it is a number, but not a bool."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def is_time(value: Any) -> bool:
    """Whether it is a date or a time."""
    return isinstance(value, dt.date | np.datetime64)  # datetime and Timestamp are subclasses of date


def moment(value: Any) -> pd.Timestamp | None:
    """A date, or text that contains one, as a Timestamp; None for anything else."""
    try:
        return pd.Timestamp(value) if is_time(value) or isinstance(value, str) else None
    except (ValueError, TypeError, OverflowError):
        return None


def tolerance(ones: Any, others: Any) -> float:
    """The tolerance for numbers of which one side was rounded to two decimals or more; 0 if neither was.

    A side counts as rounded if the other has at least two decimals more, which does not happen by chance.
    """
    first, second = decimals(ones), decimals(others)
    coarse, fine = max(min(first, second), 2), max(first, second)
    return 0.5000001 * 10.0**-coarse if fine >= coarse + 2 else 0.0


def decimals(numbers: Any) -> int:
    """The maximum number of decimals of the numbers; 9 means more than eight."""
    values = np.asarray([float(number) for number in numbers if not is_missing(number)], dtype="float64")
    values = values[np.isfinite(values)][:1000]
    for count in range(9):
        scaled = values * 10.0**count
        if np.all(np.abs(scaled - np.round(scaled)) <= 1e-6 * np.maximum(1.0, np.abs(scaled) * 1e-6)):
            return count
    return 9


def shown(value: Any) -> str:
    """A value as one short line of text for the user."""
    if is_missing(value):
        return "nothing"
    if isinstance(value, float | np.floating):
        text = f"{value:.6g}"
    elif is_time(value):
        text = str(value).removesuffix(" 00:00:00")
    elif isinstance(value, str):
        text = value if value else '""'
    else:
        text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def plain(value: Any) -> Any:
    """A value as JSON."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if is_time(value):
        return shown(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else shown(value)
