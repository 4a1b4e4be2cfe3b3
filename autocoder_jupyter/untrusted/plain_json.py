"""Parse untrusted JSON, with limits on its size and nesting."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from autocoder_jupyter.untrusted.valid_unicode import valid_record

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

    Args:
        text: the JSON.
        values: most values.
        is_piece: its texts are pieces of longer ones, so a half of a surrogate pair at an end is kept: the next piece
            may begin with the other half. Elsewhere halves become U+FFFD.

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
    """Return `parsed` if its nesting and its number of values are within the limits. Then recursion on it is safe.

    Raises:
        ValueError: it is nested deeper than `LEVELS`, or has more than `values` values.
    """
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
