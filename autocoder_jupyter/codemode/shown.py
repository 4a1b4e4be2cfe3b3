"""Values, errors and output as text: shortened for the user; cut in the middle for the model."""

from __future__ import annotations

import inspect
import itertools
import reprlib
from typing import Any

from autocoder_jupyter.codemode.crossing import is_frame
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.untrusted.parsing import visible, visible_block

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
