"""Which columns a request speaks of. Those are always told in full, however wide the table is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MOST = 60
"""So many columns are taken for named; a request that names more speaks of all."""

_WORDS = re.compile(r"[^\W_]+")
_LONGEST_PHRASE = 6


def mentioned(labels: Iterable[Any], text: str) -> tuple[int, ...]:
    """Positions of the columns that a text names, in ascending order.

    Case, blanks and signs between words do not count: `order date` names `OrderDate` and `order_date`.

    Args:
        labels: of all columns.
        text: what a person wrote: prose, constraints, expressions.
    """
    words = _WORDS.findall(text.casefold())
    if not words:
        return ()
    joined = "".join(words)
    phrases = {
        "".join(words[start : start + length])
        for length in range(1, _LONGEST_PHRASE + 1)
        for start in range(len(words) - length + 1)
    }
    found = (place for place, label in enumerate(labels) if _names(label, phrases, joined))
    return tuple(place for place, _ in zip(found, range(MOST), strict=False))


def _names(label: Any, phrases: set[str], joined: str) -> bool:
    if isinstance(label, tuple):
        return any(_names(part, phrases, joined) for part in label)
    words = _WORDS.findall(str(label).casefold()) if isinstance(label, str | int) else []
    key = "".join(words)
    if len(words) > _LONGEST_PHRASE:
        return key in joined
    return bool(key) and (key in phrases or f"{key}s" in phrases)
