"""The first rows of a table as short texts, for the user."""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types as pdt

from autocoder_jupyter.data.cells import (
    CELL_CHARACTERS,
    RAW_CHARACTERS,
    cell_text,
    is_null,
    label_literal,
    number_text,
    shorten,
)
from autocoder_jupyter.data.profile import as_frame, is_default_index
from autocoder_jupyter.data.sample import cells_of
from autocoder_jupyter.types.records import Excerpt

ROWS = 10
COLUMNS = 20
DIGITS = 6
"""Significant digits of a number that is not in a column of numbers."""

_OF_LARGEST = 4
"""Significant digits of the largest number of a column, if it has more than two decimals."""

_MOST_DECIMALS = 8

_MISSING = "–"
_LEVELS = " / "
"""Between the labels of a heading of several levels."""

_NUMBER = re.compile(r"-?\d{1,15}(\.\d+)?")
_FLOAT = re.compile(r"-?\d+\.\d+(e[-+]\d+)?|-?\d+e[-+]\d+")

Tell = Callable[[list[str]], list[str]]
"""Masks the texts of one column. It gets them before they are truncated, so that no part of a secret is missed."""


def excerpt(
    value: pd.DataFrame | pd.Series[Any],
    *,
    rows: int = ROWS,
    columns: int = COLUMNS,
    characters: int = CELL_CHARACTERS,
    tell: Tell = list,
) -> Excerpt:
    """The first rows and columns. The levels of the index come first, unless it is the default index.

    Args:
        value: the table.
        rows: the maximum number of rows.
        columns: the maximum number of columns, and of levels of the index.
        characters: the maximum length of a cell and of a heading.
        tell: masks the texts of a column; by default nothing is masked.
    """
    frame = as_frame(value)
    head = frame.iloc[:rows, :columns]
    numeric = [_is_numeric(head.iloc[:, place]) for place in range(head.shape[1])]
    cells = [_readable(texts_of(head.iloc[:, place]), tell, numeric[place]) for place in range(head.shape[1])]
    headings = _headings(head.columns, tell)
    if not is_default_index(frame.index):
        levels = [head.index.get_level_values(place) for place in range(min(head.index.nlevels, columns))]
        texts = [_readable([_text(label, float, _MISSING) for label in level], tell) for level in levels]
        cells = [*_without_repetition(texts), *cells]
        names = tell(["" if name is None else _label(name) for name in head.index.names[:columns]])
        headings = [*(names if len(names) > 1 else [names[0] or "index"]), *headings]
        numeric = [*[False] * len(levels), *numeric]
    cut = [[shorten(text, characters) for text in column] for column in cells]
    size = f"{len(frame):,} rows" + (f" × {frame.shape[1]:,} columns" if isinstance(value, pd.DataFrame) else "")
    return Excerpt(
        headings=tuple(shorten(heading, characters) for heading in headings),
        rows=tuple(zip(*cut, strict=True)) if cut else (),
        size=size,
        numeric=tuple(numeric),
        cut=len(frame) > rows or max(frame.shape[1], frame.index.nlevels) > columns,
    )


def _is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column has numbers; Decimals have the dtype object."""
    if not pdt.is_object_dtype(column.dtype):
        return pdt.is_numeric_dtype(column.dtype) and not pdt.is_bool_dtype(column.dtype)
    cells = [cell for cell in column if not is_null(cell)]
    return bool(cells) and all(isinstance(cell, decimal.Decimal) for cell in cells)


def _headings(labels: pd.Index[Any], tell: Tell) -> list[str]:
    """The masked headings of columns; those of several levels stand in one line."""
    if labels.nlevels == 1:
        return tell([_label(label) for label in labels])
    levels = [tell([_label(label) for label in labels.get_level_values(place)]) for place in range(labels.nlevels)]
    return [_LEVELS.join(filter(None, parts)) for parts in zip(*levels, strict=True)]


def _without_repetition(levels: list[list[str]]) -> list[list[str]]:
    """The levels of an index without the labels that are the same as in the row above, as pandas shows them."""
    rows = list(zip(*levels, strict=True))
    last = len(levels) - 1
    return [
        [
            "" if place < last and number and row[: place + 1] == rows[number - 1][: place + 1] else row[place]
            for number, row in enumerate(rows)
        ]
        for place in range(len(levels))
    ]


def _readable(texts: list[str], tell: Tell, numeric: bool = False) -> list[str]:
    """The masked texts of a column, with numbers as a person reads them: those of a column have the same decimals."""
    told = tell(texts)  # the exact texts are masked: a rounded number is not recognized
    decimals = _decimals(texts) if numeric else None
    return [_rounded(text, decimals) if text == before else text for text, before in zip(told, texts, strict=True)]


def _decimals(texts: list[str]) -> int | None:
    """The decimals of all numbers of a column; None if they are of too different sizes for that."""
    written = [text for text in texts if _NUMBER.fullmatch(text)]
    needed = max((len(text.partition(".")[2]) for text in written), default=0)
    sizes = [abs(float(text)) for text in written if float(text)]
    if not sizes or any("e" in text for text in texts if _FLOAT.fullmatch(text)):
        return None
    shown = max(2, _OF_LARGEST - 1 - math.floor(math.log10(max(sizes))))
    while shown < needed and min(sizes) < 0.5 * 10**-shown:  # a number that is not zero does not look like it
        shown += 1
    return min(needed, shown) if shown <= _MOST_DECIMALS else None


def _rounded(text: str, decimals: int | None = None) -> str:
    if decimals is not None and _NUMBER.fullmatch(text):
        return f"{float(text):.{decimals}f}" if decimals else text
    if not _FLOAT.fullmatch(text):
        return text
    whole = len(text.lstrip("-").partition(".")[0])
    return number_text(float(text), DIGITS if "e" in text else max(DIGITS, whole + 2))


def texts_of(column: pd.Series[Any], missing: str = _MISSING) -> list[str]:
    """The cells of a column as texts. Numbers are not rounded."""
    name = str(column.dtype).lower()
    width = next((kind for kind in (np.float32, np.float16) if name.startswith(kind.__name__)), float)
    return [_text(cell, width, missing) for cell in cells_of(column)]


def _text(cell: Any, width: Callable[[float], Any], missing: str) -> str:
    """A cell as text, not rounded: a float has the fewest digits that identify it."""
    if is_null(cell):
        return missing
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else str(width(cell))
    return cell_text(cell, RAW_CHARACTERS)


def _label(label: Any) -> str:
    return shorten(label if isinstance(label, str) else label_literal(label), RAW_CHARACTERS)
