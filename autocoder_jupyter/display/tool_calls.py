"""Tool calls of an agent on cards and in the inspector: each with its class and outcome, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

from autocoder_jupyter.types import ToolClass
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted, duration
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.types import ToolOutcome, ToolUse, Trace

CLASSES: tuple[ToolClass, ...] = get_args(ToolClass)

MARKS: dict[ToolOutcome, tuple[str, str]] = {
    "ok": ("✓", markup.GOOD),
    "failed": ("✗", markup.BAD),
    "denied": ("⊘", markup.BAD),
    "cancelled": ("–", markup.QUIET),
    "uncertain": ("?", markup.WARN),
}
"""Sign and colour of each outcome."""

RUNS = ("◐", markup.BUSY)

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


def calls_html(calls: Iterable[ToolUse], under_way: Iterable[ToolUse] = ()) -> Html:
    """The calls as a list, then the calls that are running."""
    entries = [*(call_html(call) for call in calls), *(call_html(call, runs=True) for call in under_way)]
    return element("div", *entries, role="list") if entries else EMPTY


def call_html(call: ToolUse, below: Html = EMPTY, *, runs: bool = False) -> Html:
    """One call, as an item of a list.

    Args:
        call: the call.
        below: HTML shown below it.
        runs: whether it is still running.
    """
    about = markup.muted(" · ".join(filter(None, (judged(call), "" if runs else _took(call)))))
    edge = MARKS["denied"][1] if call.outcome == "denied" else ""
    return call_row(_outcome(call, runs=runs), join(join(_asked(call), about, between=" · "), below), edge)


def call_row(outcome: Html, content: Html, edge: str = "") -> Html:
    """The layout of a tool call on cards; `edge` is the colour of the left border."""
    shape = (
        f"display:flex;flex-wrap:wrap;column-gap:12px;border-left:3px solid {edge or 'transparent'};padding-left:6px"
    )
    cells = (
        element("div", outcome, style="flex:0 0 6em"),
        element("div", content, style="flex:1 1 15em;min-width:0"),
    )
    return element("div", join(*cells, between=" "), role="listitem", style=shape)


def short_html(call: ToolUse, *, runs: bool = False) -> Html:
    """A call in one short line, without its class."""
    return join(_outcome(call, runs=runs), _asked(call), between=" ")


def _outcome(call: ToolUse, *, runs: bool) -> Html:
    sign, colour = RUNS if runs else MARKS[call.outcome]
    return markup.coloured(f"{sign} {'runs' if runs else call.outcome}", colour)


def _asked(call: ToolUse) -> Html:
    return join(element("strong", escape(call.tool)), markup.inline_code(argument(call)), between=" ")


def call_line(call: ToolUse) -> str:
    """The same as text: `⊘ denied  Bash curl https://…  network is not reached`."""
    parts = f"{MARKS[call.outcome][0]} {call.outcome}", f"{call.tool} {argument(call)}", judged(call), _took(call)
    return markup.line("  ".join(filter(None, parts)))


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
