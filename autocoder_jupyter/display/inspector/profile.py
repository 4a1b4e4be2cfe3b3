"""The table that describes a sample, one row per column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from autocoder_jupyter.display.inspector.drawing import drawing
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.types.records import ColumnOverview, Overview

_HEADINGS = ("column", "dtype", "missing", "distinct", "facts", "values")
_COUNTS = (2, 3)
"""The columns that are aligned right."""


def profiles(overviews: Mapping[str, Overview], *, counts: bool, drawings: bool = True) -> Html:
    """Every sample with its columns.

    Args:
        overviews: the overview of each sample by its name.
        counts: see `drawing`.
        drawings: whether to include histograms.
    """
    return join(*(profile(name, overview, counts=counts, drawings=drawings) for name, overview in overviews.items()))


def profile(name: str, overview: Overview, *, counts: bool, drawings: bool = True) -> Html:
    """One sample."""
    about = markup.muted(f"{overview.kind} · {overview.summary}")
    head = element("div", join(element("strong", escape(name)), about, between=" "))
    return element("div", head, _table(overview, counts, drawings), look="below-rows")


def _table(overview: Overview, counts: bool, drawings: bool) -> Html:
    if not overview.columns:
        return EMPTY
    has_facts = any(column.facts or column.bars or column.missing is not None for column in overview.columns)
    headings = _HEADINGS[: 2 if not has_facts else None if drawings else -1]
    lines = [_row("th", [escape(heading) for heading in headings])]
    lines += [_row("td", _cells(column, counts=counts)[: len(headings)]) for column in overview.columns]
    notes = [f"and {overview.more_columns:,} more columns"] if overview.more_columns else []
    if has_facts and overview.looked_at < overview.rows:
        notes.append(f"histograms and distinct values are from {overview.looked_at:,} rows of the table")
    below = markup.muted_line("; ".join(notes)) if notes else EMPTY
    return join(markup.scrolled(element("table", *lines, look="text table")), below)


def _cells(column: ColumnOverview, *, counts: bool) -> list[Html]:
    at_least = "" if column.distinct_exact or not column.distinct else "+"
    return [
        markup.inline_code(column.name),
        markup.muted(column.dtype),
        _count(column.missing),
        join(_count(column.distinct), escape(at_least)),
        join(*(_fact(label, text) for label, text in column.facts)),
        drawing(column, counts=counts),
    ]


def _count(count: int | None) -> Html:
    return markup.muted("?") if count is None else escape(f"{count:,}") if count else markup.muted("0")


def _fact(label: str, text: str) -> Html:
    if not label:
        return markup.muted_line(text)
    named = element("span", escape(label), look="fact-label")
    return element("div", join(named, escape(text), between=" "))


def _row(tag: Literal["th", "td"], cells: list[Html]) -> Html:
    # The border is a style of the row: as a style of each cell it would be most of the HTML.
    looks = (
        f"profile-cell{' right' if place in _COUNTS else ''}{' muted' if tag == 'th' else ''}"
        for place in range(len(cells))
    )
    shown = (element(tag, cell, look=look) for cell, look in zip(cells, looks, strict=True))
    return element("tr", *shown, look="profile-row")
