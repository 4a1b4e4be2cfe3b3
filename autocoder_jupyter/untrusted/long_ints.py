"""Show integers that have too many digits for `str`: their first digits and the number of digits."""

from __future__ import annotations

from typing import Any

_LONGEST = 4_000
"""Digits. By default `str` refuses integers with more than 4,300, because the time grows with the square."""

_LONG = 10**_LONGEST
_SHOWN = 20


class _Long:
    """Replaces a long integer in a value that is shown."""

    def __init__(self, value: int) -> None:
        size = abs(value)
        digits = int(size.bit_length() * 0.30102999566398120)  # times log10(2); at most one too many or too few
        digits += size >= 10**digits
        self._text = f"{'-' * (value < 0)}{size // 10 ** (digits - _SHOWN)}… ({digits:,} digits)"

    def __repr__(self) -> str:
        return self._text


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
