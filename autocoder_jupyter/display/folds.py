"""The tool calls of an agent, and the collapsible parts of the card with their shorter forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, get_args

from autocoder_jupyter.display import parts as display_parts
from autocoder_jupyter.run.function_run import FunctionRun, LogLine
from autocoder_jupyter.types import ToolClass, Trace
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import clock, counted, duration
from autocoder_jupyter.view.as_text import item_text
from autocoder_jupyter.view.document import (
    Block,
    Diff,
    Item,
    Items,
    Line,
    Row,
    Section,
    Source,
    Span,
    Tone,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import clipped

if TYPE_CHECKING:
    from autocoder_jupyter.types import ToolOutcome, ToolUse


# Tool calls

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
    """One call."""
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


# The row *Agent*
#
# It has the newest tool calls while the agent works, and a summary at the end.

NEWEST = 5
"""Calls in the row while the agent works; earlier calls are in a collapsible part."""

MOST_FOLDED = 60


def agent_blocks(state: FunctionRun) -> tuple[Block, ...]:
    """The content of the row; nothing without an agent, or before its first turn."""
    agent = state.agent
    if agent is None or not agent.trace.turns:
        return ()
    calls = agent.trace.calls
    if state.finished:
        return (*lines(_summary(state, agent.trace)), *calls_block(denied(calls)))
    listed = calls_block(calls[-NEWEST:], (use for _, use in agent.under_way))
    return (*_before(len(calls) - NEWEST, ", see History below"), *(listed or (muted("no tool call yet"),)))


def folded_calls(state: FunctionRun, most: int = MOST_FOLDED) -> tuple[Block, ...]:
    """The calls in order, at most the newest `most`; while the agent works, without those in the row."""
    calls = state.trace.calls if state.trace else ()
    shown = calls if state.finished else calls[:-NEWEST]
    return (*_before(len(shown) - most), *calls_block(shown[-most:]))


def _before(count: int, where: str = "") -> tuple[Block, ...]:
    return (muted(f"{counted(count, 'earlier call')}{where}"),) if count > 0 else ()


def _summary(state: FunctionRun, trace: Trace) -> Iterator[str]:
    """The calls by tool and class; the packages that the code needs, and the image of the sandbox."""
    yield distribution(trace.calls)
    if state.environment:
        packages = ", ".join(state.packages) or "only the preinstalled ones"
        yield f"packages: {clipped(packages)}; image: {state.environment}"


# Collapsible parts

LAST_LINES = 12
"""Lines of the log, and tool calls of an agent, that are shown if all of them are too long."""

CODE, EVIDENCE, SENT, HISTORY = "Code", "Evidence", "Sent", "History"
"""The titles of the parts."""


def folded_sections(state: FunctionRun, evidence: Sequence[Block]) -> tuple[Section, ...]:
    """All parts, in full. Only HTML has them: in a terminal `%autocode show` has each of them."""
    full = {CODE: _code(state), EVIDENCE: _evidence(state, evidence), SENT: _sent(state), HISTORY: _history(state)}
    return tuple(Section(title, blocks, only="html") for title, blocks in full.items())


def shorter_forms(state: FunctionRun, evidence: Sequence[Block]) -> tuple[tuple[str, tuple[Block, ...]], ...]:
    """Shorter forms of the parts, the least important first."""
    elsewhere = lines([f"Too long for a saved notebook: {state.name} as the last line of a cell shows it."], "muted")
    first_line = Source(clipped(state.sent.partition("\n")[0])) if state.sent else None
    return (
        (CODE, _code(state, changes=False)),
        (SENT, (first_line, muted(f"%autocode show {state.name} --sent shows all of it.")) if first_line else ()),
        (HISTORY, _history(state, LAST_LINES)),
        (EVIDENCE, _evidence(state, evidence, coloured=False)),
        (CODE, _code(state, changes=False, coloured=False)),
        (CODE, _code(state, changes=False, coloured=False, planned=False)),
        (EVIDENCE, (*_evidence(state, evidence, source=False), *elsewhere)),
        (HISTORY, (*history_rows(state), *elsewhere)),
        (CODE, elsewhere),
        (EVIDENCE, elsewhere),
    )


def _code(
    state: FunctionRun, *, changes: bool = True, coloured: bool = True, planned: bool = True
) -> tuple[Block, ...]:
    """How to call it, its source, what the last fix and this version changed in it, and the plan."""
    if not state.solution and state.plan is None:
        return ()
    return (
        call_row(state),
        *((Source(state.solution, python=coloured),) if state.solution else ()),
        Row("Last fix", _change(state) if changes else ()),
        Row("New in this version", _code_changes(state) if changes else ()),
        Row("Plan", display_parts.plan_blocks(state.plan) if planned and state.plan else ()),
    )


def call_row(state: FunctionRun) -> Row:
    """How to call it; empty before the interface is known."""
    call = display_parts.signature(state.name, state.plan.inputs, state.plan.outputs) if state.plan else ""
    return Row("Call", lines([clipped(call, 600)], "signature"), prefix="")


def history_rows(state: FunctionRun) -> tuple[Row, ...]:
    """Who wrote it where, and in short what an agent did."""
    has_code = bool(state.solution) or not state.finished
    return (
        Row("Written by", lines([clipped(state.writer, 600)]) if has_code else (), prefix="written by"),
        Row("Sandbox", display_parts.sandbox_blocks(state.sandbox) if has_code else ()),
        Row("Agent", agent_blocks(state) if state.finished else ()),
    )


def _evidence(
    state: FunctionRun, rows: Sequence[Block], *, coloured: bool = True, source: bool = True
) -> tuple[Block, ...]:
    """What was found, every test and check, and the source of the tests."""
    tests = (Source(state.tests, python=coloured),) if source and state.tests else ()
    return (*rows, *_reported(state), *tests)


def _sent(state: FunctionRun) -> tuple[Block, ...]:
    return (Source(state.sent),) if state.sent else ()


def _history(state: FunctionRun, most: int = 0) -> tuple[Block, ...]:
    """Who wrote it where, what an agent did, and the log; the last `most` calls and lines, 0 for all."""
    log = _last(state.log) if most else state.log
    return (
        *history_rows(state),
        *folded_calls(state, most or MOST_FOLDED),
        *((Source(_log(log)),) if log else ()),
    )


def _log(log: Sequence[LogLine]) -> str:
    return "\n".join(f"{clock(entry.at)}  {call_line(entry.call) if entry.call else entry.text}" for entry in log)


def _last(log: Sequence[LogLine]) -> list[LogLine]:
    """The last lines, and the decisions of the user in the lines before."""
    return [*[entry for entry in log[:-LAST_LINES] if entry.is_decision][-LAST_LINES:], *log[-LAST_LINES:]]


def _change(state: FunctionRun) -> tuple[Block, ...]:
    return (Diff(state.previous_solution, state.solution),) if state.previous_solution else ()


def _code_changes(state: FunctionRun) -> tuple[Block, ...]:
    """The changes from the code of the version that this one was made from; nothing if there is none."""
    if state.changes is None:
        return ()
    if state.changes.code == state.solution:
        return (muted("The code did not change."),)
    return (Diff(state.changes.code, state.solution),)


def _reported(state: FunctionRun) -> tuple[Block, ...]:
    checks = display_parts.checks(state.evidence.checks) if state.evidence else ()
    rows = Row("Row counts", display_parts.rows_used(state.evidence, steps=True))
    return (*display_parts.tests(state.outcomes, state.pending), *checks, *((rows,) if rows.blocks else ()))
