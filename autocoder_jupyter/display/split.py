"""How a function may be split: the row of the card, and when it can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types.interface import table_names
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.document import Block, Line, Span, line
from autocoder_jupyter.view.markup import clipped

if TYPE_CHECKING:
    from autocoder_jupyter.run.code_run import CodeRun
    from autocoder_jupyter.types.interface import FoundSplit

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
