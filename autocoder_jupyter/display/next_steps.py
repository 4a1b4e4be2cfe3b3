"""Commands to type after a run, for front ends without our buttons, exports and terminals."""

from __future__ import annotations

from collections.abc import Iterator

from autocoder_jupyter.display import markup
from autocoder_jupyter.display.html import EMPTY, Html, element, join
from autocoder_jupyter.display.inspector.call_code import call_line
from autocoder_jupyter.display.state import CardState

CLASS = "autocode-words"
"""Our lab extension hides it where it has the buttons."""


def next_steps_html(state: CardState) -> Html:
    """The row with the commands; empty while the run is active."""
    steps = [join(markup.inline_code(typed), markup.muted(does), between=" ") for typed, does in _steps(state)]
    return element("div", markup.row("Next", markup.line_up(steps)), class_=CLASS) if steps else EMPTY


def next_steps_line(state: CardState) -> str:
    """The same as text; "" while the run is active."""
    steps = ", ".join(f"{typed} {does}" for typed, does in _steps(state))
    return f"next: {steps}" if steps else ""


def _steps(state: CardState) -> Iterator[tuple[str, str]]:
    name, plan = state.name, state.plan
    if state.phase == "ready":
        if plan:
            yield call_line(name, plan.inputs, [spec.name for spec in plan.inputs]), "runs it"
        yield f"%autocode insert {name}", "copies its code into a new cell"
        yield name, "shows the whole result"
    elif state.finished:
        if state.trace and state.phase in ("cancelled", "over_budget"):
            yield f"%%autocode {name} …", "run again, continues where it stopped"
        yield f"%autocode retry {name}", "asks the model again"
        if state.limit == "max_cost" and state.max_cost:
            yield f"--max-cost {2 * state.max_cost:g}", "in its cell raises the limit"
        if state.limit == "max_iterations":
            yield f"--max-iterations {2 * state.of}", "in its cell raises the limit"
        if state.limit == "agent_max_turns" and state.trace:
            yield f"--agent-max-turns {2 * state.trace.max_turns}", "in its cell raises the limit"
        if state.solution:
            yield f"%autocode show {name} --code", "shows the best attempt"
