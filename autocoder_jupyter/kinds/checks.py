"""Checks of the type of a value, and hints for values of another type.

A check returns the value in the form that is sent to the sandbox: an int becomes a float, a numpy scalar a Python
value, a tuple a list. Nothing else is converted.
"""

from __future__ import annotations

import datetime as dt
import numbers
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from autocoder_jupyter.kinds.kind import REFUSED


def text(value: Any) -> Any:
    """A text."""
    return str(value) if isinstance(value, str) else REFUSED


def truth(value: Any) -> Any:
    """True or False, of Python or numpy."""
    numpys = type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")
    return bool(value) if isinstance(value, bool) or numpys else REFUSED


def whole(value: Any) -> Any:
    """A whole number."""
    return int(value) if isinstance(value, numbers.Integral) and _is_number(value) else REFUSED


def number(value: Any) -> Any:
    """A number."""
    return float(value) if isinstance(value, numbers.Real) and _is_number(value) else REFUSED


def _is_number(value: object) -> bool:
    """Whether it is a number. Unlike in Python, numpy durations and bools are not numbers."""
    return not isinstance(value, bool) and type(value).__name__ != "timedelta64"


def time(value: Any) -> Any:
    """A date with a time of day."""
    return value if isinstance(value, dt.datetime) and value == value else REFUSED  # NaT is not equal to itself


def day(value: Any) -> Any:
    """A date without a time of day."""
    return value if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else REFUSED


def duration(value: Any) -> Any:
    """A duration."""
    return value if isinstance(value, dt.timedelta) and value == value else REFUSED


def instance(kind: type) -> Callable[[Any], Any]:
    """A check for an instance of a class."""
    return lambda value: value if isinstance(value, kind) else REFUSED


def of_pandas(name: str) -> Callable[[Any], Any]:
    """A check for an instance of a pandas class. pandas is not imported for it."""

    def check(value: Any) -> Any:
        pandas = sys.modules.get("pandas")
        return value if pandas is not None and isinstance(value, getattr(pandas, name)) else REFUSED

    return check


def mapping(value: Any) -> Any:
    """A dict or another mapping."""
    return dict(value) if isinstance(value, Mapping) else REFUSED


def sequence(value: Any) -> Any:
    """A list or tuple."""
    return list(value) if isinstance(value, list | tuple) else REFUSED


def never(value: Any) -> Any:
    """Refuses every value, for types that cannot be inputs."""
    return REFUSED


def hint_of_path(kind: str) -> Callable[[str, Any], str]:
    """Hint for a path: wrap it in `File` or `Dir`."""
    return lambda name, value: (
        f"Write {name}={kind}({os.fspath(value)!r})." if isinstance(value, str | os.PathLike) else ""
    )


def hint_of_frame(name: str, value: Any) -> str:
    """Hint for a Series: convert it to a DataFrame; for a list or dict: make one table of it."""
    if isinstance(value, list | tuple | dict):
        return f"Pass {one_table(name, value)}."
    return f"Pass {name}.to_frame()." if hasattr(value, "to_frame") else ""


def one_table(name: str, value: list[Any] | tuple[Any, ...] | dict[Any, Any]) -> str:
    """The expression that makes one DataFrame of a list or dict: of its tables, or of its values."""
    parts = list(value.values()) if isinstance(value, dict) else list(value)
    if not parts or not all(callable(getattr(type(part), "head", None)) for part in parts):
        return f"pd.DataFrame({name})"
    if isinstance(value, dict):
        return f'pd.concat({name}, names=["key"]).reset_index("key")'
    return f"pd.concat({name}, ignore_index=True)"


def hint_of_series(name: str, value: Any) -> str:
    """Hint for a DataFrame: pass one column."""
    return f"Pass one column of it, for instance {name}[{name}.columns[0]]." if hasattr(value, "columns") else ""


def hint_of_date(name: str, value: Any) -> str:
    """Hint for a datetime: pass its date."""
    return "Pass its .date()." if isinstance(value, dt.datetime) else ""


def hint_of_datetime(name: str, value: Any) -> str:
    """Hint for texts, dates and times of numpy."""
    convertible = isinstance(value, str | dt.date) or hasattr(value, "astype")
    return "Pass pd.Timestamp(…) of it." if convertible else ""


def hint_of_duration(name: str, value: Any) -> str:
    """Hint for texts, numbers and durations of numpy."""
    convertible = isinstance(value, str | numbers.Real) or hasattr(value, "astype")
    return "Pass pd.Timedelta(…) of it, with a unit." if convertible else ""
