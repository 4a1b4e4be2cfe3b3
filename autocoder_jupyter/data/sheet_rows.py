"""Rows of a table that came from a sheet and are no data: a title, a note, a header below the names, empty rows.

A note decides how the others are read ("excluding …"), so it is shown completely, and before the columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autocoder_jupyter.data.cells import cell_text
from autocoder_jupyter.data.sample import cells_of

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
        names: its cells by column position.
    """

    notes: tuple[Note, ...] = ()
    header: int | None = None
    names: tuple[tuple[int, str], ...] = ()


def sheet_rows(frame: pd.DataFrame) -> SheetRows:
    """Find them, by position.

    Args:
        frame: the table. Only its first columns, and rows at both ends, are examined.
    """
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
