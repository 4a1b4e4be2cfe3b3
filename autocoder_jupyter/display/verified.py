"""What a verified function rests on: the row of the card, and the changes in the inspector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.run.function_run import FunctionRun, Phase
from autocoder_jupyter.run.of_report import verified
from autocoder_jupyter.types.interface import table_names
from autocoder_jupyter.types.records import Glimpse
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.as_html import data_address
from autocoder_jupyter.view.document import (
    Block,
    Drawing,
    Item,
    Items,
    Line,
    Row,
    Source,
    Span,
    Table,
    Tone,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import Html, clipped, element, escape

if TYPE_CHECKING:
    from autocoder_jupyter.run.code_run import CodeRun
    from autocoder_jupyter.types import CodeChange, Relation, Strength
    from autocoder_jupyter.types.interface import FoundSplit


MOST = 40
"""Changes that are listed."""

_DEMANDED = {
    "": "",
    "plan": "; only the plan says that it is the same",
    "nobody": "; the plan says that it is the same, but a second solution that agrees gives another one too",
}

SOURCE = 2_000
"""Characters of a small input."""


def verified_blocks(state: FunctionRun) -> tuple[Block, ...]:
    """The content of the row; nothing for a function that is not verified."""
    if not state.is_ready or state.evidence is None:
        return ()
    outputs = len(state.plan.outputs) if state.plan else 0
    found = verified(state.evidence, state.second_opinion, outputs, state.beside)
    mark = Span("✓", "good", only="html") if not found.lacks else Span("–", "warn", only="html")
    rests = " · ".join(found.rests_on) + (" ·" if found.rests_on and found.lacks else "")
    # The label of the row, which a terminal does not show, has the first word.
    named = Span(f"{found.start}:", only="text"), Span("in part:" if found.lacks else "", only="html")
    return (line(mark, *named, clipped(rests), Span(clipped(" · ".join(found.lacks)), "warn")),)


def change_items(strength: Strength | None) -> tuple[Block, ...]:
    """The changes that were tried, those that no test noticed first."""
    if strength is None:
        return ()
    noticed = [change for change in strength.changes if change.noticed_by]
    shown = [*strength.survivors, *noticed][:MOST]
    start = "Not all changes were tried" if strength.changes else "The tests were not tried on changed code"
    ended = f"{start}: {strength.ended}." if strength.ended else ""
    added = f"Added because changes were not noticed: {', '.join(strength.added)}." if strength.added else ""
    notes = (muted(clipped(words, 500)) for words in (ended, added, strength.note) if words)
    return (*((Items(tuple(map(_item, shown))),) if shown else ()), *notes)


def relation_items(strength: Strength | None) -> tuple[Block, ...]:
    """The changes of the data that should not matter, with the smallest input on which one does."""
    items = tuple(map(_relation, strength.relations)) if strength is not None else ()
    return (Items(items),) if items else ()


def _relation(relation: Relation) -> Item:
    if relation.holds:
        return Item(Span("✓ holds" if relation.said else "✓ the same", "good"), (_told(relation),))
    below = (Source(relation.smallest[:SOURCE], python=True),) if relation.smallest else ()
    if relation.said:
        return Item(Span("– not", "warn"), (_told(relation),), below=below)
    about = f"in {relation.where}{_DEMANDED[relation.demanded_by]}"
    return Item(Span("– another", "warn"), (clipped(relation.name, 200),), about, below=below)


def _told(relation: Relation) -> str:
    return clipped(relation.words if relation.said else relation.name, 400)


def _item(change: CodeChange) -> Item:
    mark = Span("✓ noticed", "good") if change.noticed_by else Span("– not noticed", "warn")
    by = f"by {clipped(change.noticed_by, 200)}" if change.noticed_by else "no test fails"
    return Item(mark, (Span(clipped(change.words, 500), "code"),), by)


# The titles and tones of the phases of a run, for the cards of both modes.


TONES: dict[Phase, Tone] = {
    "running": "busy",
    "waiting": "warn",
    "ready": "good",
    "failed": "bad",
    "cancelled": "quiet",
    "over_budget": "bad",
    "not_verified": "warn",
}

ENDS: dict[Phase, str] = {
    "waiting": "Waiting for approval",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "over_budget": "Out of budget",
    "not_verified": "Not verified here",
}
"""The titles of the phases that always have the same."""


def waits_for(loading: bool, faults: Iterable[str]) -> tuple[str, ...]:
    """What a run waits for: the import of the model client, or the model's service."""
    found = ["Loading the model client; this takes some seconds, once per kernel"] if loading else []
    return (*found, *(f"{fault[:1].upper()}{fault[1:]}" for fault in faults))


def reason_of(reason: str, title: str) -> str:
    """The reason why a run ended; "" if it only repeats the title."""
    return "" if reason.strip(".").casefold() == title.casefold() else reason


# The first rows of each output on the sample, and its pictures. They are untrusted: text, and PNG that was checked.


SAMPLE_OUTPUTS_MOST = 6
"""Outputs that are shown; of the others only the names."""


def output_blocks(seen: SampleOutputs | None, name: str, *, draws: bool = True) -> tuple[Block, ...]:
    """Every output with its name; if rows are withheld or a figure is left out, how to see them."""
    if seen is None:
        return ()
    groups = _groups(seen)
    shown = [block for group in groups[:SAMPLE_OUTPUTS_MOST] for block in _group_blocks(group, name, draws)]
    if seen.withheld:
        shown.append(muted(f"Rows are not saved here because share forbids it. {name}.run() shows them."))
    if more := ", ".join(glimpse.name for group in groups[SAMPLE_OUTPUTS_MOST:] for glimpse in group):
        shown.append(muted(f"and {more}"))
    return tuple(shown)


def picture_blocks(seen: SampleOutputs | None) -> tuple[Block, ...]:
    """The outputs that `output_blocks` shows in words if it does not draw; none before the function ran."""
    drawn = (
        (tuple(filter(_is_drawn, group)) for group in _groups(seen)[:SAMPLE_OUTPUTS_MOST]) if seen is not None else ()
    )
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
    """One output: its size and first rows, its picture, or its value."""
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


# How a function may be split: the row of the card, and when it can be asked for.


OFFER = "Large tables: check how it may be split"
"""The label of the button."""

LONGEST = 400
"""Characters of a counter-example."""


def can_be_checked(state: FunctionRun | CodeRun) -> bool:
    """Whether it is worth asking: a table goes in, a table comes out, and how it may be split is not known."""
    if not isinstance(state, FunctionRun) or not state.is_ready or state.plan is None or state.splits.doing:
        return False
    if state.plan.split is not None or not table_names(state.plan.inputs):
        return False
    known = {found.output for found in state.splits.found if found.split.complete and not found.fixed}
    return not known.issuperset(table_names(state.plan.outputs))


def split_blocks(state: FunctionRun) -> tuple[Block, ...]:
    """The content of the row; nothing if nothing is known."""
    return tuple(_lines(state)) if state.is_ready else ()


def _lines(state: FunctionRun) -> Iterator[Line]:
    known, outputs = state.splits, [spec.name for spec in state.plan.outputs] if state.plan else []
    for output in outputs:
        for found in known.found:
            if found.output == output:
                yield _line(found, of=f"{output}: " if len(outputs) > 1 else "")
    if known.doing:
        yield line(Span("◐", "busy", only="html"), clipped(f"checking how it may be split: {known.doing} …", LONGEST))
    if known.failed:
        yield line(Span(clipped(f"how it may be split could not be checked: {known.failed}", 2 * LONGEST), "warn"))


def _line(found: FoundSplit, of: str) -> Line:
    split, against = found.split, found.split.counterexample
    mark = Span("–", "quiet", only="html") if split.kind == "whole" else Span("✓", "good", only="html")
    about = [
        "" if split.kind == "whole" else "the order of rows counts" if split.ordered else "in any order of rows",
        counted(split.comparisons, "comparison"),
        f"{'' if split.kind == 'whole' else 'not more freely, '}because {against}" if against else "",
        f"with {' and '.join(found.fixed)} as in a call" if found.fixed else "",
    ]
    how = "cannot be split" if split.kind == "whole" else f"may be split: {split.words}"
    words = clipped(f"{of}{split.input} {how}", LONGEST)
    return line(mark, f"{words} ·", Span(clipped(" · ".join(filter(None, about)), 2 * LONGEST), "muted"))
