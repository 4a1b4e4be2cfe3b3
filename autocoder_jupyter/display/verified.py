"""What a verified function rests on: the row of the card, and the changes in the inspector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.run.of_report import verified
from autocoder_jupyter.view.document import Block, Item, Items, Source, Span, line, muted
from autocoder_jupyter.view.markup import clipped

if TYPE_CHECKING:
    from autocoder_jupyter.run.function_run import FunctionRun
    from autocoder_jupyter.types import CodeChange, Relation, Strength

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
