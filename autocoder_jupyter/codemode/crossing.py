"""Conversion of values on their way into the sandbox and out of it.

What the interpreter there has goes as it is, types kept. pandas' and numpy's single values become Python's. Frames stay
outside, as handles. Everything else is refused by name, and so is what would be too much: too large an input ends the
sandbox's process, while a refusal is an error that the program can catch.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
from collections.abc import Callable
from typing import Any

from autocoder_jupyter.errors import UnsupportedData

LEVELS = 40
"""So deep values may stand in each other."""

_VALUE_BYTES = 128
_PLAIN = (bool, int, float, complex, dt.date, dt.time, dt.timedelta, decimal.Decimal, type(None), type(...))

Wrap = Callable[[Any], Any]
WrapNamed = Callable[[Any, str], Any]


class Crossing:
    """Turns values over, in both directions.

    Args:
        limit: bytes that one value may take in the sandbox.
        wrap: makes what stands for a DataFrame or Series in the sandbox, from it and a name for it.
        unwrap: takes what came back from there for a host object and gives the object; LookupError for any other.
    """

    def __init__(self, limit: int, wrap: WrapNamed, unwrap: Wrap) -> None:
        self._limit = limit
        self._wrap = wrap
        self._unwrap = unwrap

    def inward(self, value: Any, what: str, origin: str) -> Any:
        """The value as the sandbox takes it.

        Args:
            value: any.
            what: whose it is, for the error: `fetch_prices`.
            origin: names where it comes from; the tables in it are named after that.

        Raises:
            UnsupportedData: it cannot cross, or is too large.
        """
        numbers = itertools.count()
        return self._in(
            value, _Taken(self._limit, what), 0, lambda table: self._wrap(table, f"{origin}/{next(numbers)}")
        )

    def plain(self, value: Any, what: str) -> Any:
        """The same with tables as they are.

        Raises:
            UnsupportedData: as `inward`.
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
            return {
                self._in(key, taken, level + 1, wrap): self._in(item, taken, level + 1, wrap)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple | set | frozenset):
            taken.add(_VALUE_BYTES * len(value))
            items = [self._in(item, taken, level + 1, wrap) for item in value]
            plain = next(plain for plain in (list, tuple, frozenset, set) if isinstance(value, plain))
            return plain(items)
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
                f"{taken.what} gave a text with {value[error.start]!r} in it, which is no character."
            ) from None
        return str(value)

    def outward(self, value: Any, what: str) -> Any:
        """What the program gave, as the user's function takes it: handles as their frames.

        Args:
            value: from the sandbox.
            what: where it goes, for the error.

        Raises:
            UnsupportedData: it exists in the sandbox only, such as a class of the program.
        """
        return self._out(value, what, 0)

    def _out(self, value: Any, what: str, level: int) -> Any:
        if level > 4 * LEVELS:
            raise UnsupportedData(f"{what} was given a value that is nested too deep.")
        if isinstance(value, (str, bytes, *_PLAIN)):
            return value
        if isinstance(value, dict):
            return {self._out(key, what, level + 1): self._out(item, what, level + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            kind = next(kind for kind in (list, tuple, frozenset, set) if isinstance(value, kind))
            return kind(self._out(item, what, level + 1) for item in value)
        try:
            return self._unwrap(value)
        except LookupError:
            pass
        name = getattr(value, "name", None) or type(value).__name__
        raise UnsupportedData(
            f"{what} was given {name}, which exists in the program only.",
            hint="Give plain values, such as a dict of its fields, or a Frame.",
        )


class _Taken:
    """Counts what a value takes in the sandbox, and refuses before it is built there."""

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
    """Whether it is a DataFrame or Series, of pandas; pandas is not imported for the question."""
    kind = type(value)
    return any(
        base.__module__.split(".")[0] == "pandas" and base.__name__ in ("DataFrame", "Series") for base in kind.__mro__
    )


def is_array(value: Any) -> bool:
    """Whether it is an array of numpy, which is not imported for the question."""
    return any(f"{base.__module__}.{base.__name__}" == "numpy.ndarray" for base in type(value).__mro__)


def single_value(value: Any, what: str) -> Any:
    """A single value of pandas or numpy as Python's, a missing one as None; anything else as it is.

    Raises:
        UnsupportedData: a moment with nanoseconds, which would be lost.
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
