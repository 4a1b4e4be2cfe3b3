"""The row *Outputs* of the card: the first rows of each output on the sample. They are untrusted: text only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from autocoder_jupyter.engine.events import SampleOutputs
from autocoder_jupyter.types.overview import Excerpt, Glimpse
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

MOST = 6
"""Outputs that are shown; of the others only the names."""

LINE = 100
"""Characters of a line in a terminal."""


def outputs_html(seen: SampleOutputs | None, name: str) -> Html:
    """Every output with its name; if rows are withheld, how to see them.

    Args:
        seen: the outputs; None before the function ran.
        name: the name of the result.
    """
    if seen is None:
        return EMPTY
    shown = (element("div", glimpse_html(glimpse)) for glimpse in seen.glimpses[:MOST])
    return join(*shown, *map(markup.muted_line, _rest(seen, name)))


def outputs_lines(seen: SampleOutputs | None, name: str) -> Iterator[str]:
    """The same as text."""
    if seen is None:
        return
    for glimpse in seen.glimpses[:MOST]:
        yield from glimpse_lines(glimpse)
    yield from _rest(seen, name)


def _rest(seen: SampleOutputs, name: str) -> Iterator[str]:
    if seen.withheld:
        yield f"Rows are not saved here because share forbids it. {name}.run() shows them."
    if len(seen.glimpses) > MOST:
        yield f"and {', '.join(glimpse.name for glimpse in seen.glimpses[MOST:])}"


def glimpse_lines(glimpse: Glimpse) -> Iterator[str]:
    """One output as text."""
    yield f"output {glimpse.name}: {glimpse.table.size if glimpse.table else glimpse.text}"
    if glimpse.table is not None and glimpse.table.headings:
        rows = (glimpse.table.headings, *glimpse.table.rows)
        yield from (f"  {line[:LINE]}" for line in markup.columns(rows).splitlines())


def glimpse_html(glimpse: Glimpse) -> Html:
    """One output as HTML."""
    name = element("strong", escape(glimpse.name))
    if glimpse.table is None:
        return join(name, markup.inline_code(glimpse.text), between=" ")
    return join(join(name, markup.muted(glimpse.table.size), between=" "), _table(glimpse.table))


def _table(table: Excerpt) -> Html:
    """A short table, because the notebook saves it. A wide table scrolls, with the keyboard too."""
    if not table.headings:
        return EMPTY
    sides = ["right" if numeric else "left" for numeric in table.numeric]
    lines = [_row("th", table.headings, sides), *(_row("td", row, sides) for row in table.rows)]
    style = f"{markup.FONT};border-collapse:collapse;margin:2px 0 6px;font-variant-numeric:tabular-nums"
    return element(
        "div",
        element("table", *lines, style=style),
        style="overflow-x:auto",
        tabindex="0",
        role="group",
        aria_label="first rows",
    )


def _row(tag: Literal["th", "td"], row: tuple[str, ...], sides: list[str]) -> Html:
    cells = (
        element(tag, escape(cell), style=f"text-align:{side};padding:1px 12px 1px 0;white-space:nowrap")
        for cell, side in zip(row, sides, strict=True)
    )
    return element("tr", *cells, style="background:none")
