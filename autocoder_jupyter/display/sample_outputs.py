"""The first rows of each output on the sample, and its pictures. They are untrusted: text, and PNG that was checked."""

from __future__ import annotations

from dataclasses import replace

from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.types.overview import Glimpse
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import data_address
from autocoder_jupyter.view.document import Block, Drawing, Span, Table, line, muted
from autocoder_jupyter.view.html import element

MOST = 6
"""Outputs that are shown; of the others only the names."""

MOST_PICTURES = 2
"""Pictures that are shown; a card has room for so many."""


def output_blocks(seen: SampleOutputs | None, name: str) -> tuple[Block, ...]:
    """Every output with its name; if rows are withheld, how to see them.

    Args:
        seen: the outputs; None before the function ran.
        name: the name of the result.
    """
    if seen is None:
        return ()
    shown, pictures = list[Block](), 0
    for glimpse in seen.glimpses[:MOST]:
        pictures += bool(glimpse.picture or glimpse.chart)
        drawn = glimpse if pictures <= MOST_PICTURES else replace(glimpse, picture=b"", chart="")
        shown += glimpse_blocks(drawn)
    if seen.withheld:
        shown.append(muted(f"Rows are not saved here because share forbids it. {name}.run() shows them."))
    if len(seen.glimpses) > MOST:
        shown.append(muted(f"and {', '.join(glimpse.name for glimpse in seen.glimpses[MOST:])}"))
    return tuple(shown)


def glimpse_blocks(glimpse: Glimpse) -> tuple[Block, ...]:
    """One output: its size and first rows, its picture, or its value."""
    named = Span(glimpse.name, "strong", only="html"), Span(f"output {glimpse.name}:", only="text")
    if glimpse.picture:
        alt = f"{glimpse.name}: {glimpse.text}"
        picture = element("img", alt=alt, src=data_address(glimpse.picture, "image/png"), look="figure small")
        return line(*named, Span(glimpse.text, "muted", only="text")), Drawing(picture, is_counted=False)
    if glimpse.chart:
        drawing = Drawing(markup.chart(glimpse.chart, glimpse.text), is_counted=False)
        return line(*named, Span(glimpse.text, "muted", only="text")), drawing
    if glimpse.table is None:
        return (line(*named, Span(glimpse.text, "code")),)
    table = glimpse.table
    return line(*named, Span(table.size, "muted")), Table(table.headings, table.rows, table.numeric)
