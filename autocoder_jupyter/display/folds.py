"""The collapsible parts of the card: code, tests, plan, log, the text sent. Long parts are shortened."""

from __future__ import annotations

from collections.abc import Sequence

from autocoder_jupyter.display import parts
from autocoder_jupyter.display.agent_part import folded_calls
from autocoder_jupyter.display.fitting import fit
from autocoder_jupyter.display.state import CardState, LogLine
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import clock
from autocoder_jupyter.view.diff import colour_diff
from autocoder_jupyter.view.html import EMPTY, Html, join

LAST_LINES = 12
"""Lines of the log that are shown if the whole log is too long."""

LAST_CALLS = 12
"""Tool calls of an agent that are shown if all of them are too long."""

CALLS = "Tool calls"
CODE_CHANGES = "What changed in the code"
SENT = "What was sent to the model"


def folds(state: CardState, room: int) -> Html:
    """All parts, one below the other.

    Args:
        state: the state of the run.
        room: the most characters of HTML.
    """
    code = "Code, and what the last fix changed" if state.previous_solution else "Code"
    tests = "Tests and checks" if state.evidence and state.evidence.checks else "Tests"
    coloured, reported = markup.python(state.solution), _reported(state)
    full = {
        CALLS: folded_calls(state),
        CODE_CHANGES: _code_changes(state),
        code: join(_change(state), coloured),
        tests: join(reported, markup.python(state.tests)),
        "Plan": parts.plan_parts(state.plan) if state.plan else EMPTY,
        "Log": markup.code(_log(state.log)),
        SENT: markup.code(state.sent),
    }
    elsewhere = markup.muted_line(f"Too long for a saved notebook: {state.name} as the last line of a cell shows it.")
    facts = markup.code(markup.clipped(state.sent.partition("\n")[0]))
    shorter = (
        (CODE_CHANGES, markup.muted_line(f"Too long for a saved notebook: %autocode show {state.name} compares them.")),
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
    """The last lines, and the decisions of the user in the lines before."""
    return [*[line for line in log[:-LAST_LINES] if line.is_decision][-LAST_LINES:], *log[-LAST_LINES:]]


def _change(state: CardState) -> Html:
    if not state.previous_solution or state.previous_solution == state.solution:
        return EMPTY
    return colour_diff(state.previous_solution, state.solution, "before", "now")


def _code_changes(state: CardState) -> Html:
    """The changes from the code of the version that this one was made from; empty if there is none."""
    if state.changes is None:
        return EMPTY
    changed = colour_diff(state.changes.code, state.solution, "before", "now")
    return changed or markup.muted_line("The code did not change.")


def _reported(state: CardState) -> Html:
    checks = parts.checks(state.evidence) if state.evidence else EMPTY
    return join(parts.tests(state.outcomes, state.pending), checks)
