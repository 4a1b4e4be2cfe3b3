"""Read JSON that is not trusted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

LEVELS = 64
"""Levels of nesting at most; our own files have far fewer."""

VALUES = 1_000_000
"""So many values there may be in all: an empty list takes two characters of text and thirty times that in memory."""

_MARKS = 3
"""Brackets and commas per value at most; those inside of texts count too."""


def parse(text: str | bytes, *, values: int = VALUES) -> Any:
    """Parse JSON.

    Raises:
        ValueError: it is no JSON, a number has too many digits, or it is nested deeper than `LEVELS` or holds more
            than `values` lists, objects, texts and numbers.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if sum(map(text.count, "[{,")) > _MARKS * values:  # before there is anything of it in memory
        raise ValueError(f"it may hold more than {values:,} values")
    try:
        parsed = json.loads(text)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {LEVELS} levels") from None
    return bounded(parsed, values=values)


def bounded(parsed: Any, *, values: int = VALUES) -> Any:
    """The same, when it is not nested deeper than `LEVELS` and holds no more values: it can be walked by recursion.

    Raises:
        ValueError: it is, or does.
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


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
