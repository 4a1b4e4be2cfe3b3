"""Converts values between the notebook and the sandbox.

Values of types that the sandbox has cross unchanged. Scalars of pandas and numpy become Python values. Frames stay
outside, as handles. All other types are refused by name, and so are values that are too large: they would end the
sandbox's process, while a refusal is an error that the program can catch.
"""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import inspect
import itertools
import reprlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from autocoder_jupyter.errors import UnsupportedData
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.untrusted.parsing import parse, visible, visible_block

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
        taken = _Taken(self._limit, what)
        return self._in(value, taken, 0, lambda table: self._wrap(table, f"{origin}/{next(numbers)}"))

    def plain(self, value: Any, what: str) -> Any:
        """Like `inward`, but with tables unchanged."""
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
    from autocoder_jupyter.codec.plain import (
        Corrupt,
        without_collisions,  # imports pandas
    )

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


# Values, errors and output as text: shortened for the user; cut in the middle for the model.


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


# Reads a block of code before it runs, whether a model wrote it now or it comes from a record.
#
# The names of tools and frames always mean what the user passed. Otherwise earlier code, which may come from somebody
# else, could put another function in the place of a harmless tool, and later code would call it.


_RUN_TEXT = frozenset({"exec", "eval", "compile", "globals", "locals", "__builtins__", "__import__"})
"""Built-ins that could bind a name without naming it in the syntax tree."""

_BINDS_NOTHING = {
    (ast.Attribute, "attr"),
    (ast.Constant, "kind"),
    (ast.Constant, "value"),
    (ast.ImportFrom, "module"),
    (ast.MatchClass, "kwd_attrs"),
    (ast.keyword, "arg"),
}
"""Fields that contain names without binding them. A field that is not here counts as one that does, also a field of a
later version of Python."""


def runnable(source: str, reserved: Iterable[str]) -> str:
    """The code as it is run. Line numbers do not change."""
    tree = parse(source)
    _require_names_unbound(tree, {unicodedata.normalize("NFKC", name) for name in reserved})
    return _with_own_to_thread(source, tree)


def _require_names_unbound(tree: ast.Module, reserved: set[str]) -> None:
    for node in ast.walk(tree):
        for name in _bound_by(node):
            if name in reserved:
                raise _error(
                    node,
                    f"{name!r} is the name of a tool or a frame. It cannot be assigned, defined, deleted or used for a "
                    "parameter; choose another name",
                )
        if isinstance(node, ast.alias) and node.name == "*":
            raise _error(node, "import the names that you need, not *")
        if isinstance(node, ast.Name) and node.id in _RUN_TEXT:
            raise _error(node, f"{node.id} is not available")


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a node may bind, without its children; of a change of an attribute or item the changed name."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        yield from _root(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
        yield from _root(*node.args[:1])
    for field, value in ast.iter_fields(node):
        if (type(node), field) not in _BINDS_NOTHING:
            for text in value if isinstance(value, list) else (value,):
                if isinstance(text, str):
                    yield text.partition(".")[0]  # `import a.b` binds `a`


def _root(*nodes: ast.expr) -> Iterator[str]:
    """`a` of `a.b[0].c`."""
    for node in nodes:
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            yield node.id


def _error(node: ast.AST, message: str) -> SyntaxError:
    return SyntaxError(message, ("", getattr(node, "lineno", None), None, None))


def _with_own_to_thread(source: str, tree: ast.Module) -> str:
    """The code with our `to_thread` instead of asyncio's, which the sandbox lacks."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "to_thread" and ast.unparse(node.value) == "asyncio"
    ]
    lines = source.encode().splitlines(keepends=True)
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        if node.lineno == node.end_lineno:
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line[: node.col_offset] + b"to_thread" + line[node.end_col_offset :]
    return b"".join(lines).decode()
