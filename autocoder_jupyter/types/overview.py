"""Overviews of tables for the user: records that `data` makes and `display` draws. All texts are short and masked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Drawing = Literal["histogram", "timeline", "ranking", "none"]
"""A histogram over a range of numbers or times; or a ranking with one bar per value, the most frequent first."""


@dataclass(frozen=True)
class Bar:
    """One bar: its range or value, and its number of cells."""

    label: str
    count: int


@dataclass(frozen=True)
class ColumnOverview:
    """One column.

    Args:
        name: its label as Python source.
        dtype: the name of its dtype in pandas.
        missing: the number of missing values; None if they could not be counted.
        distinct: the number of different values; None if they cannot be compared.
        distinct_exact: whether `distinct` is of the whole column, not of a sample.
        facts: further facts as (label, text): smallest, mean, largest.
        drawing: the kind of the chart.
        bars: the bars, at most twelve.
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
        summary: its size and other facts about the whole, as text.
        columns: the first columns.
        more_columns: the number of further columns.
        rows: the number of rows of the whole table.
        looked_at: the number of rows from which bars and distinct values were computed.
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
        headings: the headings of the columns; first the levels of the index, unless it is the default one.
        rows: the cells.
        size: `1,000 rows × 20 columns`.
        numeric: for each column, whether it contains numbers.
        cut: whether the table has more rows or columns.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    size: str
    numeric: tuple[bool, ...]
    cut: bool = False


@dataclass(frozen=True)
class Glimpse:
    """A preview of an output of a function: the first rows of a table, the beginning of any other value.

    Args:
        name: the name of the output.
        text: the preview of a value that is not a table.
        table: the first rows of a table; None for any other value.
        picture: a picture as PNG, small enough for a saved notebook; b"" for none.
        chart: the safe parts of a chart of Plotly or Altair, from `untrusted.charts.chart_place`; "" for none.
        left_out: why a figure has neither, in a few words; "" for any other value.
    """

    name: str
    text: str = ""
    table: Excerpt | None = None
    picture: bytes = field(default=b"", repr=False)
    chart: str = field(default="", repr=False)
    left_out: str = ""
