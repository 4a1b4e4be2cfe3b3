"""Choose sample rows of a table by position, with a fixed seed: the same rows on every machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from autocoder_jupyter.data.text_formats import cell_text, is_null

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
    """The same rows of a column."""
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


# Find the columns that a request mentions, by name or by value. They are described in full in any table.


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


_LABELLED = 30
_LOOKED_AT = 500
_ROWS, _LABELS = 200, 12


def columns_of_labels(frame: pd.DataFrame, places: Sequence[int]) -> tuple[int, ...]:
    """Positions of columns with a few repeated texts, which a request may mention as values: at most 30."""
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


# Rows of a table that came from a sheet and are no data: a title, a note, a header below the names, empty rows.
#
# A note decides how the others are read ("excluding …"), so it is shown completely, and before the columns.


NOTE_CHARACTERS = 600
"""Characters of a note that are shown."""

_ENDS = 200
"""Rows at the top and at the bottom that are examined. Titles and notes stand there."""

_MOST_COLUMNS = 100
_MOST_NOTES = 4
_UNNAMED = re.compile(r"Unnamed: \d+(_level_\d+)?")
_NUMBER = re.compile(r"[-+(]?[\d.,\s]+[)%]?")


@dataclass(frozen=True)
class Note:
    """The only cell of a row: its row and column by position, and its text, which is not masked yet."""

    row: int
    place: int
    text: str


@dataclass(frozen=True)
class SheetRows:
    """The rows of a table that are no data.

    Args:
        notes: rows with a single cell, from the top.
        header: the position of a row that looks like the header; None if there is none.
    """

    notes: tuple[Note, ...] = ()
    header: int | None = None
    names: tuple[tuple[int, str], ...] = ()


def sheet_rows(frame: pd.DataFrame) -> SheetRows:
    """Find them, by position."""
    if frame.shape[1] < 2 or not len(frame) or not any(map(_may_be_text, frame.dtypes)):
        return SheetRows()
    places = [*range(min(_ENDS, len(frame))), *range(max(_ENDS, len(frame) - _ENDS), len(frame))]
    try:
        ends = frame.iloc[places, :_MOST_COLUMNS]
        filled = ends.notna().to_numpy()
        alone = [at for at, count in enumerate(filled.sum(axis=1)) if count == 1]
        if not alone and not _may_have_header(frame):
            return SheetRows()
        cells = [cells_of(column) for _, column in ends.items()]
    except Exception:
        # Extension arrays and foreign objects may raise anywhere. Such a table is not from a sheet.
        return SheetRows()
    notes = []
    for at in alone if len(alone) <= max(_MOST_NOTES, len(places) // 10) else []:
        place = int(filled[at].argmax())
        if isinstance(cells[place][at], str) and cells[place][at].strip():
            notes.append(Note(places[at], place, cell_text(cells[place][at], NOTE_CHARACTERS)))
    header = _header(frame, cells, filled)
    names = (
        tuple((place, cell_text(column[header])) for place, column in enumerate(cells)) if header is not None else ()
    )
    return SheetRows(tuple(notes[:_MOST_NOTES]), header, names)


def _may_be_text(dtype: Any) -> bool:
    return isinstance(dtype, pd.StringDtype) or pd.api.types.is_object_dtype(dtype)


def _header(frame: pd.DataFrame, cells: list[list[Any]], filled: Any) -> int | None:
    """The first full row, if the table has no names of its own, the row is words, and below it there are numbers."""
    if not _may_have_header(frame):
        return None
    full = (at for at in range(min(10, len(filled))) if filled[at].sum() >= max(2, 0.8 * filled.shape[1]))
    first = next(full, None)
    if first is None or first + 1 >= len(filled):
        return None
    words = [column[first] for column in cells if column[first] is not None and column[first] == column[first]]
    if not all(isinstance(word, str) and not _NUMBER.fullmatch(word) for word in words) or len(set(words)) < len(words):
        return None
    below = [column[first + 1] for column in cells]
    return first if any(_is_number(cell) for cell in below) else None


def _may_have_header(frame: pd.DataFrame) -> bool:
    """Whether at least half of the columns have no name of their own."""
    labels: list[Any] = list(frame.columns)
    unnamed = sum(isinstance(label, int) or bool(_UNNAMED.fullmatch(str(label))) for label in labels)
    return 2 * unnamed >= frame.shape[1]


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) or (isinstance(cell, str) and bool(_NUMBER.fullmatch(cell)))
