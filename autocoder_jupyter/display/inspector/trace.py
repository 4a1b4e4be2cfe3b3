"""The section *Trace*: every tool call of an agent in order, with its class, outcome and result."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autocoder_jupyter.display import parts, tool_calls
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.document import Block, Fold, Items, Row, Source, lines, muted

if TYPE_CHECKING:
    from autocoder_jupyter.types import Report, ToolClass, ToolUse, Trace


@dataclass(frozen=True)
class TraceBounds:
    """How much of a trace is shown.

    Args:
        calls: the number of calls, the last ones.
        characters: characters of an argument and of a result.
    """

    calls: int
    characters: int


SAVED = TraceBounds(calls=100, characters=300)
"""In the static form, which is saved with the notebook."""

BRIEF = TraceBounds(calls=20, characters=0)
"""In the static form, if other sections are long."""

FACTS_ONLY = TraceBounds(calls=0, characters=0)

LIVE = TraceBounds(calls=1_000, characters=8_000)


def trace_section(report: Report, bounds: TraceBounds, kind: ToolClass | None = None) -> tuple[Block, ...]:
    """The section; nothing without an agent.

    Args:
        report: the report of the result.
        bounds: how much is shown.
        kind: show only calls of this class; all by default.
    """
    if report.trace is None:
        return ()
    calls = [call for call in report.trace.calls if kind in (None, call.kind)]
    left_out = len(calls) - bounds.calls
    where = f"{counted(left_out, 'earlier call')}: see {report.name}.trace.calls."
    return (
        *lines(_summary(report.trace)),
        *parts.warnings(report.evidence, report.trace),
        *lines([where] if left_out > 0 else [], "muted"),
        *_by_turn(calls[max(left_out, 0) :], bounds),
    )


def trace_lines(report: Report) -> Iterator[str]:
    """The same for a terminal, without the results of the calls."""
    if report.trace is None:
        return
    yield from _summary(report.trace)
    for number, call in enumerate(report.trace.calls, 1):
        yield f"{number:>3}  turn {call.turn}  {tool_calls.call_line(call)}"


def _summary(trace: Trace) -> tuple[str, str]:
    took = f"The agent took {tool_calls.turns(trace, finished=True) or 'no turn'}."
    return took, tool_calls.distribution(trace.calls)


def _by_turn(calls: list[ToolUse], bounds: TraceBounds) -> Iterator[Block]:
    """The calls as a list for each turn."""
    for turn, made in itertools.groupby(calls, key=lambda call: call.turn):
        items = tuple(tool_calls.call_item(call, _details(call, bounds.characters)) for call in made)
        yield Row("", (muted(f"Turn {turn}"), Items(items, f"Calls of turn {turn}")))


def _details(call: ToolUse, most: int) -> tuple[Block, ...]:
    """The collapsible parts below a call: the whole argument, if it is longer than a line, and the result."""
    if not most:
        return ()
    whole = "" if call.argument.strip() == tool_calls.argument(call) else call.argument
    texts = {"Whole argument": whole, "Result": call.observed}
    return tuple(Fold(title, (Source(_bounded(text, most)),)) for title, text in texts.items() if text)


def _bounded(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters"
