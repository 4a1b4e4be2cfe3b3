"""Converts values: between the notebook and the sandbox, to typed JSON and back, and to text.

Values of types that the sandbox has cross unchanged. Scalars of pandas and numpy become Python values. Frames stay
outside, as handles. All other types are refused by name, and so are values that are too large: they would end the
sandbox's process, while a refusal is an error that the program can catch.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import inspect
import itertools
import json
import math
import reprlib
from collections.abc import Callable, Iterator
from typing import Any

from autocoder_jupyter.errors import UnsupportedData
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.untrusted.visible import visible, visible_block

# Between notebook and sandbox

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
        """The value for the sandbox."""
        numbers = itertools.count()
        counter = _SizeCounter(self._limit, what)
        return self._in(value, counter, 0, lambda table: self._wrap(table, f"{origin}/{next(numbers)}"))

    def plain(self, value: Any, what: str) -> Any:
        """Like `inward`, but with tables unchanged."""
        return self._in(value, _SizeCounter(self._limit, what), 0, lambda table: table)

    def _in(self, value: Any, counter: _SizeCounter, level: int, wrap: Wrap) -> Any:
        if level > LEVELS:
            raise UnsupportedData(
                f"{counter.what} gave a value that is nested deeper than {LEVELS} levels, or in itself."
            )
        counter.add(_VALUE_BYTES)
        if is_frame(value):
            return wrap(value)
        value = single_value(value, counter.what)
        if is_array(value):
            counter.add(2 * _VALUE_BYTES * value.size)
            value = value.tolist()
        kind = type(value)
        if isinstance(value, str):
            return self._text(value, counter)
        if isinstance(value, bytes | bytearray | memoryview):
            counter.add(len(value))
            return bytes(value)
        if isinstance(value, dict):
            keys = [self._in(key, counter, level + 1, wrap) for key in value]
            items = [self._in(item, counter, level + 1, wrap) for item in value.values()]
            return dict(zip(_keys(keys, counter.what), items, strict=True))
        if isinstance(value, list | tuple | set | frozenset):
            counter.add(_VALUE_BYTES * len(value))
            return _collected(value, [self._in(item, counter, level + 1, wrap) for item in value], counter.what)
        if isinstance(value, int) and not isinstance(value, bool):
            counter.add(value.bit_length() // 8)
            return int(value)
        if isinstance(value, _PLAIN):
            return value
        raise UnsupportedData(
            f"{counter.what} gave a {kind.__module__}.{kind.__qualname__}, which the sandbox does not have.",
            hint="Return plain values (numbers, texts, dates, lists, dicts) or a DataFrame.",
        )

    @staticmethod
    def _text(value: str, counter: _SizeCounter) -> str:
        counter.add(len(value) * 2)
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UnsupportedData(
                f"{counter.what} gave a text with {value[error.start]!r} in it, which is invalid Unicode."
            ) from None
        return str(value)

    def outward(self, value: Any, what: str) -> Any:
        """The program's value for the user's function, with frames instead of handles."""
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
            return dict(zip(_keys(keys, what), items, strict=True))
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
    return kind(items if kind in (list, tuple) else _keys(items, what))


def _hashable(keys: list[Any]) -> list[Any]:
    """Keys of a dict or set that is going to be built; see `without_collisions`."""
    if all(type(key) is str for key in keys):
        return keys
    from autocoder_jupyter.codec.plain import without_collisions  # imports pandas

    return without_collisions(keys)


def _keys(keys: list[Any], what: str) -> list[Any]:
    """The same; the error names what they were given to or come from."""
    if all(type(key) is str for key in keys):
        return keys
    from autocoder_jupyter.codec.plain import Corrupt  # imports pandas

    try:
        return _hashable(keys)
    except Corrupt:
        raise UnsupportedData(
            f"{what}: a set or dict has too many keys with the same hash, and would take too long to build.",
            hint="Give a list instead.",
        ) from None


class _SizeCounter:
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
    """A scalar of pandas or numpy as a Python value, a missing one as None; any other value unchanged."""
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


# Typed JSON
#
# For records and for the pipe to the process of the sandbox. Records are untrusted, so what is decoded is checked.

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
"""Python does not write longer integers in base ten."""

_SETS: dict[str, Callable[[list[Any]], Any]] = {"set": set, "frozenset": frozenset}


class NotRecordable(ValueError):
    """A value that cannot be recorded, such as a frame."""


def _refuse(value: Any) -> Any:
    raise NotRecordable(f"a {type(value).__name__} is not recorded")


def encode(value: Any, other: Callable[[Any], Any] = _refuse) -> Any:
    """A plain Python value as JSON values."""
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
    """The value of a record."""
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
        keys = _hashable([decode(key, other) for key, _ in value])
        return dict(zip(keys, (decode(item, other) for _, item in value), strict=True))
    if kind in _SETS:
        return _SETS[kind](_hashable([decode(item, other) for item in value]))
    if kind == "tuple":
        return tuple(decode(item, other) for item in value)
    if kind not in _FROM_TEXT:
        return other({_TYPE: kind, _VALUE: value})
    return _FROM_TEXT[kind](str(value))


# Text
#
# Values, errors and output are shortened for the user, and cut in the middle for the model.

LITTLE = 120
"""The maximum number of characters of an argument list or a value on a card."""

LONGEST = 100_000
"""The maximum number of characters of a value before it is shortened."""


class Shown:
    """Writes untrusted values as text. Secrets and personal identifiers get the same placeholders throughout a run.

    Args:
        most: the maximum number of characters of one block for the model.
        shapes: whether the model may see how many rows and columns a table has.
    """

    def __init__(self, most: int, *, shapes: bool) -> None:
        self._most = most
        self._shapes = shapes
        self._masker = Masker()

    def arguments(self, arguments: inspect.BoundArguments) -> str:
        """`currency='EUR', day=datetime.date(2026, 1, 5)`."""
        written = []
        for name, value in arguments.arguments.items():
            kind = arguments.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                written += [_little(one) for one in value]
            elif kind is inspect.Parameter.VAR_KEYWORD:
                written += [f"{key}={_little(one)}" for key, one in value.items()]
            else:
                written.append(f"{name}={_little(value)}")
        return self._line(", ".join(written))

    def value(self, value: Any) -> str:
        """A value on one short line."""
        return self._line(_little(value))

    def text(self, text: str) -> str:
        """A text on one short line."""
        return self._line(text)

    def for_model(self, text: str) -> str:
        """Text for the model: shortened, control characters escaped, private values masked."""
        # It is cut before masking to limit the time, and again after it, because masking must see whole secrets.
        return bounded(self._masker.mask(visible_block(bounded(text, 4 * self._most))), self._most)

    def value_for_model(self, value: Any) -> str:
        """The `repr` of a value; of a large value the beginning of each part; of a table at most its shape."""
        writer = _writer(most=2_000, text=LONGEST, levels=8)
        writer.shapes = self._shapes
        return self.for_model(writer.repr(value))

    def _line(self, text: str) -> str:
        masked = self._masker.mask(visible(text[: 4 * LITTLE]))
        return masked if len(masked) <= LITTLE else masked[: LITTLE - 1] + "…"


def bounded(text: str, most: int) -> str:
    """The beginning and the end of a text, with the number of characters left out between them."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[len(text) - tail :]}"


def _little(value: Any) -> str:
    return _writer(most=6, text=60, levels=3).repr(value)


def _writer(*, most: int, text: int, levels: int) -> _ShortRepr:
    writer = _ShortRepr()
    for kind in ("list", "tuple", "dict", "set", "frozenset", "deque", "array"):
        setattr(writer, f"max{kind}", most)
    writer.maxstring = writer.maxother = writer.maxlong = text
    writer.maxlevel = levels
    return writer


class _ShortRepr(reprlib.Repr):
    """`reprlib` that writes tables with their shape, or without it."""

    shapes = True
    room = LONGEST

    def repr1(self, x: Any, level: int) -> str:
        if self.room <= 0:  # nested lists could make the text very long
            return "..."
        written = self._written(x, level)
        self.room -= len(written) if not isinstance(x, list | tuple | dict | set | frozenset) else 4
        return written

    def _written(self, x: Any, level: int) -> str:
        if not is_frame(x):
            return super().repr1(x, level)
        shape = " × ".join(f"{count:,}" for count in x.shape)
        return f"<Frame, {shape}>" if self.shapes else "<Frame>"

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        """Like `reprlib`, but with the keys in their original order."""
        if level <= 0 and x:
            return "{...}"
        pieces = [
            f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}"
            for key, value in itertools.islice(x.items(), self.maxdict)
        ]
        return f"{{{', '.join([*pieces, '...'] if len(x) > self.maxdict else pieces)}}}"
