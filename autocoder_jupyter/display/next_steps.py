"""Commands to type after a run, for front ends without our buttons, exports and terminals."""

from __future__ import annotations

from collections.abc import Iterator

from autocoder_jupyter.display.actions import buttons, limit_flag, raised_limit
from autocoder_jupyter.display.inspector.call_code import call_line
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.view.document import Beside, Row, Span, line

WORDS = "autocode-words"
"""Our lab extension hides it where it has the buttons."""


def approval_row(name: str, *, is_asked: bool) -> Row:
    """How to approve without our buttons; empty if nothing is asked."""
    how = f"Allow it with %autocode approve {name}, refuse it with %autocode decline {name}."
    return Row("Answer", (line(how),) if is_asked else (), prefix="", kind=WORDS)


def next_steps(state: FunctionRun) -> Row:
    """The row with the commands; empty while the run is active."""
    steps = tuple(line(Span(typed, "code"), Span(does, "muted")) for typed, does in _steps(state))
    return Row("Next", (Beside(steps),) if steps else (), kind=WORDS)


def _steps(state: FunctionRun) -> Iterator[tuple[str, str]]:
    name, plan, offered = state.name, state.plan, buttons(state)
    if "call" in offered:
        if plan:
            yield call_line(name, plan.inputs, [spec.name for spec in plan.inputs]), "runs it"
        yield f"%autocode insert {name}", "copies its code into a new cell"
    if "check-split" in offered:
        yield f"{name}.split", "checks how it may be split, for large tables"
    if "inspect" in offered:
        yield name, "shows the whole result"
    if "retry" in offered:
        if state.trace and state.phase in ("cancelled", "over_budget"):
            yield f"%%autocode {name} …", "run again, continues where it stopped"
        yield f"%autocode retry {name}", "asks the model again"
    if "raise-limit" in offered and (limit := _limit(state)):
        raised = f"{raised_limit(state, limit):.12g}"
        yield f"{limit_flag(state)} {raised}", "in its cell raises the limit, or any other amount"
    if state.finished and "call" not in offered and state.solution:
        yield f"%autocode show {name} --code", "shows the best attempt"


def _limit(state: FunctionRun) -> float:
    """The limit that ended the run; 0 if the card does not have it."""
    turns = state.trace.max_turns if state.trace else 0
    return {"max_cost": state.max_cost or 0, "max_iterations": state.of, "agent_max_turns": turns}.get(state.limit, 0)
