"""Profile a table: shape, index, columns, keys, and rows that are not data."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import pandas as pd

from autocoder_jupyter.codec import encode
from autocoder_jupyter.data.column_profile import ColumnProfile, dtype_text, profile_column
from autocoder_jupyter.data.sample import cells_of, columns_of_labels, sample_rows
from autocoder_jupyter.data.text_formats import cell_text, label_literal, settled

SAMPLE_ROWS = 10_000
"""Tables with more rows are described from a sample of this size. Lengths, nulls and ranges remain exact."""

DETAILED_COLUMNS = 60
"""Maximum number of columns with a full profile. The others have only name and dtype."""

_CACHED_TABLES, _CACHED_CELLS = 16, 200_000
"""How many profiles are cached, and of tables of at most how many cells: hashing more takes as long as profiling."""

_DUPLICATE_ROWS = 50_000
_PANEL_SPARSITY = 3


@dataclass(frozen=True)
class ColumnRun:
    """Neighbouring columns of one dtype: the literals of the first and the last, and their number."""

    first: str
    last: str
    count: int
    dtype: str


@dataclass(frozen=True)
class Note:
    """The only cell of a row: its row and column by position, and its text, which is not masked yet."""

    row: int
    place: int
    text: str


@dataclass(frozen=True)
class SheetRows:
    """The rows of a table that are not data.

    Args:
        notes: rows with a single cell, from the top.
        header: the position of a row that looks like the header; None if there is none.
    """

    notes: tuple[Note, ...] = ()
    header: int | None = None
    names: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class FrameProfile:
    """The profile of a table.

    Args:
        kind: `DataFrame` or `Series`.
        rows, columns: exact.
        index: a phrase, or "" for the default index.
        index_examples: labels of an index that is not the default one.
        column_levels: names of the levels if the columns are a MultiIndex, else ().
        detailed: full profiles of the first columns, of columns that the request mentions, and of label columns.
        named: positions of the columns that the request mentions.
        duplicates: the number of repeated rows among `duplicates_of` rows, without empty ones; None if cells cannot be
            compared.
        duplicate_labels: whether two columns have the same name.
        panel_key: two columns that together identify a row, if most of their combinations occur; else ().
        sampled: the number of rows used for expensive statistics.
        empty: the number of rows without any value, among `duplicates_of` rows.
        sheet: rows that are not data.
    """

    kind: str
    rows: int
    columns: int
    index: str
    index_examples: tuple[str, ...]
    column_levels: tuple[str, ...]
    detailed: tuple[ColumnProfile, ...]
    named: frozenset[int]
    tail: tuple[ColumnRun, ...]
    duplicates: int | None
    duplicates_of: int
    duplicate_labels: bool
    panel_key: tuple[str, ...]
    sampled: int
    empty: int = 0
    sheet: SheetRows = SheetRows()


def as_frame(value: pd.DataFrame | pd.Series[Any]) -> pd.DataFrame:
    """A table as a DataFrame. A Series becomes its only column."""
    return value if isinstance(value, pd.DataFrame) else value.to_frame()


_cache: OrderedDict[tuple[str, str, frozenset[int]], FrameProfile] = OrderedDict()
_cache_lock = threading.Lock()


def known_profile(value: pd.DataFrame | pd.Series[Any], named: Iterable[int] = ()) -> FrameProfile:
    """The profile of an equal table, if there was one: a request is changed more often than its tables.

    Tables are compared by a hash of all their content, so that a change in place is noticed.
    """
    named = frozenset(named)
    if value.size > _CACHED_CELLS:
        return profile_frame(value, named=named)
    kind = "DataFrame" if isinstance(value, pd.DataFrame) else "Series"
    try:
        key = kind, encode(value, kind).digest(), named
    except Exception:  # it cannot be sent to a sandbox; whoever sends it reports that
        return profile_frame(value, named=named)
    with _cache_lock:
        profile = _cache.pop(key, None)
    if profile is None:
        profile = profile_frame(value, named=named)
    with _cache_lock:
        _cache[key] = profile
        while len(_cache) > _CACHED_TABLES:
            _cache.popitem(last=False)
    return profile


def profile_frame(
    value: pd.DataFrame | pd.Series[Any], detailed_columns: int = DETAILED_COLUMNS, named: Iterable[int] = ()
) -> FrameProfile:
    """Describe any table that pandas can hold. Equal tables give equal profiles."""
    frame = as_frame(value)
    rows, width = frame.shape
    named = frozenset(named)
    labels = columns_of_labels(frame, range(detailed_columns, width))
    places = sorted(named.union(range(min(width, detailed_columns)), labels))
    head = frame if len(places) == width else frame.iloc[:, places]
    sampled = sample_rows(head, SAMPLE_ROWS)
    # To take a column by its position takes three times as long.
    both = zip(head.items(), sampled.items(), places, strict=True)
    columns = tuple(
        profile_column(column, part, place, label, named=place in named) for (label, column), (_, part), place in both
    )
    keyed = any("unique" in column.notes for column in columns)
    columns = tuple(
        replace(column, formats=formats)
        for column, formats in zip(columns, settled([column.formats for column in columns]), strict=True)
    )
    duplicates, duplicates_of, empty = (0, rows, 0) if any(column.unique for column in columns) else _duplicates(frame)
    return FrameProfile(
        kind=type(value).__name__ if isinstance(value, pd.Series) else "DataFrame",
        rows=rows,
        columns=width,
        index=_index_phrase(frame.index),
        index_examples=_index_examples(frame.index),
        column_levels=_column_levels(frame.columns),
        detailed=columns,
        named=named,
        tail=_runs(frame, sorted(set(range(width)).difference(places))),
        duplicates=duplicates,
        duplicates_of=duplicates_of,
        duplicate_labels=not frame.columns.is_unique,
        panel_key=() if keyed or duplicates else _panel_key(frame, columns),
        sampled=len(sampled),
        empty=empty,
        sheet=sheet_rows(frame),
    )


def settled_together(profiles: Sequence[FrameProfile]) -> list[FrameProfile]:
    """Profiles of tables that come together. What no column of a table decides is decided by the other tables."""
    formats = iter(settled([column.formats for profile in profiles for column in profile.detailed], "tables"))
    return [
        replace(profile, detailed=tuple(replace(column, formats=next(formats)) for column in profile.detailed))
        for profile in profiles
    ]


def index_levels(index: pd.Index[Any]) -> tuple[tuple[Any, str], ...]:
    """Name and dtype of each level of an index."""
    if isinstance(index, pd.MultiIndex):
        return tuple((level.name, dtype_text(level.dtype)) for level in index.levels)
    return ((index.name, dtype_text(index.dtype)),)


def is_default_index(index: pd.Index[Any]) -> bool:
    """Whether an index is the row number, from 0."""
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1 and index.name is None


def _index_phrase(index: pd.Index[Any]) -> str:
    if is_default_index(index):
        return ""
    levels = [f"{'unnamed' if name is None else label_literal(name)} {dtype}" for name, dtype in index_levels(index)]
    kind = "MultiIndex with levels " if isinstance(index, pd.MultiIndex) else ""
    return kind + ", ".join(levels) + _index_order(index)


def _index_order(index: pd.Index[Any]) -> str:
    if len(index) > _DUPLICATE_ROWS * 20 and not isinstance(index, pd.RangeIndex):
        return ""
    try:
        order = ", ascending" if index.is_monotonic_increasing else ", not sorted"
        return order + (", unique" if index.is_unique else ", with repeated labels")
    except Exception:
        # The labels cannot be hashed or compared.
        return ""


def _index_examples(index: pd.Index[Any]) -> tuple[str, ...]:
    if is_default_index(index) or len(index) == 0:
        return ()
    places = dict.fromkeys((0, min(1, len(index) - 1), len(index) - 1))
    return tuple(cell_text(index[place]) for place in places)


def _column_levels(columns: pd.Index[Any]) -> tuple[str, ...]:
    if not isinstance(columns, pd.MultiIndex):
        return ()
    return tuple("unnamed" if name is None else label_literal(name) for name in columns.names)


def _runs(frame: pd.DataFrame, places: list[int]) -> tuple[ColumnRun, ...]:
    """The columns at these positions. Neighbours of one dtype are grouped."""
    dtypes = list(frame.dtypes)
    runs: list[ColumnRun] = []
    for first, last in _ranges(places, dtypes):
        labels = label_literal(frame.columns[first]), label_literal(frame.columns[last])
        runs.append(ColumnRun(*labels, last - first + 1, dtype_text(dtypes[first])))
    return tuple(runs)


def _ranges(places: list[int], dtypes: list[Any]) -> list[tuple[int, int]]:
    """First and last position of each group of neighbours with one dtype."""
    ranges: list[tuple[int, int]] = []
    for place in places:
        if ranges and ranges[-1][1] == place - 1 and dtypes[place] == dtypes[place - 1]:
            ranges[-1] = (ranges[-1][0], place)
        else:
            ranges.append((place, place))
    return ranges


def _panel_key(frame: pd.DataFrame, columns: tuple[ColumnProfile, ...]) -> tuple[str, ...]:
    """The two key columns of panel data (such as `symbol` and `date`), if there are any.

    Two columns with many values can be unique together by accident, so most of their combinations must occur.
    """
    rows = len(frame)
    if not 2 < rows <= _DUPLICATE_ROWS:
        return ()
    whole = [
        column
        for column in columns
        if column.nulls == 0 and (column.distinct or 0) > 1 and column.kind in ("text", "time", "number")
    ][:8]
    for first, second in combinations(whole, 2):
        pairs = (first.distinct or 0) * (second.distinct or 0)
        too_few = pairs < rows and first.looked_at == second.looked_at == rows
        if too_few or pairs > _PANEL_SPARSITY * rows:
            continue
        if not frame.iloc[:, [first.position, second.position]].duplicated().any():
            return label_literal(first.label), label_literal(second.label)
    return ()


def _duplicates(frame: pd.DataFrame) -> tuple[int | None, int, int]:
    """The number of repeated rows, of examined rows, and of empty rows. In a large table only the first are counted."""
    rows, width = frame.shape
    looked = min(rows, _DUPLICATE_ROWS if width <= 30 else 2_000)
    if width == 0 or width > 500 or rows == 0:
        return None, 0, 0
    try:
        examined = frame.iloc[:looked]
        repeated, empty = int(examined.duplicated().sum()), int(examined.isna().all(axis=1).sum())
        return repeated - max(0, empty - 1), looked, empty
    except Exception:
        # Lists, dicts and similar values cannot be hashed.
        return None, looked, 0


# Rows of a sheet that are not data: a title, a note, a header below the names, empty rows
#
# A note decides how the others are read ("excluding …"), so it is shown completely, and before the columns.

NOTE_CHARACTERS = 600
"""Characters of a note that are shown."""

_SHEET_ENDS = 200
"""Rows at the top and at the bottom that are examined. Titles and notes stand there."""

_SHEET_COLUMNS = 100
_SHEET_NOTES = 4
_UNNAMED = re.compile(r"Unnamed: \d+(_level_\d+)?")
_NUMBER = re.compile(r"[-+(]?[\d.,\s]+[)%]?")


def sheet_rows(frame: pd.DataFrame) -> SheetRows:
    """The rows of a table that are not data, by position."""
    if frame.shape[1] < 2 or not len(frame) or not any(map(_may_be_text, frame.dtypes)):
        return SheetRows()
    places = [*range(min(_SHEET_ENDS, len(frame))), *range(max(_SHEET_ENDS, len(frame) - _SHEET_ENDS), len(frame))]
    try:
        ends = frame.iloc[places, :_SHEET_COLUMNS]
        filled = ends.notna().to_numpy()
        alone = [at for at, count in enumerate(filled.sum(axis=1)) if count == 1]
        if not alone and not _may_have_header(frame):
            return SheetRows()
        cells = [cells_of(column) for _, column in ends.items()]
    except Exception:
        # Extension arrays and foreign objects may raise anywhere. Such a table is not from a sheet.
        return SheetRows()
    notes = []
    for at in alone if len(alone) <= max(_SHEET_NOTES, len(places) // 10) else []:
        place = int(filled[at].argmax())
        if isinstance(cells[place][at], str) and cells[place][at].strip():
            notes.append(Note(places[at], place, cell_text(cells[place][at], NOTE_CHARACTERS)))
    header = _header(frame, cells, filled)
    names = (
        tuple((place, cell_text(column[header])) for place, column in enumerate(cells)) if header is not None else ()
    )
    return SheetRows(tuple(notes[:_SHEET_NOTES]), header, names)


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
