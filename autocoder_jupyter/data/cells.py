"""Format any cell value or label as a short text that is the same on every machine.

`repr` is never called on an object of an unknown type: it may contain an address, run foreign code, or be huge.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import fractions
import math
import re
import sys
import uuid
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

CELL_CHARACTERS = 60
"""Characters of a cell that are shown."""

RAW_CHARACTERS = 240
"""Characters that are kept until masking is done, so that a truncated secret is not missed."""

_CUT = re.compile(r"…\(\+(\d+)\)$")

_ITEMS = 5
_POINTS = 5
"""Points of a geometry that are shown."""

_DEPTH = 3


def is_null(value: Any) -> bool:
    """Whether a cell is missing (None, NaN, NaT, NA). Containers are never missing."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, decimal.Decimal) and value.is_nan()


def cell_text(value: Any, limit: int = RAW_CHARACTERS, depth: int = 0) -> str:
    """A cell as text of at most about `limit` characters; empty for a missing value."""
    return "" if is_null(value) else shorten(_text(value, limit, depth), limit)


def shorten(text: str, limit: int) -> str:
    """Truncate a text and append the number of missing characters, also if it was truncated before."""
    if len(text) <= limit:
        return text
    before = _CUT.search(text)
    missing = len(text) - limit if before is None else before.start() - limit + int(before.group(1))
    return f"{text[:limit]}…(+{missing})" if missing > 0 else text


def number_text(value: float, digits: int = 12) -> str:
    """A number with `digits` significant digits, but never fewer than its integer part has."""
    if not math.isfinite(value):
        return str(float(value))
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    whole = len(str(int(abs(value)))) if abs(value) < 1e15 else 0
    return format(float(value), f".{max(digits, whole)}g")


def time_text(value: Any) -> str:
    """A timestamp in ISO format, without the time of day if it is midnight."""
    text = value.isoformat(sep=" ")
    return str(text.removesuffix(" 00:00:00"))


def label_literal(label: Any) -> str:
    """The label of a column or level as Python source (`'a'`, `7`, `('a', 1)`), else a description."""
    if isinstance(label, tuple):
        inner = ", ".join(label_literal(part) for part in label)
        return f"({inner},)" if len(label) == 1 else f"({inner})"
    if isinstance(label, np.generic) and not isinstance(label, np.datetime64 | np.timedelta64):
        label = label.item()
    if isinstance(label, str):
        return repr(str(label))
    if isinstance(label, bool | int | float | bytes | complex) or label is None:
        return repr(label)
    if label is pd.NaT or label is pd.NA:
        return f"pd.{label}"
    if isinstance(label, pd.Timestamp | pd.Timedelta | pd.Period | pd.Interval):
        return f"pd.{label!r}"
    return f"<{cell_text(label)}>"


def is_literal(label: Any) -> bool:
    """Whether generated source can name a column by `label_literal`, with `pd` imported."""
    if isinstance(label, tuple):
        return all(is_literal(part) for part in label)
    if isinstance(label, float | np.floating):
        return math.isfinite(label)
    return isinstance(label, str | bool | int | np.integer | np.bool_ | pd.Timestamp | pd.Timedelta) and not is_null(
        label
    )


def _text(value: Any, limit: int, depth: int) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    for kinds, render in _RENDERERS:
        if isinstance(value, kinds):
            return render(value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    return _container_text(value, limit, depth)


def _float_text(value: float) -> str:
    return number_text(value)


def _bytes_text(value: bytes | bytearray | memoryview) -> str:
    head = repr(bytes(value[:16]))
    return head if len(value) <= 16 else f"{head}…(+{len(value) - 16} bytes)"


_RENDERERS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (bool, str),
    (int, lambda value: str(value) if value.bit_length() < 1000 else f"<int of {value.bit_length()} bits>"),
    (float, _float_text),
    (complex, str),
    ((bytes, bytearray, memoryview), _bytes_text),
    ((pd.Timestamp, dt.datetime), time_text),
    ((dt.date, dt.time), lambda value: str(value.isoformat())),
    ((pd.Timedelta, dt.timedelta), str),
    ((pd.Period, pd.Interval, decimal.Decimal, fractions.Fraction, uuid.UUID), str),
)


def _container_text(value: Any, limit: int, depth: int) -> str:
    if depth >= _DEPTH and isinstance(value, dict | list | tuple | set | frozenset | np.ndarray):
        return "…"

    def item(one: Any) -> str:
        if isinstance(one, str):
            return repr(shorten(str(one), limit))
        return "None" if is_null(one) else cell_text(one, limit, depth + 1)

    def joined(items: Iterable[str], size: int) -> str:
        shown = list(islice(items, _ITEMS))
        return ", ".join(shown) + (f", … {size - len(shown)} more" if size > len(shown) else "")

    if isinstance(value, dict):
        pairs = (f"{item(key)}: {item(one)}" for key, one in value.items())
        return "{" + joined(pairs, len(value)) + "}"
    if isinstance(value, list):
        return "[" + joined(map(item, value), len(value)) + "]"
    if isinstance(value, tuple):
        return "(" + joined(map(item, value), len(value)) + ")"
    if isinstance(value, set | frozenset):
        # The order of a set differs between runs of Python.
        return "{" + joined(iter(sorted(map(item, value))), len(value)) + "}"
    if isinstance(value, np.ndarray):
        shape = "×".join(map(str, value.shape))
        return f"array({shape} {value.dtype}: {joined(map(item, value.flat), value.size)})"
    if isinstance(value, pd.DataFrame | pd.Series | pd.Index):
        return f"<{type(value).__name__} {'×'.join(map(str, value.shape))}>"
    shapely = sys.modules.get("shapely")
    if shapely is not None and isinstance(value, shapely.Geometry):
        return _geometry_text(shapely, value)
    return f"<{type(value).__name__}>"


def _geometry_text(shapely: Any, value: Any) -> str:
    """A small geometry as well-known text; of a large one its kind, and the box that it lies in."""
    if shapely.get_num_coordinates(value) <= _POINTS:
        return str(shapely.to_wkt(value, rounding_precision=6))
    low, high = shapely.bounds(value)[:2], shapely.bounds(value)[2:]
    box = " to ".join(" ".join(number_text(float(side), 6) for side in corner) for corner in (low, high))
    return f"<{value.geom_type} of {shapely.get_num_coordinates(value)} points from {box}>"
