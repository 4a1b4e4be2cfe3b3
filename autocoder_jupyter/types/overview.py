"""How a table looks to the user: records that `data` makes and `display` draws. All texts are short and masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Drawing = Literal["histogram", "timeline", "ranking", "none"]
"""Bars side by side over a range of numbers, or of time; or one bar a value, the most frequent first."""


@dataclass(frozen=True)
class Bar:
    """One bar: the range or the value that it stands for, and how many cells fall into it."""

    label: str
    count: int


@dataclass(frozen=True)
class ColumnOverview:
    """One column.

    Args:
        name: as Python source.
        dtype: pandas' name of it.
        missing: cells without a value; None when they could not be counted.
        distinct: different values; None when they cannot be compared.
        distinct_exact: whether `distinct` is of the whole column, not of a sample of it.
        facts: (label, text) of what else is worth knowing: smallest, mean, largest.
        drawing: what the bars are.
        bars: at most a dozen.
    """

    name: str
    dtype: str
    missing: int | None = None
    distinct: int | None = None
    distinct_exact: bool = True
    facts: tuple[tuple[str, str], ...] = ()
    drawing: Drawing = "none"
    bars: tuple[Bar, ...] = ()


@dataclass(frozen=True)
class Overview:
    """One sample.

    Args:
        kind: `DataFrame`, `Series`, `File` or `Dir`.
        summary: its size and what else there is to say of the whole, in words.
        columns: the first of them.
        more_columns: how many are not among them.
        rows: the number of rows of the whole table.
        looked_at: rows that the bars and the distinct values rest on.
    """

    kind: str
    summary: str
    columns: tuple[ColumnOverview, ...] = ()
    more_columns: int = 0
    rows: int = 0
    looked_at: int = 0


@dataclass(frozen=True)
class Excerpt:
    """The first rows of a table as texts.

    Args:
        headings: the headings of the columns; the index first, where it says something.
        rows: the cells.
        size: `1,000 rows × 20 columns`.
        numeric: of each column, whether it holds numbers.
        cut: whether the table has more rows or columns than these.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    size: str
    numeric: tuple[bool, ...]
    cut: bool = False


@dataclass(frozen=True)
class Glimpse:
    """What an output of a function is, in little: the first rows of a table, the beginning of anything else.

    Args:
        name: the name of the output.
        text: what stands for a value that is no table.
        table: the first rows of one; None for anything else.
    """

    name: str
    text: str = ""
    table: Excerpt | None = None
