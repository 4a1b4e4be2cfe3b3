"""The collapsible parts of the card: code, tests, plan, log, the text sent; and the shorter forms of long ones."""

from __future__ import annotations

from collections.abc import Sequence

from autocoder_jupyter.display import parts
from autocoder_jupyter.display.agent_part import folded_calls
from autocoder_jupyter.display.tool_calls import call_line
from autocoder_jupyter.run.function_run import FunctionRun, LogLine
from autocoder_jupyter.view.amounts import clock
from autocoder_jupyter.view.document import Block, Diff, Section, Source, lines, muted
from autocoder_jupyter.view.markup import clipped

LAST_LINES = 12
"""Lines of the log that are shown if the whole log is too long."""

LAST_CALLS = 12
"""Tool calls of an agent that are shown if all of them are too long."""

CALLS = "Tool calls"
CODE_CHANGES = "What changed in the code"
SENT = "What was sent to the model"


def folded_sections(state: FunctionRun) -> tuple[Section, ...]:
    """All parts, in full. Only HTML has them: in a terminal `%autocode show` has each of them."""
    code, tests = _titles(state)
    full: dict[str, tuple[Block, ...]] = {
        CALLS: folded_calls(state),
        CODE_CHANGES: _code_changes(state),
        code: (*_change(state), Source(state.solution, python=True)),
        tests: (*_reported(state), Source(state.tests, python=True)),
        "Plan": parts.plan_blocks(state.plan) if state.plan else (),
        "Log": (Source(_log(state.log)),),
        SENT: (Source(state.sent),),
    }
    return tuple(Section(title, blocks, only="html") for title, blocks in full.items())


def shorter_forms(state: FunctionRun) -> tuple[tuple[str, tuple[Block, ...]], ...]:
    """Shorter forms of the parts, the least important first."""
    code, tests = _titles(state)
    reported = _reported(state)
    elsewhere = lines([f"Too long for a saved notebook: {state.name} as the last line of a cell shows it."], "muted")
    return (
        (CODE_CHANGES, (muted(f"Too long for a saved notebook: %autocode show {state.name} compares them."),)),
        (
            SENT,
            (Source(clipped(state.sent.partition("\n")[0])), muted(f"%autocode preview {state.name} shows all of it.")),
        ),
        ("Log", (Source(_log(_last(state.log))),)),
        (CALLS, folded_calls(state, LAST_CALLS)),
        (tests, (*reported, Source(state.tests))),
        (code, (Source(state.solution, python=True),)),
        (code, (Source(state.solution),)),
        (tests, (*reported, *elsewhere)),
        ("Plan", elsewhere),
        (CALLS, elsewhere),
        (code, elsewhere),
        (tests, elsewhere),
    )


def _titles(state: FunctionRun) -> tuple[str, str]:
    """The titles of the code and of the tests."""
    return (
        "Code, and what the last fix changed" if state.previous_solution else "Code",
        "Tests and checks" if state.evidence and state.evidence.checks else "Tests",
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
    checks = parts.checks(state.evidence.checks) if state.evidence else ()
    return (*parts.tests(state.outcomes, state.pending), *checks)
