"""The table that describes a sample, a column a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from autocoder_jupyter.display import markup
from autocoder_jupyter.display.inspector.drawing import drawing

if TYPE_CHECKING:
    from autocoder_jupyter.types.overview import ColumnOverview, Overview

_HEADINGS = ("column", "dtype", "missing", "distinct", "facts", "values")


def profiles(overviews: Mapping[str, Overview], *, counts: bool, drawings: bool = True) -> str:
    """Every sample with its columns.

    Args:
        overviews: by name of the sample.
        counts: see `drawing`.
        drawings: whether there are any.
    """
    return "".join(profile(name, overview, counts=counts, drawings=drawings) for name, overview in overviews.items())


def profile(name: str, overview: Overview, *, counts: bool, drawings: bool = True) -> str:
    """One sample."""
    head = f"<strong>{markup.text(name)}</strong> {markup.muted(f'{overview.kind} · {overview.summary}')}"
    return f'<div style="margin-top:8px"><div>{head}</div>{_table(overview, counts, drawings)}</div>'


def _table(overview: Overview, counts: bool, drawings: bool) -> str:
    if not overview.columns:
        return ""
    told = any(column.facts or column.bars or column.missing is not None for column in overview.columns)
    headings = _HEADINGS[: 2 if not told else None if drawings else -1]
    lines = [_row("th", [markup.text(heading) for heading in headings])]
    lines += [_row("td", _cells(column, counts=counts)[: len(headings)]) for column in overview.columns]
    notes = [f"and {overview.more_columns:,} more columns"] if overview.more_columns else []
    if told and overview.looked_at < overview.rows:
        notes.append(f"bars and distinct values are from {overview.looked_at:,} rows spread over the table")
    style = f"{markup.FONT};border-collapse:collapse;margin:4px 0;border:none"
    below = f"<div>{markup.muted('; '.join(notes))}</div>" if notes else ""
    return f'<div style="overflow-x:auto"><table style="{style}">{"".join(lines)}</table></div>{below}'


def _cells(column: ColumnOverview, *, counts: bool) -> list[str]:
    return [
        markup.inline_code(column.name),
        markup.muted(column.dtype),
        _count(column.missing),
        _count(column.distinct) + ("" if column.distinct_exact or not column.distinct else "+"),
        "".join(_fact(label, text) for label, text in column.facts),
        drawing(column, counts=counts),
    ]


def _count(count: int | None) -> str:
    return markup.muted("?") if count is None else markup.text(f"{count:,}") if count else markup.muted("0")


def _fact(label: str, text: str) -> str:
    named = f'<span style="display:inline-block;min-width:3em;opacity:.7">{markup.text(label)}</span> '
    return f"<div>{named if label else ''}{markup.text(text) if label else markup.muted(text)}</div>"


def _row(tag: str, cells: list[str]) -> str:
    # A line belongs to its row: as a style of each cell it would be most of the table.
    style = "text-align:left;vertical-align:top;padding:4px 16px 4px 0;white-space:normal"
    muted = f";{markup.MUTED};font-weight:normal" if tag == "th" else ""
    shown = "".join(f'<{tag} style="{style}{muted}">{cell}</{tag}>' for cell in cells)
    return f'<tr style="background:none;border-bottom:1px solid {markup.LINE}">{shown}</tr>'
