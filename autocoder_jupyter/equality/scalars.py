"""Single values: their kinds, and whether two are equal."""

from __future__ import annotations

import cmath
import datetime as dt
import numbers
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.equality.leniency import ABSOLUTE, RELATIVE, Leniency

_KINDS = {str: "text", int: "number", bool: "truth", type(None): "missing"}
"""The kinds of the most frequent types."""

_LONGEST_DATE = 64
"""Characters of a text that may be a date."""

_OTHERS = (bytes, dt.time, pd.Period, pd.Interval, uuid.UUID, set, frozenset)


def is_single(value: Any) -> bool:
    """Whether it is compared as a whole."""
    return kind_of(value) != ""


def kind_of(value: Any) -> str:
    """`missing`, `truth`, `number`, `time`, `duration` or `text`, or another type; "" if it is not a single value.

    Values of two kinds are never equal, except that text may be a date.
    """
    if type(value) in _KINDS:
        return _KINDS[type(value)]
    if type(value) is float:
        return "number" if value == value else "missing"
    if is_missing(value):
        return "missing"
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, str):
        return "text"
    if isinstance(value, dt.date | np.datetime64):  # datetime and Timestamp are subclasses of date
        return "time"
    if isinstance(value, dt.timedelta | np.timedelta64):
        return "duration"
    if isinstance(value, numbers.Number):
        return "number"
    return type(value).__name__.removeprefix("frozen") if isinstance(value, _OTHERS) else ""


def is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA."""
    if value is None or value is pd.NaT or value is pd.NA:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | complex | np.inexact | np.datetime64 | np.timedelta64) and bool(value != value)


def same(one: Any, other: Any, leniency: Leniency, slack: float = 0.0) -> bool:
    """Whether two single values are equal."""
    if type(one) in _KINDS and type(one) is type(other):
        return bool(one == other)
    if type(one) is type(other) is float and not leniency.rounding:
        return _near(one, other, slack) or (one != one and other != other)
    first, second = kind_of(one), kind_of(other)
    if "missing" in (first, second):
        return first == second
    if not leniency.types and not same_type(one, other):
        return False
    if first == second == "number":
        return _close(_plain(one), _plain(other), max(slack, rounding([one], [other]) if leniency.rounding else 0.0))
    if first == second == "time":
        return bool(moment(one) == moment(other))
    if leniency.text_dates and {first, second} == {"time", "text"}:
        return moment(one) is not None and moment(one) == moment(other)
    return first == second and bool(_plain(one) == _plain(other))


def same_type(one: Any, other: Any) -> bool:
    """Whether two single values have the same type. Types of numpy and pandas count as those of Python."""
    return _type_of(one) is _type_of(other) or "missing" in (kind_of(one), kind_of(other))


def _type_of(value: Any) -> type:
    kind = type(_plain(value))
    return next((base for base in (dt.datetime, dt.date, dt.timedelta, str) if issubclass(kind, base)), kind)


def _plain(value: Any) -> Any:
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value)
    if isinstance(value, np.timedelta64):
        return pd.Timedelta(value)
    return value.item() if isinstance(value, np.generic) else value


def _close(one: Any, other: Any, slack: float) -> bool:
    if one == other:
        return True
    if isinstance(one, numbers.Integral) and isinstance(other, numbers.Integral):
        return False
    try:
        one, other = (complex(number) for number in (one, other))
    except OverflowError:  # an integer beyond the floats
        return False
    return _near(one, other, slack)


def _near(one: Any, other: Any, slack: float) -> bool:
    if one == other or not (cmath.isfinite(one) and cmath.isfinite(other)):
        return bool(one == other)
    return bool(abs(one - other) <= max(RELATIVE * max(abs(one), abs(other)), ABSOLUTE, slack))


def close(one: Any, other: Any, slack: float) -> Any:
    """A mask: which numbers of two arrays are equal, by the same rule as two single ones."""
    with np.errstate(all="ignore"):
        within = np.maximum(RELATIVE * np.maximum(np.abs(one), np.abs(other)), max(ABSOLUTE, slack))
        near = np.isfinite(one) & np.isfinite(other) & (np.abs(one - other) <= within)
        return (one == other) | near | (np.isnan(one) & np.isnan(other))


def moment(value: Any) -> Any:
    """A date, or text that is one, as a Timestamp; None for anything else."""
    if not isinstance(value, dt.date | np.datetime64 | str) or (isinstance(value, str) and len(value) > _LONGEST_DATE):
        return None
    try:
        return pd.Timestamp(value)
    except (ValueError, TypeError, OverflowError):
        return None if isinstance(value, str) else value


def rounding(ones: Any, others: Any) -> float:
    """The tolerance for numbers of which one side was rounded to two decimals or more; 0 if neither was.

    A side counts as rounded if the other has at least two decimals more, which does not happen by chance.
    """
    first, second = _decimals(ones), _decimals(others)
    coarse, fine = max(min(first, second), 2), max(first, second)
    return 0.5000001 * 10.0**-coarse if fine >= coarse + 2 else 0.0


def _decimals(numbers_: Any) -> int:
    """The maximum number of decimals of the first numbers; 9 means more than eight."""
    try:
        values = np.asarray([float(number) for number in numbers_[:1000] if not is_missing(number)], dtype="float64")
    except (TypeError, OverflowError):  # complex, or an integer beyond the floats
        return 0
    values = values[np.isfinite(values)]
    for count in range(9):
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = values * 10.0**count
            if np.all(np.abs(scaled - np.round(scaled)) <= 1e-6 * np.maximum(1.0, np.abs(scaled) * 1e-6)):
                return count
    return 9
