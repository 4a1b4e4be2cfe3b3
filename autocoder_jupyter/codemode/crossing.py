"""Converts values between the notebook and the sandbox.

Values of types that the sandbox has cross unchanged. Scalars of pandas and numpy become Python values. Frames stay
outside, as handles. All other types are refused by name, and so are values that are too large: they would end the
sandbox's process, while a refusal is an error that the program can catch.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from autocoder_jupyter.errors import UnsupportedData

LEVELS = 40
"""The maximum nesting depth of values."""

VALUES = 2_000_000
"""The maximum number of values that leave the sandbox at once. An object that occurs twice counts twice."""

_VALUE_BYTES = 128
_PLAIN = (bool, int, float, complex, dt.date, dt.time, dt.timedelta, decimal.Decimal, type(None), type(...))

Wrap = Callable[[Any], Any]
WrapNamed = Callable[[Any, str], Any]


class Crossing:
    """Converts values, in both directions.

    Args:
        limit: the maximum bytes of one value in the sandbox.
        wrap: makes a handle from a DataFrame or Series and its name.
        unwrap: returns the object of a handle from the sandbox; LookupError for any other value.
    """

    def __init__(self, limit: int, wrap: WrapNamed, unwrap: Wrap) -> None:
        self._limit = limit
        self._wrap = wrap
        self._unwrap = unwrap

    def inward(self, value: Any, what: str, origin: str) -> Any:
        """The value for the sandbox.

        Args:
            value: any value.
            what: the source of the value for error messages, such as `fetch_prices`.
            origin: the origin of the value. The tables in it get names from this.

        Raises:
            UnsupportedData: it cannot cross, or is too large.
        """
        numbers = itertools.count()
        taken = _Taken(self._limit, what)
        return self._in(value, taken, 0, lambda table: self._wrap(table, f"{origin}/{next(numbers)}"))

    def plain(self, value: Any, what: str) -> Any:
        """Like `inward`, but with tables unchanged.

        Raises:
            UnsupportedData: see `inward`.
        """
        return self._in(value, _Taken(self._limit, what), 0, lambda table: table)

    def _in(self, value: Any, taken: _Taken, level: int, wrap: Wrap) -> Any:
        if level > LEVELS:
            raise UnsupportedData(
                f"{taken.what} gave a value that is nested deeper than {LEVELS} levels, or in itself."
            )
        taken.add(_VALUE_BYTES)
        if is_frame(value):
            return wrap(value)
        value = single_value(value, taken.what)
        if is_array(value):
            taken.add(2 * _VALUE_BYTES * value.size)
            value = value.tolist()
        kind = type(value)
        if isinstance(value, str):
            return self._text(value, taken)
        if isinstance(value, bytes | bytearray | memoryview):
            taken.add(len(value))
            return bytes(value)
        if isinstance(value, dict):
            keys = [self._in(key, taken, level + 1, wrap) for key in value]
            items = [self._in(item, taken, level + 1, wrap) for item in value.values()]
            return dict(zip(_hashed(keys, taken.what), items, strict=True))
        if isinstance(value, list | tuple | set | frozenset):
            taken.add(_VALUE_BYTES * len(value))
            return _collected(value, [self._in(item, taken, level + 1, wrap) for item in value], taken.what)
        if isinstance(value, int) and not isinstance(value, bool):
            taken.add(value.bit_length() // 8)
            return int(value)
        if isinstance(value, _PLAIN):
            return value
        raise UnsupportedData(
            f"{taken.what} gave a {kind.__module__}.{kind.__qualname__}, which the sandbox does not have.",
            hint="Return plain values (numbers, texts, dates, lists, dicts) or a DataFrame.",
        )

    @staticmethod
    def _text(value: str, taken: _Taken) -> str:
        taken.add(len(value) * 2)
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UnsupportedData(
                f"{taken.what} gave a text with {value[error.start]!r} in it, which is invalid Unicode."
            ) from None
        return str(value)

    def outward(self, value: Any, what: str) -> Any:
        """The program's value for the user's function, with frames instead of handles.

        Args:
            value: a value from the sandbox.
            what: the receiver of the value, for error messages.

        Raises:
            UnsupportedData: it exists only in the sandbox, such as a class of the program; or it has too many values,
                such as a list that contains another one many times.
        """
        return self._out(value, what, 0, itertools.count())

    def _out(self, value: Any, what: str, level: int, values: Iterator[int]) -> Any:
        if level > 4 * LEVELS:
            raise UnsupportedData(f"{what} was given a value that is nested too deep.")
        if next(values) >= VALUES:
            raise UnsupportedData(
                f"{what} was given more than {VALUES:,} values.", hint="Give less, or give a Frame instead."
            )
        if isinstance(value, (str, bytes, *_PLAIN)):
            return value
        if isinstance(value, dict):
            keys = [self._out(key, what, level + 1, values) for key in value]
            items = [self._out(item, what, level + 1, values) for item in value.values()]
            return dict(zip(_hashed(keys, what), items, strict=True))
        if isinstance(value, list | tuple | set | frozenset):
            return _collected(value, [self._out(item, what, level + 1, values) for item in value], what)
        try:
            return self._unwrap(value)
        except LookupError:
            pass
        name = getattr(value, "name", None) or type(value).__name__
        raise UnsupportedData(
            f"{what} was given {name}, which exists in the program only.",
            hint="Give plain values, such as a dict of its fields, or a Frame.",
        )


def _collected(like: Any, items: list[Any], what: str) -> Any:
    """The items as a list, tuple or set, as `like` is."""
    kind = next(kind for kind in (list, tuple, frozenset, set) if isinstance(like, kind))
    return kind(items if kind in (list, tuple) else _hashed(items, what))


def _hashed(keys: list[Any], what: str) -> list[Any]:
    """Keys of a dict or set that is going to be built; see `without_collisions`."""
    if all(type(key) is str for key in keys):
        return keys
    from autocoder_jupyter.codec.collisions import without_collisions  # imports pandas
    from autocoder_jupyter.codec.errors import Corrupt

    try:
        return without_collisions(keys)
    except Corrupt:
        raise UnsupportedData(
            f"{what}: a set or dict has too many keys with the same hash, and would take too long to build.",
            hint="Give a list instead.",
        ) from None


class _Taken:
    """Counts the bytes of a value, and refuses it before it is built in the sandbox."""

    def __init__(self, limit: int, what: str) -> None:
        self.what = what
        self._limit = limit
        self._bytes = 0

    def add(self, count: int) -> None:
        self._bytes += count
        if self._bytes > self._limit:
            raise UnsupportedData(
                f"{self.what} gave more than the sandbox can take: over {self._limit // 2**20} MiB of values.",
                hint="Ask for less, or have the tool return a DataFrame, which stays outside and is worked on there.",
            )


def is_frame(value: Any) -> bool:
    """Whether it is a pandas DataFrame or Series; does not import pandas."""
    kind = type(value)
    return any(
        base.__module__.split(".")[0] == "pandas" and base.__name__ in ("DataFrame", "Series") for base in kind.__mro__
    )


def is_array(value: Any) -> bool:
    """Whether it is a numpy array; does not import numpy."""
    return any(f"{base.__module__}.{base.__name__}" == "numpy.ndarray" for base in type(value).__mro__)


def single_value(value: Any, what: str) -> Any:
    """A scalar of pandas or numpy as a Python value, a missing one as None; any other value unchanged.

    Raises:
        UnsupportedData: a timestamp with nanoseconds, which would be lost.
    """
    module = type(value).__module__.split(".")[0]
    if module not in ("pandas", "numpy"):
        return value
    import numpy as np
    import pandas as pd

    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    elif isinstance(value, np.timedelta64):
        value = pd.Timedelta(value)
    if value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        if value.nanosecond if isinstance(value, pd.Timestamp) else value.nanoseconds:
            raise UnsupportedData(
                f"{what} gave {value}, whose nanoseconds would be lost.", hint="Round it to microseconds."
            )
        return value.to_pydatetime() if isinstance(value, pd.Timestamp) else value.to_pytimedelta()
    if isinstance(value, np.generic):
        return value.item()
    return value
