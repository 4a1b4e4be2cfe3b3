"""Write single Python values as JSON that keeps their type: cells of object columns, labels, dicts, lists, scalars.

Values of JSON's own types are written as they are. Every other value is an object `{"$": kind, "v": ...}`. Reading
creates only the kinds that are listed here, so hostile JSON cannot create an object of another type.
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
import json
import math
import re
import sys
import uuid
import zoneinfo
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

# Errors
#
# They are plain `ValueError`s, because the package is also used in the sandbox.


_LONGEST = 200
"""Characters of a path or a reason. Keys in a path may be of any length, and there are up to `MAX_DEPTH`."""


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 4 :]}"


class Unencodable(ValueError):
    """A value cannot cross the border without being changed. Raised before anything is sent.

    Args:
        path: the part of the value that is refused, in words: `"column 'price'"`, `"key 'a'"`.
        reason: why it cannot cross.
    """

    def __init__(self, path: str, reason: str, hint: str = "") -> None:
        self.path, self.reason = _bounded(path), _bounded(reason)
        super().__init__(f"{self.path}: {self.reason}" + (f"; {hint}" if hint else ""))
        self.hint = hint


class TypeMismatch(ValueError):
    """A value is not of its declared type. Only int is converted to float; nothing else is converted.

    Args:
        got: the type of the value, with a detail where that helps.
    """

    def __init__(self, wanted: str, got: str) -> None:
        super().__init__(f"declared {wanted}, got {got}")
        self.wanted = wanted
        self.got = got


class Corrupt(ValueError):
    """The received bytes were not written by `encode`, or they were damaged."""


# Keys that collide

MOST_COLLISIONS = 1_000
"""Most keys of one set or dict that have the hash of another key."""


def without_collisions(keys: list[Any]) -> list[Any]:
    """Return `keys` if few of them have the same hash.

    Keys with the same hash are compared with each other, which takes quadratic time. The hash of a number is the
    number modulo a prime, and that of a tuple follows from its items, so hostile code can easily make such keys. The
    hash of a text is random. Every reader of sets, and of dicts whose keys are not all texts, calls this before it
    builds one.

    Raises:
        Corrupt: more than `MOST_COLLISIONS` keys have the hash of another key.
    """
    if len(keys) > MOST_COLLISIONS and len(keys) - len(set(map(hash, keys))) > MOST_COLLISIONS:
        raise Corrupt("keys that collide")
    return keys


# Time zones
#
# They are written by name or by offset. A zone without a name (one of dateutil, or from a file) is refused.

_ZONE_NAME = re.compile(r"[A-Za-z0-9_+\-]+(/[A-Za-z0-9_+\-]+){0,3}")


def zone_to_json(zone: dt.tzinfo | None, path: str) -> dict[str, Any] | None:
    """`zone` as JSON; None if there is no zone."""
    if zone is None:
        return None
    if type(zone) is dt.timezone:
        offset = zone.utcoffset(None)
        return {"offset": [offset.days, offset.seconds, offset.microseconds]}
    if isinstance(zone, zoneinfo.ZoneInfo) and zone.key:
        return {"zone": zone.key}
    name = getattr(zone, "zone", None)
    if type(zone).__module__.partition(".")[0] == "pytz" and isinstance(name, str):
        return {"zone": name, "pytz": True}
    raise Unencodable(path, f"has the time zone {zone!r}, which has no name to send", "use a zoneinfo.ZoneInfo")


def zone_from_json(value: Any) -> dt.tzinfo | None:
    """The zone that was written. A pytz zone becomes a `ZoneInfo` if pytz is not loaded here."""
    if value is None:
        return None
    if "offset" in value:
        days, seconds, microseconds = value["offset"]
        offset = dt.timedelta(days, seconds, microseconds)
        return dt.timezone(offset) if offset else dt.timezone.utc  # noqa: UP017
    key = value["zone"]
    if not isinstance(key, str) or len(key) > 100 or not _ZONE_NAME.fullmatch(key):
        raise Corrupt(f"{str(key)[:100]!r} is not a time zone")
    if value.get("pytz"):
        pytz = _pytz()
        if pytz is not None:
            return pytz.timezone(key)  # type: ignore[no-any-return]
    try:
        return zoneinfo.ZoneInfo(key)
    except (OSError, ValueError, KeyError) as error:
        raise Corrupt(f"{key!r} is not a time zone that is known here") from error


def _pytz() -> Any:
    """The module pytz if it is loaded. pandas before 3 always loads it."""
    return sys.modules.get("pytz")


# Values

TAG = "$"
MAX_DEPTH = 64
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
"""Shared by all cells: creating an encoder costs more than using it."""

_NUMBER = re.compile(r"[<>|=]?(b1|i[1248]|u[1248]|f[248]|c8|c16)")
_TIME = re.compile(r"[<>=]?[mM]8(\[\d{0,6}(Y|M|W|D|h|m|s|ms|us|ns)\])?")
_TEXT = re.compile(r"[<>|=]?[US][1-9]\d{0,8}")


def to_json(value: Any, path: str, *, simplify: bool = False, depth: int = 0) -> Any:
    """`value` as JSON.

    Raises:
        Unencodable: the value, or a value inside it, has a type that cannot cross.
    """
    if _is_json(value):
        return value
    kind = type(value)
    if kind is int:
        return {TAG: "int", "v": hex(value)}
    if kind is float:
        return {TAG: "float", "v": repr(value)}
    writer = _WRITERS.get(kind)
    if writer is not None:
        tag, written = writer(value, path)
        return {TAG: tag, "v": written}
    if depth > MAX_DEPTH:
        raise Unencodable(path, f"is nested deeper than {MAX_DEPTH} levels, or contains itself", "flatten it")

    def inner(item: Any, step: str) -> Any:
        return to_json(item, f"{path}{step}", simplify=simplify, depth=depth + 1)

    def items(values: Iterable[Any]) -> list[Any]:
        return [item if _is_json(item) else inner(item, f"[{n}]") for n, item in enumerate(values)]

    if simplify and isinstance(value, np.generic) and isinstance(value.item(), (str, bool, int, float)):
        return to_json(value.item(), path, simplify=True, depth=depth)
    if kind is dict or (simplify and isinstance(value, dict)):
        return _dict_to_json(value, inner)
    if kind is list:
        return items(value)
    if kind is tuple:
        return {TAG: "tuple", "v": items(value)}
    if kind in (set, frozenset):
        # Sets have no order. They are sorted, so that equal sets give equal text.
        return {TAG: kind.__name__, "v": sorted((inner(item, "{}") for item in value), key=_text)}
    if kind is np.ndarray:
        return {TAG: "ndarray", **_array_to_json(value, path, inner)}
    if kind is pd.Interval:
        return {TAG: "Interval", "v": [inner(value.left, ".left"), inner(value.right, ".right"), value.closed]}
    if isinstance(value, np.generic):
        return {TAG: "numpy", **_numpy_scalar_to_json(value, path, inner)}
    raise Unencodable(path, f"holds a {_name(kind)}, which cannot cross into or out of the sandbox", _hint(value))


def _is_json(value: Any) -> bool:
    """Whether a value is written as it is. Most are, and so they need no path and no further call."""
    kind = type(value)
    if kind is int:
        return bool(-(2**63) <= value < 2**64)
    if kind is float:
        return math.isfinite(value)
    return kind is str or kind is bool or value is None


def from_json(value: Any) -> Any:
    """The value that was given to `to_json`."""
    if isinstance(value, list):
        return [from_json(item) if isinstance(item, (list, dict)) else item for item in value]
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {key: from_json(item) if isinstance(item, (list, dict)) else item for key, item in value.items()}
    reader = _READERS.get(value[TAG])
    if reader is None:
        raise Corrupt(f"unknown kind of value {value[TAG]!r}")
    return reader(value["v"]) if "v" in value and len(value) == 2 else reader(value)


def dumps(value: Any) -> str:
    """Compact JSON text in ASCII. Lone surrogates are kept as escapes."""
    return _ENCODER.encode(value)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _name(kind: type) -> str:
    return kind.__name__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__name__}"


def _hint(value: Any) -> str:
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return "pass or return it as a value of its own"
    if isinstance(value, (str, int, float, list, tuple, dict)):
        return f"convert it to a plain {next(k.__name__ for k in type(value).__mro__ if k.__module__ == 'builtins')}"
    return "convert it to text, numbers, dates, lists or dicts"


def _dict_to_json(value: dict[Any, Any], inner: Callable[[Any, str], Any]) -> Any:
    if all(type(key) is str for key in value) and TAG not in value:
        return {key: item if _is_json(item) else inner(item, f"[{key!r}]") for key, item in value.items()}
    return {TAG: "dict", "v": [[inner(key, " key"), inner(item, f"[{key!r}]")] for key, item in value.items()]}


def _array_to_json(value: Any, path: str, inner: Callable[[Any, str], Any]) -> dict[str, Any]:
    shape = list(value.shape)
    if value.dtype == object:
        return {"dtype": "O", "shape": shape, "items": [inner(item, "[]") for item in value.ravel().tolist()]}
    _require_plain_dtype(value.dtype, path)
    if value.dtype.kind in "fc":
        value = canonical_nan(value)
    return {"dtype": value.dtype.str, "shape": shape, "bytes": _base64(value.tobytes())}


def canonical_nan(values: Any) -> Any:
    """`values` with one bit pattern for all NaNs, so that equal values have equal bytes."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    values = values.copy()
    values[missing] = values.dtype.type("nan")
    return values


def _array_from_json(value: dict[str, Any]) -> Any:
    shape = tuple(int(size) for size in value["shape"])
    if min(shape, default=0) < 0:
        raise Corrupt("an array of negative size")
    if value["dtype"] == "O":
        items = [from_json(item) for item in value["items"]]
        flat = np.empty(len(items), dtype=object)
        for position, item in enumerate(items):
            flat[position] = item
        return flat.reshape(shape)
    dtype = plain_dtype(value["dtype"])
    return np.frombuffer(bytearray(_unbase64(value["bytes"])), dtype=dtype).reshape(shape)


def _numpy_scalar_to_json(value: Any, path: str, inner: Callable[[Any, str], Any]) -> dict[str, Any]:
    _require_plain_dtype(value.dtype, path)
    if value.dtype.kind in "mM":
        return {"dtype": value.dtype.str, "item": int(value.view("i8"))}
    return {"dtype": value.dtype.str, "item": inner(value.item(), "")}


def _numpy_scalar_from_json(value: dict[str, Any]) -> Any:
    dtype = plain_dtype(value["dtype"])
    if dtype.kind in "mM":
        return np.array(value["item"], dtype="i8").view(dtype)[()]
    return dtype.type(from_json(value["item"]))


@functools.lru_cache(maxsize=256)
def plain_dtype(text: str) -> Any:
    """The numpy dtype with that name."""
    if not any(pattern.fullmatch(text) for pattern in (_NUMBER, _TIME, _TEXT)):
        raise Corrupt(f"{text!r} is not a dtype that can cross")
    return np.dtype(text)


def _require_plain_dtype(dtype: Any, path: str) -> None:
    if not any(pattern.fullmatch(dtype.str) for pattern in (_NUMBER, _TIME, _TEXT)):
        raise Unencodable(path, f"holds numpy {dtype}, which cannot cross", "convert it to a plain numeric dtype")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _unbase64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _complex_from_json(parts: Any) -> complex:
    real, imaginary = parts
    return complex(from_json(real), from_json(imaginary))


def _datetime_to_json(value: dt.datetime, path: str) -> Any:
    zone = zone_to_json(value.tzinfo, path)
    if zone is not None and zone.get("pytz"):  # such a zone object belongs to one instant, so the UTC time is sent
        return [value.astimezone(dt.timezone.utc).replace(tzinfo=None).isoformat(), value.fold, zone]  # noqa: UP017
    return [value.replace(tzinfo=None).isoformat(), value.fold, zone]


def _datetime_from_json(value: Any) -> dt.datetime:
    text, fold, zone = value
    naive = dt.datetime.fromisoformat(text)
    if naive.tzinfo is not None:
        raise Corrupt("a time zone where none belongs")
    tzinfo = zone_from_json(zone)
    if zone is not None and zone.get("pytz"):
        instant = naive.replace(tzinfo=dt.timezone.utc)  # noqa: UP017
        return instant.astimezone(tzinfo).replace(fold=fold)
    return naive.replace(tzinfo=tzinfo, fold=fold)


def _time_to_json(value: dt.time, path: str) -> Any:
    return [value.replace(tzinfo=None).isoformat(), value.fold, zone_to_json(value.tzinfo, path)]


def _time_from_json(value: Any) -> dt.time:
    text, fold, zone = value
    return dt.time.fromisoformat(text).replace(tzinfo=zone_from_json(zone), fold=fold)


def _timestamp_to_json(value: Any, path: str) -> Any:
    return [int(value.asm8.view("i8")), value.unit, zone_to_json(value.tzinfo, path)]


def _timestamp_from_json(value: Any) -> Any:
    instant, unit, zone = value
    stamp = pd.Timestamp(np.datetime64(int(instant), _unit(unit)))
    return stamp if zone is None else stamp.tz_localize("UTC").tz_convert(zone_from_json(zone))


def _timedelta_from_json(value: Any) -> Any:
    length, unit = value
    return pd.Timedelta(np.timedelta64(int(length), _unit(unit)))


def _unit(text: Any) -> Any:
    if text not in ("s", "ms", "us", "ns"):
        raise Corrupt(f"{text!r} is not a unit of time")
    return text


def _dict_from_json(items: Any) -> dict[Any, Any]:
    keys = without_collisions([from_json(key) for key, _ in items])
    return {key: from_json(item) for key, (_, item) in zip(keys, items, strict=True)}


def frequency_name(text: Any) -> str:
    """Return `text` if it may be the name of a frequency, such as `W-SUN`.

    The length is limited because pandas parses the name, and a long text would take long.
    """
    if not isinstance(text, str) or len(text) > 64:
        raise Corrupt("a frequency that is none")
    return text


def _interval_from_json(value: Any) -> Any:
    left, right, closed = value
    return pd.Interval(from_json(left), from_json(right), closed=closed)


_WRITERS: dict[type, Callable[[Any, str], tuple[str, Any]]] = {
    type(pd.NA): lambda value, path: ("NA", 0),
    type(pd.NaT): lambda value, path: ("NaT", 0),
    bytes: lambda value, path: ("bytes", _base64(value)),
    complex: lambda value, path: ("complex", [to_json(value.real, path), to_json(value.imag, path)]),
    Decimal: lambda value, path: ("Decimal", str(value)),
    uuid.UUID: lambda value, path: ("UUID", value.hex),
    dt.date: lambda value, path: ("date", value.isoformat()),
    dt.time: lambda value, path: ("time", _time_to_json(value, path)),
    dt.datetime: lambda value, path: ("datetime", _datetime_to_json(value, path)),
    dt.timedelta: lambda value, path: ("timedelta", [value.days, value.seconds, value.microseconds]),
    pd.Timestamp: lambda value, path: ("Timestamp", _timestamp_to_json(value, path)),
    pd.Timedelta: lambda value, path: ("Timedelta", [int(value.asm8.view("i8")), value.unit]),
    pd.Period: lambda value, path: ("Period", [value.ordinal, value.freqstr]),
}

_READERS: dict[Any, Callable[[Any], Any]] = {
    "NA": lambda _: pd.NA,
    "NaT": lambda _: pd.NaT,
    "int": lambda text: int(text, 16),
    "float": float,
    "tuple": lambda items: tuple(from_json(item) for item in items),
    "set": lambda items: set(without_collisions([from_json(item) for item in items])),
    "frozenset": lambda items: frozenset(without_collisions([from_json(item) for item in items])),
    "dict": lambda items: _dict_from_json(items),
    "ndarray": _array_from_json,
    "numpy": _numpy_scalar_from_json,
    "bytes": _unbase64,
    "complex": _complex_from_json,
    "Decimal": Decimal,
    "UUID": lambda text: uuid.UUID(hex=text),
    "date": dt.date.fromisoformat,
    "time": _time_from_json,
    "datetime": _datetime_from_json,
    "timedelta": lambda parts: dt.timedelta(parts[0], parts[1], parts[2]),
    "Timestamp": _timestamp_from_json,
    "Timedelta": _timedelta_from_json,
    "Period": lambda parts: pd.Period(ordinal=int(parts[0]), freq=frequency_name(parts[1])),
    "Interval": _interval_from_json,
}
