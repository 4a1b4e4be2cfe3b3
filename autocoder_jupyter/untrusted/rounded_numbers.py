"""Round the numbers of a chart to what can be seen, so that a page has fewer characters to save."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

_DIGITS = 6
"""Significant digits of a number, and digits of the range of its list. A screen shows a few thousand places."""


def rounded(value: Any) -> Any:
    """A JSON value in which numbers of a list, or of one column of a list of rows, have fewer digits.

    A number keeps its first six digits, for an axis with a logarithmic scale, and changes by less than a hundred
    thousandth of the range of the list, for large numbers that differ little. Integers are not changed, nor is a number
    that stands alone.
    """
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    if not all(isinstance(row, dict) for row in value):
        decimals = _decimals(value)
        return [_round(part, decimals) if isinstance(part, float) else rounded(part) for part in value]
    columns: dict[str, list[Any]] = {}
    for row in value:
        for key, cell in row.items():
            columns.setdefault(key, []).append(cell)
    places = {key: _decimals(cells) for key, cells in columns.items()}
    return [
        {key: _round(cell, places[key]) if isinstance(cell, float) else rounded(cell) for key, cell in row.items()}
        for row in value
    ]


def _decimals(values: Iterable[Any]) -> int | None:
    """Decimals that show six digits of the range; None if there is no range."""
    numbers = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    span = max(numbers, default=0.0) - min(numbers, default=0.0)
    return _DIGITS - 1 - math.floor(math.log10(span)) if 0 < span < math.inf else None


def _round(value: float, decimals: int | None) -> float:
    if decimals is None or not value or not math.isfinite(value):
        return value
    return round(value, max(decimals, _DIGITS - 1 - math.floor(math.log10(abs(value)))))
