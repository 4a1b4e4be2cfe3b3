"""Choose the rows and columns of a table that are examined: sample rows, and the columns that a request mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from autocoder_jupyter.data.text_formats import is_null

# Sample rows
#
# They are chosen by position, with a fixed seed: the same rows on every machine.

FIRST_ROWS = 3
"""Number of rows from the top, which show the order of a table. The others are pseudo-random."""


def sample_positions(rows: int, count: int, first: int = FIRST_ROWS) -> npt.NDArray[np.int64]:
    """Positions of at most `count` different rows of `rows`, ascending: the first few, then pseudo-random ones.

    The generator is SplitMix64 (Steele, Lea, Flood 2014) on the row number, a few vector operations; numpy's own
    generators may change between versions.
    """
    count = max(0, min(count, rows))
    if count == rows:
        return np.arange(rows, dtype=np.int64)
    first = min(first, count)
    wanted, pool = count - first, rows - first
    if wanted * 3 >= pool:
        picked = np.argsort(_splitmix64(pool), kind="stable")[:wanted].astype(np.int64)
    else:
        # Twice as many draws as wanted: with a pool three times as large, the different ones among them suffice.
        draws = (_splitmix64(2 * wanted + 32) % np.uint64(pool)).astype(np.int64)
        _, places = np.unique(draws, return_index=True)
        picked = draws[np.sort(places)[:wanted]]
    return np.concatenate([np.arange(first, dtype=np.int64), np.sort(picked) + first])


def _splitmix64(count: int) -> npt.NDArray[np.uint64]:
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def sample_rows(frame: pd.DataFrame, count: int) -> pd.DataFrame:
    """The rows of `sample_positions`, as a frame with its own index."""
    if count >= len(frame):
        return frame
    return frame.iloc[sample_positions(len(frame), count)]


def sample_cells(column: pd.Series[Any], count: int) -> pd.Series[Any]:
    """The cells of a column in the rows of `sample_positions`."""
    return column if count >= len(column) else column.iloc[sample_positions(len(column), count)]


def spread(series: pd.Series[Any], count: int) -> list[Any]:
    """At most `count` values that are not missing, spread over a column, as Python objects in their order.

    The top of a column is not representative if it is sorted or combined from two files.
    """
    missing = missing_in(series).to_numpy(dtype=bool)
    return cells_of(sample_cells(series[~missing] if missing.any() else series, count))


def missing_in(series: pd.Series[Any]) -> pd.Series[bool]:
    """Which cells are missing, also if pandas fails (on a signalling NaN of decimal)."""
    try:
        return series.isna()
    except ArithmeticError:
        return pd.Series([is_null(value) for value in cells_of(series)], index=series.index)


def cells_of(series: pd.Series[Any]) -> list[Any]:
    """The values of a column as Python objects, whatever its dtype."""
    try:
        return list(series.astype(object))
    except Exception:
        # An extension array may refuse a conversion to object, but it must support iteration.
        return list(series.array)


# Columns that a request mentions, by name or by value. They are described in full in any table.

MOST = 60
"""Maximum number of mentioned columns. A request that mentions more is about all columns."""

_WORDS = re.compile(r"[^\W_]+")
_LONGEST_PHRASE = 6


def mentioned(labels: Iterable[Any], text: str) -> tuple[int, ...]:
    """Positions of the columns that a text mentions, in ascending order.

    Case, blanks and punctuation between words are ignored: `order date` matches `OrderDate` and `order_date`.
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


_MOST_LABEL_COLUMNS = 30
_EXAMINED_COLUMNS = 500
_EXAMINED_ROWS, _MOST_LABELS = 200, 12


def columns_of_labels(frame: pd.DataFrame, places: Sequence[int]) -> tuple[int, ...]:
    """Positions of columns with a few repeated texts, which a request may mention as values: at most 30."""
    kinds = (pd.StringDtype, pd.CategoricalDtype)
    dtypes = list(frame.dtypes)
    texts = [place for place in places if isinstance(dtypes[place], kinds) or dtypes[place].kind == "O"][
        :_EXAMINED_COLUMNS
    ]
    few = sample_rows(frame.iloc[:, texts], _EXAMINED_ROWS)
    found = (place for at, place in enumerate(texts) if _are_labels(few.iloc[:, at]))
    return tuple(place for place, _ in zip(found, range(_MOST_LABEL_COLUMNS), strict=False))


def _are_labels(column: pd.Series[Any]) -> bool:
    try:
        distinct = int(column.nunique())
    except TypeError:
        return False  # lists and dicts
    return 1 < distinct <= _MOST_LABELS and distinct <= len(column) // 2


def _names(label: Any, phrases: set[str], joined: str) -> bool:
    if isinstance(label, tuple):
        return any(_names(part, phrases, joined) for part in label)
    words = _WORDS.findall(str(label).casefold()) if isinstance(label, str | int) else []
    key = "".join(words)
    if len(words) > _LONGEST_PHRASE:
        return key in joined
    return bool(key) and (key in phrases or f"{key}s" in phrases)
