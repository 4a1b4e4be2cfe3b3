"""Find the columns that a request mentions, by name or by value. They are described in full in any table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from autocoder_jupyter.data.sample import sample_rows

MOST = 60
"""Maximum number of mentioned columns. A request that mentions more is about all columns."""

_WORDS = re.compile(r"[^\W_]+")
_LONGEST_PHRASE = 6


def mentioned(labels: Iterable[Any], text: str) -> tuple[int, ...]:
    """Positions of the columns that a text mentions, in ascending order.

    Case, blanks and punctuation between words are ignored: `order date` matches `OrderDate` and `order_date`.

    Args:
        labels: the labels of all columns.
        text: the user's text: request, constraints, expressions.
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


_LABELLED = 30
_LOOKED_AT = 500
_ROWS, _LABELS = 200, 12


def columns_of_labels(frame: pd.DataFrame, places: Sequence[int]) -> tuple[int, ...]:
    """Positions of columns with a few repeated texts, which a request may mention as values: at most 30.

    Args:
        frame: the table; a few hundred of its rows are examined.
        places: the candidate columns; of very many, only the first are examined.
    """
    kinds = (pd.StringDtype, pd.CategoricalDtype)
    dtypes = list(frame.dtypes)
    texts = [place for place in places if isinstance(dtypes[place], kinds) or dtypes[place].kind == "O"][:_LOOKED_AT]
    few = sample_rows(frame.iloc[:, texts], _ROWS)
    found = (place for at, place in enumerate(texts) if _are_labels(few.iloc[:, at]))
    return tuple(place for place, _ in zip(found, range(_LABELLED), strict=False))


def _are_labels(column: pd.Series[Any]) -> bool:
    try:
        distinct = int(column.nunique())
    except TypeError:
        return False  # lists and dicts
    return 1 < distinct <= _LABELS and distinct <= len(column) // 2


def _names(label: Any, phrases: set[str], joined: str) -> bool:
    if isinstance(label, tuple):
        return any(_names(part, phrases, joined) for part in label)
    words = _WORDS.findall(str(label).casefold()) if isinstance(label, str | int) else []
    key = "".join(words)
    if len(words) > _LONGEST_PHRASE:
        return key in joined
    return bool(key) and (key in phrases or f"{key}s" in phrases)
