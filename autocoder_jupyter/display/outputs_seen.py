"""*Gives* on the card: the first rows of what the function put out on the sample. A program's, so only text."""

from __future__ import annotations

from collections.abc import Iterator

from autocoder_jupyter.display import markup
from autocoder_jupyter.engine.events import SampleOutputs
from autocoder_jupyter.types.overview import Excerpt, Glimpse

MOST = 6
"""Outputs that are shown; the others are named."""

LINE = 100
"""Characters of a line in a terminal."""


def outputs_html(seen: SampleOutputs | None, name: str) -> str:
    """Every output under its name; where rows are withheld, how to see them.

    Args:
        seen: what it put out; None until it has.
        name: of the result.
    """
    if seen is None:
        return ""
    shown = "".join(f"<div>{glimpse_html(glimpse)}</div>" for glimpse in seen.glimpses[:MOST])
    return shown + "".join(f"<div>{markup.muted(line)}</div>" for line in _rest(seen, name))


def outputs_lines(seen: SampleOutputs | None, name: str) -> Iterator[str]:
    """The same for a terminal."""
    if seen is None:
        return
    for glimpse in seen.glimpses[:MOST]:
        yield from glimpse_lines(glimpse)
    yield from _rest(seen, name)


def _rest(seen: SampleOutputs, name: str) -> Iterator[str]:
    if seen.withheld:
        yield f"No rows are kept here, because they are not shared. {name}.run() shows them."
    if len(seen.glimpses) > MOST:
        yield f"and {', '.join(glimpse.name for glimpse in seen.glimpses[MOST:])}"


def glimpse_lines(glimpse: Glimpse) -> Iterator[str]:
    """One output for a terminal."""
    yield f"gives {glimpse.name}: {glimpse.table.size if glimpse.table else glimpse.text}"
    if glimpse.table is not None and glimpse.table.headings:
        rows = (glimpse.table.headings, *glimpse.table.rows)
        yield from (f"  {line[:LINE]}" for line in markup.columns(rows).splitlines())


def glimpse_html(glimpse: Glimpse) -> str:
    """One output."""
    name = f"<strong>{markup.text(glimpse.name)}</strong>"
    if glimpse.table is None:
        return f"{name} {markup.inline_code(glimpse.text)}"
    return f"{name} {markup.muted(glimpse.table.size)}{_table(glimpse.table)}"


def _table(table: Excerpt) -> str:
    """Plain and short: a notebook keeps it. What is wide is scrolled, by the keyboard too."""
    sides = ["right" if numeric else "left" for numeric in table.numeric]
    lines = "".join(
        f'<tr style="background:none">{_cells(tag, row, sides)}</tr>'
        for tag, row in (("th", table.headings), *(("td", row) for row in table.rows))
    )
    style = f"{markup.FONT};border-collapse:collapse;margin:2px 0 6px;font-variant-numeric:tabular-nums"
    scroll = '<div style="overflow-x:auto" tabindex="0" role="group" aria-label="first rows">'
    return f'{scroll}<table style="{style}">{lines}</table></div>' if table.headings else ""


def _cells(tag: str, row: tuple[str, ...], sides: list[str]) -> str:
    return "".join(
        f'<{tag} style="text-align:{side};padding:1px 12px 1px 0;white-space:nowrap">{markup.text(cell)}</{tag}>'
        for cell, side in zip(row, sides, strict=True)
    )
