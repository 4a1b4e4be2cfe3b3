"""The parts of the card that fold: code, tests, plan, log, what was sent. Shorter forms keep a saved notebook small."""

from __future__ import annotations

from collections.abc import Sequence

from autocoder_jupyter.display import markup, parts
from autocoder_jupyter.display.agent_part import folded_calls
from autocoder_jupyter.display.amounts import clock
from autocoder_jupyter.display.diff import colour_diff
from autocoder_jupyter.display.fitting import fit
from autocoder_jupyter.display.html import EMPTY, Html, join
from autocoder_jupyter.display.state import CardState, LogLine

LAST_LINES = 12
"""Of the log, where all of it is too long."""

LAST_CALLS = 12
"""Of an agent's tool calls, likewise."""

CALLS = "Tool calls"
WISHED = "What changed in the code"
SENT = "What was sent to the model"


def folds(state: CardState, room: int) -> Html:
    """All of them, one below the other.

    Args:
        state: of the run.
        room: characters of HTML.
    """
    code = "Code, and what the last fix changed" if state.previous_solution else "Code"
    tests = "Tests and checks" if state.evidence and state.evidence.checks else "Tests"
    coloured, reported = markup.python(state.solution), _reported(state)
    full = {
        CALLS: folded_calls(state),
        WISHED: _wished(state),
        code: join(_change(state), coloured),
        tests: join(reported, markup.python(state.tests)),
        "Plan": parts.plan_parts(state.plan) if state.plan else EMPTY,
        "Log": markup.code(_log(state.log)),
        SENT: markup.code(state.sent),
    }
    elsewhere = markup.muted_line(f"Too long for a saved notebook: {state.name} as the last line of a cell shows it.")
    facts = markup.code(markup.clipped(state.sent.partition("\n")[0]))
    shorter = (
        (WISHED, markup.muted_line(f"Too long for a saved notebook: %autocode show {state.name} compares them.")),
        (SENT, join(facts, markup.muted_line(f"%autocode preview {state.name} shows all of it."))),
        ("Log", markup.code(_log(_last(state.log)))),
        (CALLS, folded_calls(state, LAST_CALLS)),
        (tests, join(reported, markup.code(state.tests))),
        (code, coloured),
        (code, markup.code(state.solution)),
        (tests, join(reported, elsewhere)),
        ("Plan", elsewhere),
        (CALLS, elsewhere),
        (code, elsewhere),
        (tests, elsewhere),
    )
    return join(*(markup.details(title, content) for title, content in fit(full, shorter, room).items()))


def _log(lines: Sequence[LogLine]) -> str:
    return "\n".join(f"{clock(line.at)}  {line.text}" for line in lines)


def _last(log: Sequence[LogLine]) -> list[LogLine]:
    """The last lines, and of those before what a person decided."""
    return [*[line for line in log[:-LAST_LINES] if line.is_decision][-LAST_LINES:], *log[-LAST_LINES:]]


def _change(state: CardState) -> Html:
    if not state.previous_solution or state.previous_solution == state.solution:
        return EMPTY
    return colour_diff(state.previous_solution, state.solution, "before", "now")


def _wished(state: CardState) -> Html:
    """The code beside that of the version that it was made from; nothing when there was none."""
    if state.changes is None:
        return EMPTY
    changed = colour_diff(state.changes.code, state.solution, "before", "now")
    return changed or markup.muted_line("The code is as it was.")


def _reported(state: CardState) -> Html:
    checks = parts.checks(state.evidence) if state.evidence else EMPTY
    return join(parts.tests(state.outcomes, state.pending), checks)
