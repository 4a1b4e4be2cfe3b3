"""Encodes values of tools as typed JSON for the record, and decodes them. Records are untrusted and are checked."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import math
from collections.abc import Callable
from typing import Any

_TYPE, _VALUE = "$type", "value"

_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "int": lambda text: int(text, 16),
    "float": float,
    "complex": complex,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "timedelta": lambda text: dt.timedelta(microseconds=int(text)),
    "Decimal": decimal.Decimal,
}
_LONGEST_BITS = 14_000
"""Python writes longer numbers in base ten not at all."""

_SETS: dict[str, Callable[[list[Any]], Any]] = {"set": set, "frozenset": frozenset}


class NotRecordable(ValueError):
    """A value that cannot be recorded, such as a frame."""


def _refuse(value: Any) -> Any:
    raise NotRecordable(f"a {type(value).__name__} is not recorded")


def encode(value: Any, other: Callable[[Any], Any] = _refuse) -> Any:
    """A plain Python value as JSON values.

    Args:
        value: a value that can cross into the sandbox.
        other: returns the JSON form of a value of another type.

    Raises:
        NotRecordable: it has no JSON form.
    """
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return _typed("int", hex(value))
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _typed("float", repr(value))
    if isinstance(value, list):
        return [encode(item, other) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and _TYPE not in value:
            return {key: encode(item, other) for key, item in value.items()}
        return _typed("dict", [[encode(key, other), encode(item, other)] for key, item in value.items()])
    if isinstance(value, tuple):
        return _typed("tuple", [encode(item, other) for item in value])
    if isinstance(value, set | frozenset):
        items = sorted((encode(item, other) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
        return _typed("frozenset" if isinstance(value, frozenset) else "set", items)
    return _encoded_single(value, other)


def _encoded_single(value: Any, other: Callable[[Any], Any]) -> Any:
    if isinstance(value, bytes):
        return _typed("bytes", base64.b64encode(value).decode())
    if isinstance(value, dt.timedelta):
        return _typed("timedelta", str(value // dt.timedelta(microseconds=1)))
    for kind in (dt.datetime, dt.date, dt.time):
        if isinstance(value, kind):
            return _typed(kind.__name__, value.isoformat())
    if isinstance(value, decimal.Decimal | complex):
        return _typed(type(value).__name__, str(value))
    if value is ...:
        return _typed("ellipsis", None)
    return other(value)


def _typed(kind: str, value: Any) -> dict[str, Any]:
    return {_TYPE: kind, _VALUE: value}


def _unknown(record: Any) -> Any:
    raise ValueError(f"no recorded value: {record.get(_TYPE)!r}")


def decode(record: Any, other: Callable[[Any], Any] = _unknown) -> Any:
    """The value of a record.

    Args:
        record: JSON values.
        other: returns the value of a form of another type, which `other` of `encode` made.

    Raises:
        ValueError: the record is not valid.
    """
    if isinstance(record, list):
        return [decode(item, other) for item in record]
    if not isinstance(record, dict):
        return record
    if _TYPE not in record:
        return {key: decode(item, other) for key, item in record.items()}
    try:
        return _decoded(record[_TYPE], record[_VALUE], other)
    except (KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"no recorded value: {error}") from None


def _decoded(kind: str, value: Any, other: Callable[[Any], Any]) -> Any:
    if kind == "ellipsis":
        return ...
    if kind == "dict":
        keys = _hashed([decode(key, other) for key, _ in value])
        return dict(zip(keys, (decode(item, other) for _, item in value), strict=True))
    if kind in _SETS:
        return _SETS[kind](_hashed([decode(item, other) for item in value]))
    if kind == "tuple":
        return tuple(decode(item, other) for item in value)
    if kind not in _FROM_TEXT:
        return other({_TYPE: kind, _VALUE: value})
    return _FROM_TEXT[kind](str(value))


def _hashed(keys: list[Any]) -> list[Any]:
    """Keys of a dict or set that is going to be built; see `without_collisions`."""
    if all(type(key) is str for key in keys):
        return keys
    from autocoder_jupyter.codec.collisions import without_collisions  # imports pandas

    return without_collisions(keys)
