"""Numbers of data as a person reads them, the same in a table and in a sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

DIGITS = 6
"""Significant digits of a number that is not in a column of numbers."""

_LARGEST_DIGITS = 4
"""Significant digits of the largest number of a column, if it has more than two decimals."""

_MOST_DECIMALS = 8

_NUMBER = re.compile(r"-?\d{1,15}(\.\d+)?")
_FLOAT = re.compile(r"-?\d+\.\d+(e[-+]\d+)?|-?\d+e[-+]\d+")


def number_text(value: float, digits: int = 12) -> str:
    """A number with `digits` significant digits, but never fewer than its integer part has."""
    if not math.isfinite(value):
        return str(float(value))
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    whole = len(str(int(abs(value)))) if abs(value) < 1e15 else 0
    return format(float(value), f".{max(digits, whole)}g")


def in_full(value: float) -> str:
    """A number with the fewest digits that identify it."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def alike(texts: Sequence[str], beside: Sequence[str] = ()) -> list[str]:
    """Numbers with the same decimals: those that they and the numbers `beside` them need. Other texts stay."""
    decimals = _decimals([*texts, *beside])
    return [rounded(text, decimals) for text in texts]


def rounded(text: str, decimals: int | None = None) -> str:
    """A number that is written in full, with so many decimals, or with the digits that matter."""
    if decimals is not None and _NUMBER.fullmatch(text):
        return f"{float(text):.{decimals}f}" if decimals else text
    if not _FLOAT.fullmatch(text):
        return text
    whole = len(text.lstrip("-").partition(".")[0])
    return number_text(float(text), DIGITS if "e" in text else max(DIGITS, whole + 2))


def _decimals(texts: Sequence[str]) -> int | None:
    """The decimals of all numbers of a column; None if they are of too different sizes for that."""
    written = [text for text in texts if _NUMBER.fullmatch(text)]
    needed = max((len(text.partition(".")[2]) for text in written), default=0)
    sizes = [abs(float(text)) for text in written if float(text)]
    if not sizes or any("e" in text for text in texts if _FLOAT.fullmatch(text)):
        return None
    shown = max(2, _LARGEST_DIGITS - 1 - math.floor(math.log10(max(sizes))))
    while shown < needed and min(sizes) < 0.5 * 10**-shown:  # a number that is not zero does not look like it
        shown += 1
    return min(needed, shown) if shown <= _MOST_DECIMALS else None
