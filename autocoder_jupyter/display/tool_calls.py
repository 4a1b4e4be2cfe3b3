"""Tool calls of an agent on cards and in the inspector: each with its class and outcome, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

from autocoder_jupyter.types import ToolClass
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted, duration
from autocoder_jupyter.view.as_text import item_text
from autocoder_jupyter.view.document import Block, Item, Items, Line, Span, Tone, line

if TYPE_CHECKING:
    from autocoder_jupyter.types import ToolOutcome, ToolUse, Trace

CLASSES: tuple[ToolClass, ...] = get_args(ToolClass)

MARKS: dict[ToolOutcome, tuple[str, Tone]] = {
    "ok": ("✓", "good"),
    "failed": ("✗", "bad"),
    "denied": ("⊘", "bad"),
    "cancelled": ("–", "quiet"),
    "uncertain": ("?", "warn"),
}
"""Sign and tone of each outcome."""

RUNS: tuple[str, Tone] = ("◐", "busy")
ASKS: tuple[str, Tone] = ("?", "warn")

LONGEST_ARGUMENT = 120
LONGEST_REASON = 160
NOTEWORTHY_SECONDS = 0.05
MOST_TOOLS = 8
MOST_DENIED = 3
"""Denied calls that are shown with the summary."""


def turns(trace: Trace, *, finished: bool) -> str:
    """`turn 4 of 50` while it works, `14 of 50 turns` afterwards; "" before the first turn."""
    if not trace.turns:
        return ""
    if finished:
        return f"{trace.turns} of {counted(trace.max_turns, 'turn')}"
    return f"turn {trace.turns} of {trace.max_turns}"


def distribution(calls: Sequence[ToolUse]) -> str:
    """`7 calls: Bash 4, Write 3; 5 safe, 1 intercepted, 1 denied; 1 failed; 2 replayed`."""
    tools = Counter(call.tool for call in calls)
    kinds = Counter(call.kind for call in calls)
    outcomes = Counter(call.outcome for call in calls)
    rest = len(calls) - sum(count for _, count in tools.most_common(MOST_TOOLS))
    named = [f"{markup.clipped(tool, 40)} {count}" for tool, count in tools.most_common(MOST_TOOLS)]
    parts = (
        f"{counted(len(calls), 'call')}: {', '.join([*named, *([f'others {rest}'] if rest else [])])}",
        ", ".join(f"{kinds[kind]} {kind}" for kind in CLASSES if kinds[kind]),
        ", ".join(f"{outcomes[how]} {how}" for how in ("failed", "cancelled") if outcomes[how]),
        f"{replayed} replayed" if (replayed := sum(call.replayed for call in calls)) else "",
    )
    return "; ".join(filter(None, parts)) if calls else "no calls"


def denied(calls: Iterable[ToolUse]) -> list[ToolUse]:
    """The first calls that were denied."""
    return [call for call in calls if call.outcome == "denied"][:MOST_DENIED]


def calls_block(calls: Iterable[ToolUse], under_way: Iterable[ToolUse] = ()) -> tuple[Block, ...]:
    """The calls as a list, then the calls that are running."""
    items = (*(call_item(call) for call in calls), *(call_item(call, runs=True) for call in under_way))
    return (Items(items),) if items else ()


def call_item(call: ToolUse, below: tuple[Block, ...] = (), *, runs: bool = False) -> Item:
    """One call.

    Args:
        call: the call.
        below: what is shown below it.
        runs: whether it is still running.
    """
    about = " · ".join(filter(None, (judged(call), "" if runs else _took(call))))
    denied = call.outcome == "denied" and not runs
    return Item(outcome(call, runs=runs), _asked(call), about, below=below, edge=denied)


def short_line(call: ToolUse, *, runs: bool = False) -> Line:
    """A call in one short line, without its class."""
    return line(outcome(call, runs=runs), *_asked(call))


def outcome(call: ToolUse, *, runs: bool = False) -> Span:
    """The outcome with its sign."""
    sign, tone = RUNS if runs else MARKS[call.outcome]
    return Span(f"{sign} {'runs' if runs else call.outcome}", tone)


def _asked(call: ToolUse) -> tuple[Span, Span]:
    return Span(call.tool, "strong"), Span(argument(call), "code")


def call_line(call: ToolUse) -> str:
    """A call in one line of text: `⊘ denied  Bash curl https://…  network is not reached`."""
    return markup.line(item_text(call_item(call)))


def argument(call: ToolUse) -> str:
    """The first line of the argument, and the number of further lines."""
    first, *more = call.argument.strip().splitlines() or [""]
    shown = markup.clipped(first, LONGEST_ARGUMENT)
    return f"{shown} … (+{counted(len(more), 'line')})" if more else shown


def judged(call: ToolUse) -> str:
    """The class of a call and its reason, as `intercepted: runs in our own runner`; if denied, the reason only."""
    reason = markup.clipped(call.reason, LONGEST_REASON)
    if call.outcome == "denied":
        return reason or call.kind
    return f"{call.kind}: {reason}" if reason else call.kind


def _took(call: ToolUse) -> str:
    if call.replayed:
        return "↺ replayed"
    return duration(call.seconds) if call.seconds >= NOTEWORTHY_SECONDS else ""
