"""Encode declared single values as JSON text: text, numbers, times, dicts and lists."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .bounded_json import Allowance, parse
from .encoded import Encoded
from .errors import Corrupt, TypeMismatch, Unencodable
from .plain import dumps, from_json, to_json


def write_scalar(value: Any, type_name: str) -> Encoded:
    """Encode a value that is declared as one of `SCALARS`.

    Raises:
        TypeMismatch: the value has another type. The corresponding numpy and pandas types are accepted, and an int
            for a float. A bool is not an int, and a missing value matches no type.
        Unencodable: a value inside a dict or list cannot cross, or a time has nanoseconds.
    """
    _, convert = _KINDS[type_name]
    converted = convert(value)
    if converted is _NOT_ONE:
        raise TypeMismatch(type_name, _describe(value))
    text = dumps(to_json(converted, f"the {type_name}", simplify=True)).encode("ascii")
    return Encoded({"type": type_name, "size": len(text)}, (memoryview(text),))


def read_scalar(header: Mapping[str, Any], payload: memoryview) -> Any:
    """The value that was written.

    Raises:
        Corrupt: it does not have the declared type.
    """
    type_name = header["type"]
    kind, _ = _KINDS[type_name]
    value = from_json(parse(payload, Allowance()))
    if type(value) is not kind:
        raise Corrupt(f"a {type(value).__name__} where a {type_name} belongs")
    return value


_NOT_ONE = object()


def _describe(value: Any) -> str:
    missing = value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)
    return f"{type(value).__name__} {value!r}" if missing else type(value).__name__


def _as_str(value: Any) -> Any:
    return str.__str__(value) if isinstance(value, str) else _NOT_ONE


def _as_int(value: Any) -> Any:
    return (
        int(value)
        if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))
        else _NOT_ONE
    )


def _as_float(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (float, int, np.floating, np.integer)):
        return _NOT_ONE
    try:
        return float(value)
    except OverflowError:
        return _NOT_ONE


def _as_bool(value: Any) -> Any:
    return bool(value) if isinstance(value, (bool, np.bool_)) else _NOT_ONE


def _as_datetime(value: Any) -> Any:
    if value is pd.NaT or not isinstance(value, dt.datetime):
        return _NOT_ONE
    if isinstance(value, pd.Timestamp):
        _refuse_nanoseconds(value.nanosecond, "datetime")
        return value.to_pydatetime()
    return value


def _as_date(value: Any) -> Any:
    return value if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else _NOT_ONE


def _as_timedelta(value: Any) -> Any:
    if value is pd.NaT or not isinstance(value, dt.timedelta):
        return _NOT_ONE
    if isinstance(value, pd.Timedelta):
        _refuse_nanoseconds(value.nanoseconds, "timedelta")
        return value.to_pytimedelta()
    return value


def _refuse_nanoseconds(nanoseconds: int, type_name: str) -> None:
    if nanoseconds:
        reason = f"has nanoseconds, which a {type_name} cannot hold"
        raise Unencodable(f"the {type_name}", reason, "round it with .floor('us')")


def _as_dict(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else _NOT_ONE


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, list) else _NOT_ONE


_KINDS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "str": (str, _as_str),
    "int": (int, _as_int),
    "float": (float, _as_float),
    "bool": (bool, _as_bool),
    "datetime": (dt.datetime, _as_datetime),
    "date": (dt.date, _as_date),
    "timedelta": (dt.timedelta, _as_timedelta),
    "dict": (dict, _as_dict),
    "list": (list, _as_list),
}
"""For each type name, the Python type that the reader gets, and the function that converts a value to it."""

SCALARS = tuple(_KINDS)
