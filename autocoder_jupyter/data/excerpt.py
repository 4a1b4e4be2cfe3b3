"""The first rows of a table as short texts, for the user."""

from __future__ import annotations

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
from autocoder_jupyter.types.overview import Excerpt

ROWS = 10
COLUMNS = 20
DIGITS = 6
"""Significant digits of a number that is not in a column of numbers."""

_OF_LARGEST = 4
"""Significant digits of the largest number of a column, if it has more than two decimals."""

_MOST_DECIMALS = 8

_MISSING = "–"
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
    """The first rows and columns. The index comes first, unless it is the default index.

    Args:
        value: the table.
        rows: the maximum number of rows.
        columns: the maximum number of columns.
        characters: the maximum length of a cell and of a heading.
        tell: masks the texts of a column; by default nothing is masked.
    """
    frame = as_frame(value)
    head = frame.iloc[:rows, :columns]
    numeric = [pdt.is_numeric_dtype(dtype) and not pdt.is_bool_dtype(dtype) for dtype in head.dtypes]
    cells = [_readable(texts_of(head.iloc[:, place]), tell, numeric[place]) for place in range(head.shape[1])]
    headings = tell([_label(label) for label in head.columns])
    if not is_default_index(frame.index):
        cells.insert(0, _readable([_text(label, float, _MISSING) for label in head.index], tell))
        names = [_label(name) for name in frame.index.names if name is not None]
        headings.insert(0, ", ".join(tell(names)) or "index")
        numeric.insert(0, False)
    cut = [[shorten(text, characters) for text in column] for column in cells]
    size = f"{len(frame):,} rows" + (f" × {frame.shape[1]:,} columns" if isinstance(value, pd.DataFrame) else "")
    return Excerpt(
        headings=tuple(shorten(heading, characters) for heading in headings),
        rows=tuple(zip(*cut, strict=True)) if cut else (),
        size=size,
        numeric=tuple(numeric),
        cut=len(frame) > rows or frame.shape[1] > columns,
    )


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
