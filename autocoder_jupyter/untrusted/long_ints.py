"""Integers of more digits than Python converts to text by default: shown by their first digits and their number."""

from __future__ import annotations

from typing import Any

_LONGEST = 4_000
"""Digits; `str` refuses from 4,300 on, because it takes time that grows with their square."""

_LONG = 10**_LONGEST
_SHOWN = 20


class _Long:
    """Stands in the place of a long integer where a value is written."""

    def __init__(self, value: int) -> None:
        size = abs(value)
        digits = int(size.bit_length() * 0.30102999566398120)  # log10(2), so at most one too many or too few
        digits += size >= 10**digits
        self._text = f"{'-' * (value < 0)}{size // 10 ** (digits - _SHOWN)}… ({digits:,} digits)"

    def __repr__(self) -> str:
        return self._text


def shortened(value: Any) -> Any:
    """`value` to be written: in dicts, lists, tuples and sets too, long integers have a short text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _Long(value) if abs(value) >= _LONG else value
    if type(value) is dict:
        return {shortened(key): shortened(item) for key, item in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(shortened(item) for item in value)
    return value


def pretty_int(value: int, printer: Any, _cycle: bool) -> None:
    """Writes an int, alone or inside of something, for IPython."""
    printer.text(repr(shortened(value)))
