"""Show integers that have too many digits for `str`: their first digits and the number of digits."""

from __future__ import annotations

import math
from typing import Any

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
