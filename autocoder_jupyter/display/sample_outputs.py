"""The first rows of each output on the sample, and its pictures. They are untrusted: text, and PNG that was checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.types.records import Glimpse
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import data_address
from autocoder_jupyter.view.document import Block, Drawing, Row, Span, Table, line, lines, muted
from autocoder_jupyter.view.markup import Html, element, escape

MOST = 6
"""Outputs that are shown; of the others only the names."""


def output_blocks(seen: SampleOutputs | None, name: str, *, draws: bool = True) -> tuple[Block, ...]:
    """Every output with its name; if rows are withheld or a figure is left out, how to see them.

    Args:
        seen: the outputs; None before the function ran.
        name: the name of the result.
        draws: whether pictures are in it, or only their words.
    """
    if seen is None:
        return ()
    groups = _groups(seen)
    shown = [block for group in groups[:MOST] for block in _group_blocks(group, name, draws)]
    if seen.withheld:
        shown.append(muted(f"Rows are not saved here because share forbids it. {name}.run() shows them."))
    if more := ", ".join(glimpse.name for group in groups[MOST:] for glimpse in group):
        shown.append(muted(f"and {more}"))
    return tuple(shown)


def picture_blocks(seen: SampleOutputs | None) -> tuple[Block, ...]:
    """The outputs that `output_blocks` shows in words if it does not draw; none before the function ran."""
    drawn = (tuple(filter(_is_drawn, group)) for group in _groups(seen)[:MOST]) if seen is not None else ()
    return tuple(block for group in drawn for block in _group_blocks(group, "", draws=True))


def _groups(seen: SampleOutputs) -> list[tuple[Glimpse, ...]]:
    """The outputs; the figures of one list, whose pictures stand side by side, are together."""
    return [tuple(group) for _, group in groupby(seen.glimpses, _drawn_with)]


def _drawn_with(glimpse: Glimpse) -> str:
    """What the figures of one list have in common; otherwise its own name."""
    return glimpse.name if glimpse.table else glimpse.name.partition("[")[0]


def _is_drawn(glimpse: Glimpse) -> bool:
    return bool(glimpse.picture or glimpse.chart)


def _group_blocks(group: Sequence[Glimpse], name: str, draws: bool) -> Iterable[Block]:
    pictures = list(filter(_is_drawn, group))
    if len(pictures) < 2 or not draws:
        return (block for one in group for block in glimpse_blocks(one, name, draws=draws))
    tiles = (
        element("div", element("strong", escape(one.name)), _picture(one, "figure"), look="tile") for one in pictures
    )
    told = lines(f"output {one.name}: {one.text}" for one in pictures)
    others = (block for one in group if not _is_drawn(one) for block in glimpse_blocks(one, name))
    return Row("", told, only="text"), Drawing(element("div", *tiles, look="tiles"), is_counted=False), *others


def _picture(glimpse: Glimpse, look: str) -> Html:
    """The picture or the chart of an output that has one."""
    if glimpse.chart:
        return markup.chart(glimpse.chart, glimpse.text)
    alt = f"{glimpse.name}: {glimpse.text}"
    return element("img", alt=alt, src=data_address(glimpse.picture, "image/png"), look=look)


def glimpse_blocks(glimpse: Glimpse, name: str = "", *, draws: bool = True) -> tuple[Block, ...]:
    """One output: its size and first rows, its picture, or its value.

    Args:
        glimpse: the output.
        name: the name of the result, whose call returns a figure that is left out here; "" for none.
        draws: see `output_blocks`.
    """
    named = Span(glimpse.name, "strong", only="html"), Span(f"output {glimpse.name}:", only="text")
    if _is_drawn(glimpse):
        if not draws:
            return (line(*named, Span(glimpse.text, "muted")),)
        drawing = Drawing(_picture(glimpse, "figure small"), is_counted=False)
        return line(*named, Span(glimpse.text, "muted", only="text")), drawing
    if glimpse.left_out:
        where = f"; {name}.run(…) returns it" if name else ""
        return (line(*named, Span(glimpse.text, "muted"), Span(f"({glimpse.left_out}{where})", "muted", only="html")),)
    if glimpse.table is None:
        return (line(*named, Span(glimpse.text, "code")),)
    table = glimpse.table
    return line(*named, Span(table.size, "muted")), Table(table.headings, table.rows, table.numeric)
