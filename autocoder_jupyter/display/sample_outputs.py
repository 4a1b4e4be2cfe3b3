"""The first rows of each output on the sample. They are untrusted: text only."""

from __future__ import annotations

from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.types.overview import Glimpse
from autocoder_jupyter.view.document import Block, Span, Table, line, muted

MOST = 6
"""Outputs that are shown; of the others only the names."""


def output_blocks(seen: SampleOutputs | None, name: str) -> tuple[Block, ...]:
    """Every output with its name; if rows are withheld, how to see them.

    Args:
        seen: the outputs; None before the function ran.
        name: the name of the result.
    """
    if seen is None:
        return ()
    shown = [block for glimpse in seen.glimpses[:MOST] for block in glimpse_blocks(glimpse)]
    if seen.withheld:
        shown.append(muted(f"Rows are not saved here because share forbids it. {name}.run() shows them."))
    if len(seen.glimpses) > MOST:
        shown.append(muted(f"and {', '.join(glimpse.name for glimpse in seen.glimpses[MOST:])}"))
    return tuple(shown)


def glimpse_blocks(glimpse: Glimpse) -> tuple[Block, ...]:
    """One output: its size and first rows, or its value."""
    named = Span(glimpse.name, "strong", only="html"), Span(f"output {glimpse.name}:", only="text")
    if glimpse.table is None:
        return (line(*named, Span(glimpse.text, "code")),)
    table = glimpse.table
    return line(*named, Span(table.size, "muted")), Table(table.headings, table.rows, table.numeric)
