"""Rows and columns of a table, which may be a Series."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from autocoder_jupyter.equality.tables import is_numbered


def taken(table: Any, positions: Any) -> Any:
    """Rows of a table by position. A default index is numbered again."""
    part = table.iloc[positions]
    return part.reset_index(drop=True) if is_numbered(table) else part


def width(table: Any) -> int:
    return 1 if isinstance(table, pd.Series) else int(table.shape[1])


def columns_of(table: Any) -> Iterator[Any]:
    if isinstance(table, pd.Series):
        yield table
    else:
        yield from (table.iloc[:, place] for place in range(table.shape[1]))


def as_frame(table: Any) -> Any:
    return table.to_frame() if isinstance(table, pd.Series) else table.copy()


def like_table(table: Any, frame: Any) -> Any:
    return frame.iloc[:, 0].rename(table.name) if isinstance(table, pd.Series) else frame
