"""`encode` turns a value into a header and bytes; `decode` turns them back into the value."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .bounded_json import Allowance, parse
from .figure_data import specification
from .files import HostFault, read_path, write_dir, write_file
from .frames import Encoded, read_frame, read_series, write_frame, write_series
from .pictures import read_picture, write_picture
from .plain import Corrupt, TypeMismatch, Unencodable, dumps, from_json, to_json

# Lists and dicts of tables and figures
#
# Each element is encoded as a value of its own, one after the other.

PART_KINDS = ("DataFrame", "Series", "Figure")
"""The types that a list or dict may hold as parts."""

MOST_PARTS = 256
_ALIGNMENT = 8
_PLAIN = (str, int, float, bool, type(None), list, dict)

Encode = Callable[[Any, str], Encoded]


def write_parts(value: Any, encode: Encode) -> Encoded | None:
    """Encode a list or dict whose elements are all tables or figures; None if the first element is none of these.

    Raises:
        Unencodable: another element is of another type, a key is not a string, or there are too many.
        TypeMismatch: see `encode`.
    """
    name = "dict" if isinstance(value, dict) else "list"
    items = list(value.values()) if isinstance(value, dict) else list(value)
    if not items or not _part_kind(items[0]):
        return None
    kinds = list(map(_part_kind, items))
    if "" in kinds:
        raise Unencodable(f"the {name}", f"holds a {kinds[0]} and other values", "return these as outputs of their own")
    if len(items) > MOST_PARTS:
        raise Unencodable(f"the {name}", f"holds {len(items)} tables or figures", f"return at most {MOST_PARTS}")
    if isinstance(value, dict) and not all(type(key) is str for key in value):
        raise Unencodable("the dict", "has a key that is no text", "convert the keys to text")
    parts = [encode(item, kind) for item, kind in zip(items, kinds, strict=True)]
    buffers: list[memoryview] = []
    size = 0
    for part in parts:
        gap = -part.size % _ALIGNMENT  # so that each part begins where its numbers can be read without a copy
        buffers += [*part.buffers, memoryview(bytes(gap))]
        size += part.size + gap
    keys = {"keys": list(value)} if isinstance(value, dict) else {}
    return Encoded({"type": name, "size": size, "of": [part.header for part in parts], **keys}, tuple(buffers))


def read_parts(
    header: Mapping[str, Any], payload: memoryview, decode: Callable[[Mapping[str, Any], memoryview, int], Any]
) -> Any:
    """Read what `write_parts` wrote; the writer may be hostile."""
    parts = header["of"]
    if not isinstance(parts, list) or not 0 < len(parts) <= MOST_PARTS:
        raise Corrupt("a list or dict without parts, or with too many")
    values, start = [], 0
    for part in parts:
        if (
            part["type"] not in PART_KINDS
            or type(part["size"]) is not int
            or not 0 <= part["size"] <= len(payload) - start
        ):
            raise Corrupt("a part that does not fit its list or dict")
        values.append(decode(part, payload[start : start + part["size"]], len(parts)))
        start += part["size"] + -part["size"] % _ALIGNMENT
    if start != len(payload):
        raise Corrupt("bytes after the last part")
    if header["type"] == "list":
        return values
    keys = header["keys"]
    is_named = isinstance(keys, list) and all(type(key) is str for key in keys) and len(set(keys)) == len(values)
    if not is_named or len(keys) != len(values):
        raise Corrupt("keys that do not fit their dict")
    return dict(zip(keys, values, strict=True))


def _part_kind(value: Any) -> str:
    """The type of an element that is encoded by itself; "" for any other value."""
    if isinstance(value, pd.DataFrame):
        return "DataFrame"
    if isinstance(value, pd.Series):
        return "Series"
    if type(value) in _PLAIN:
        return ""
    is_drawn = type(value).__name__ == "Figure" and hasattr(value, "png")
    return "Figure" if is_drawn or specification(value)[0] else ""


# Scalars
#
# Declared single values are JSON text: text, numbers, times, dicts and lists.


def write_scalar(value: Any, type_name: str) -> Encoded:
    """Encode a value that is declared as one of `SCALARS`."""
    _, convert = _SCALAR_TYPES[type_name]
    converted = convert(value)
    if converted is _MISMATCH:
        raise TypeMismatch(type_name, _describe(value))
    text = dumps(to_json(converted, f"the {type_name}", simplify=True)).encode("ascii")
    return Encoded({"type": type_name, "size": len(text)}, (memoryview(text),))


def read_scalar(header: Mapping[str, Any], payload: memoryview) -> Any:
    """The value that was written."""
    type_name = header["type"]
    kind, _ = _SCALAR_TYPES[type_name]
    value = from_json(parse(payload, Allowance()))
    if type(value) is not kind:
        raise Corrupt(f"a {type(value).__name__} where a {type_name} belongs")
    return value


_MISMATCH = object()
"""The result of a conversion of a value that has another type than declared."""


def _describe(value: Any) -> str:
    missing = value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)
    return f"{type(value).__name__} {value!r}" if missing else type(value).__name__


def _as_str(value: Any) -> Any:
    return str.__str__(value) if isinstance(value, str) else _MISMATCH


def _as_int(value: Any) -> Any:
    return (
        int(value)
        if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))
        else _MISMATCH
    )


def _as_float(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (float, int, np.floating, np.integer)):
        return _MISMATCH
    try:
        return float(value)
    except OverflowError:
        return _MISMATCH


def _as_bool(value: Any) -> Any:
    return bool(value) if isinstance(value, (bool, np.bool_)) else _MISMATCH


def _as_datetime(value: Any) -> Any:
    if value is pd.NaT or not isinstance(value, dt.datetime):
        return _MISMATCH
    if isinstance(value, pd.Timestamp):
        _refuse_nanoseconds(value.nanosecond, "datetime")
        return value.to_pydatetime()
    return value


def _as_date(value: Any) -> Any:
    return value if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else _MISMATCH


def _as_timedelta(value: Any) -> Any:
    if value is pd.NaT or not isinstance(value, dt.timedelta):
        return _MISMATCH
    if isinstance(value, pd.Timedelta):
        _refuse_nanoseconds(value.nanoseconds, "timedelta")
        return value.to_pytimedelta()
    return value


def _refuse_nanoseconds(nanoseconds: int, type_name: str) -> None:
    if nanoseconds:
        reason = f"has nanoseconds, which a {type_name} cannot hold"
        raise Unencodable(f"the {type_name}", reason, "round it with .floor('us')")


def _as_dict(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else _MISMATCH


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, list) else _MISMATCH


_SCALAR_TYPES: dict[str, tuple[type, Callable[[Any], Any]]] = {
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

SCALARS = tuple(_SCALAR_TYPES)


# Every type

_WRITERS: Mapping[str, Callable[[Any], Encoded]] = {
    "DataFrame": write_frame,
    "Series": write_series,
    "File": write_file,
    "Dir": write_dir,
    "Figure": write_picture,
}

KINDS = (*SCALARS, *_WRITERS)
"""The names of all types of values that can cross."""


def encode(value: Any, type_name: str, *, is_output: bool = False) -> Encoded:
    """Encode `value`, which is declared as `type_name` (one of `KINDS`).

    Raises:
        TypeMismatch: the value does not have that type.
        Unencodable: the type is right, but the value cannot cross unchanged; `path` names the refused part.
        KeyError: `type_name` is not one of `KINDS`.
    """
    if is_output and type(value).__name__ == type_name in ("list", "dict"):
        parts = write_parts(value, encode)
        if parts is not None:
            return parts
    if type_name in SCALARS:
        return write_scalar(value, type_name)
    try:
        return _WRITERS[type_name](value)
    except RecursionError:
        raise Unencodable(f"the {type_name}", "is nested too deeply", "flatten it") from None


def decode(
    header: Mapping[str, Any],
    payload: memoryview,
    *,
    folder: Path,
    wrap_path: Callable[[str, Path], Any] | None = None,
    trusted: bool,
    share: int = 1,
) -> Any:
    """Decode what `encode` wrote."""
    try:
        type_name = header["type"]
        if payload.nbytes != header["size"]:
            raise Corrupt(f"{payload.nbytes} bytes where {header['size']} were announced")
        if type_name in ("list", "dict") and "of" in header:
            return read_parts(
                header,
                payload,
                lambda part, own, count: decode(part, own, folder=folder, trusted=trusted, share=count),
            )
        if type_name in SCALARS:
            return read_scalar(header, payload)
        if type_name == "DataFrame":
            return read_frame(header, payload, trusted=trusted, share=share)
        if type_name == "Series":
            return read_series(header, payload, trusted=trusted, share=share)
        if type_name == "Figure":
            return read_picture(header, payload, share=share)
        if type_name in ("File", "Dir"):
            path = read_path(header, payload, folder)
            return path if wrap_path is None else wrap_path(type_name, path)
    except Corrupt:
        raise
    except HostFault as fault:
        raise fault.error from None
    except Exception as error:  # hostile bytes can make the libraries raise any exception
        raise Corrupt(f"{type(error).__name__}: {str(error)[:200]}") from error
    raise Corrupt(f"unknown type {str(type_name)[:50]!r}")
