"""The first rows of a table as short texts, for a person to look at."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pandas.api import types as pdt

from autocoder_jupyter.data.cells import CELL_CHARACTERS, cell_text, is_null, label_literal, number_text, shorten
from autocoder_jupyter.data.profile import as_frame, is_default_index
from autocoder_jupyter.data.sample import cells_of
from autocoder_jupyter.overview import Excerpt

ROWS = 10
COLUMNS = 20
_DIGITS = 6


def excerpt(value: pd.DataFrame | pd.Series[Any]) -> Excerpt:
    """The first rows and columns; the index comes first unless it only counts the rows."""
    frame = as_frame(value)
    head = frame.iloc[:ROWS, :COLUMNS]
    columns = [[_text(cell) for cell in cells_of(head.iloc[:, place])] for place in range(head.shape[1])]
    headings = [_label(label) for label in head.columns]
    numeric = [pdt.is_numeric_dtype(dtype) and not pdt.is_bool_dtype(dtype) for dtype in head.dtypes]
    if not is_default_index(frame.index):
        columns.insert(0, [_text(label) for label in head.index])
        headings.insert(0, ", ".join(_label(name) for name in frame.index.names if name is not None) or "index")
        numeric.insert(0, False)
    rows = zip(*columns, strict=True) if columns else ()
    size = f"{len(frame):,} rows" + (f" × {frame.shape[1]:,} columns" if isinstance(value, pd.DataFrame) else "")
    cut = len(frame) > ROWS or frame.shape[1] > COLUMNS
    return Excerpt(tuple(headings), tuple(rows), size, tuple(numeric), cut)


def _text(cell: Any) -> str:
    if is_null(cell):
        return "–"
    if isinstance(cell, float):
        return number_text(cell, _DIGITS)
    return cell_text(cell, CELL_CHARACTERS)


def _label(label: Any) -> str:
    return shorten(label if isinstance(label, str) else label_literal(label), CELL_CHARACTERS)
