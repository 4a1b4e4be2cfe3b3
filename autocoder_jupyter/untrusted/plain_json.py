"""Parse untrusted JSON, with limits on its size and nesting, as valid Unicode, and show very long integers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

# JSON

LEVELS = 64
"""Most levels of nesting. The files of this package have far fewer."""

VALUES = 1_000_000
"""Most values in all. A limit is needed because an empty list takes two characters of text, but 56 bytes in memory."""

_MARKS = 3
"""Most brackets and commas per value. Those inside of strings are counted, too."""

_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")

_AT_ONCE = 2**20
"""Bytes. The parser of the standard library holds the GIL while it reads a text, so a longer one is read in parts."""


def parse(text: str | bytes, *, values: int = VALUES, is_piece: bool = False) -> Any:
    """Parse JSON.

    Raises:
        ValueError: it is not JSON, a number has too many digits, it is nested deeper than `LEVELS`, or it has more
            than `values` lists, objects, texts and numbers.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if sum(map(text.count, "[{,")) > _MARKS * values:  # checked before memory is allocated for the values
        raise ValueError(f"it may hold more than {values:,} values")
    if len(text) > _AT_ONCE:
        from autocoder_jupyter.codec import bounded_json  # imports pandas

        allowance = bounded_json.Allowance(items=values)
        parsed = bounded(bounded_json.parse(text.encode("utf-8", "surrogatepass"), allowance), values=values)
        return parsed if is_piece else _valid(parsed, text)
    try:
        parsed = json.loads(text)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {LEVELS} levels") from None
    bounded(parsed, values=values)
    return parsed if is_piece else _valid(parsed, text)


def _valid(parsed: Any, text: str) -> Any:
    """The value with valid Unicode. JSON can have escapes for halves of surrogate pairs, which no file can hold."""
    return valid_record(parsed) if _HALF.search(text) else parsed


def bounded(parsed: Any, *, values: int = VALUES) -> Any:
    """Return `parsed` if its nesting and its number of values are within the limits. Then recursion on it is safe."""
    level, count = [parsed], 0
    for _ in range(LEVELS):
        count += len(level)
        if count > values:
            raise ValueError(f"it holds more than {values:,} values")
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return parsed
    raise ValueError(f"it is nested deeper than {LEVELS} levels")


def is_finite(parsed: Any) -> bool:
    """Whether all numbers of a value that was parsed here are finite. JSON that others read has no other ones."""
    level = [parsed]
    while level:
        if not all(math.isfinite(value) for value in level if type(value) is float):
            return False
        level = [inner for outer in level for inner in _inside(outer)]
    return True


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


# Valid Unicode. JSON can contain halves of surrogate pairs, which no file and no request can.


def valid_unicode(text: str) -> str:
    """The text with its halves of surrogate pairs joined. A half without its other half becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def valid_record(value: Any) -> Any:
    """A value of JSON whose texts and names are valid Unicode."""
    if isinstance(value, str):
        return valid_unicode(value)
    if isinstance(value, dict):
        return {valid_unicode(str(name)): valid_record(part) for name, part in value.items()}
    if isinstance(value, list):
        return [valid_record(part) for part in value]
    return value


class TextPieces:
    """Text that arrives in pieces, as valid Unicode. A pair may be split between two pieces."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """The text that is complete with this piece."""
        piece = self._half + piece
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return valid_unicode(piece[: len(piece) - len(self._half)])

    def end(self) -> str:
        """The rest of the text."""
        return valid_unicode(self._half)


# Integers with too many digits for `str`. Their first digits and the number of digits are shown.

_LONGEST = 4_000
"""Digits. By default `str` refuses integers with more than 4,300, because the time grows with the square."""

_LONG = 10**_LONGEST
_SHOWN = 20

_EXACT_BITS = 100_000
"""The first digits of longer integers are computed from their logarithm, because a division takes minutes."""

_ROUNDED = 5
"""Digits that are exact then."""


class _Long:
    """Replaces a long integer in a value that is shown."""

    def __init__(self, value: int) -> None:
        first, digits = _exact(abs(value)) if value.bit_length() <= _EXACT_BITS else _rounded(abs(value))
        self._text = f"{'-' * (value < 0)}{first}… ({digits:,} digits)"

    def __repr__(self) -> str:
        return self._text


def _exact(size: int) -> tuple[int, int]:
    digits = int(size.bit_length() * math.log10(2))  # at most one too many or too few
    digits += size >= 10**digits
    return size // 10 ** (digits - _SHOWN), digits


def _rounded(size: int) -> tuple[int, int]:
    shift = size.bit_length() - 64
    power, rest = divmod(math.log10(size >> shift) + shift * math.log10(2), 1)
    return int(10 ** (rest + _ROUNDED - 1)), int(power) + 1


def shortened(value: Any) -> Any:
    """A copy of `value` to be shown: long integers, also in dicts, lists, tuples and sets, have a short text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _Long(value) if abs(value) >= _LONG else value
    if type(value) is dict:
        return {shortened(key): shortened(item) for key, item in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(shortened(item) for item in value)
    return value


def pretty_int(value: int, printer: Any, _cycle: bool) -> None:
    """Print an int for IPython's pretty printer."""
    printer.text(repr(shortened(value)))
