"""The card of a running or finished generation: one block of HTML, and the same as text for a terminal.

From top to bottom: name and state, the stages in their fixed places, how the function is called, what it assumes, the
evidence; then the parts that fold. The card has no running clock (the strip below it has one): an update closes the
parts that a person has opened, so the card is updated only after an event.
"""

from __future__ import annotations

from autocoder_jupyter.display import agent_part, markup, parts, readings, tool_calls
from autocoder_jupyter.display.amounts import clock, counted, duration, spending
from autocoder_jupyter.display.changes import changes_html, changes_text
from autocoder_jupyter.display.folds import folds
from autocoder_jupyter.display.html import EMPTY, Html, element, escape, join
from autocoder_jupyter.display.next_steps import next_steps_html, next_steps_line
from autocoder_jupyter.display.outputs_seen import outputs_html, outputs_lines
from autocoder_jupyter.display.questions import question_lines
from autocoder_jupyter.display.state import SELDOM, CardState, StageState
from autocoder_jupyter.engine.events import Stage

LABELS: dict[Stage, str] = {
    "plan": "Plan",
    "code": "Code",
    "tests": "Tests",
    "environment": "Environment",
    "run": "Run",
    "verify": "Verify",
    "second": "Second opinion",
    "diagnose": "Diagnose",
    "fix": "Fix",
}

DOING: dict[Stage, str] = {
    "plan": "Planning",
    "code": "Writing code and tests",
    "tests": "Writing code and tests",
    "environment": "Preparing the sandbox",
    "run": "Running the tests",
    "verify": "Verifying",
    "second": "Getting a second opinion",
    "diagnose": "Diagnosing the failure",
    "fix": "Fixing",
}

COLOURS = {
    "running": markup.BUSY,
    "waiting": markup.WARN,
    "ready": markup.GOOD,
    "failed": markup.BAD,
    "cancelled": markup.QUIET,
    "over_budget": markup.BAD,
}

ENDS = {"waiting": "Waiting for approval", "failed": "Failed", "cancelled": "Cancelled", "over_budget": "Over budget"}

SLOW_SECONDS = 30.0

MAX_CHARACTERS = 19_100
"""Of HTML: with its outline a card stays under 20 KB in a saved notebook."""


def render_html(state: CardState) -> Html:
    """The card. Text of the model or a program is cut to a length; the parts that fold take the room that is left."""
    plan = state.plan
    view = (
        markup.head(state.name, title(state), colour(state), (*_facts(state), *_last_step(state))),
        _stages_html(state),
        markup.row("Note", markup.text_lines(state.notice)),
        markup.row("Refine", escape(markup.clipped(state.wish, 600))),
        markup.row("Asks", join(_approval_html(state), _questions_html(state))),
        markup.row("Answered", markup.items(escape(markup.clipped(line)) for line in state.replies)),
        markup.row("Now", escape("; ".join(_held_up(state)))),
        markup.row("Agent", agent_part.agent_html(state)),
        markup.row("Reason", escape(markup.clipped(_reason(state), 1_000))),
        markup.row("Before", escape(_before(state))),
        markup.row("Because", join(escape(markup.clipped(state.why, 600)), _offer_html(state))),
        markup.row("Fails", _failures_html(state)),
        markup.row("Does", escape(markup.clipped(plan.description, 600)) if plan else EMPTY),
        markup.row("Call", markup.inline_code(markup.clipped(_signature(state), 600)) if plan else EMPTY),
        markup.row("Gives", outputs_html(state.outputs, state.name)),
        markup.row("Assumes", parts.assumptions(plan, _refinable(state))),
        markup.row("Readings", readings.opinion_html(_refinable(state), state.opinion)),
        markup.row("Changes", changes_html(state.changes, plan, state.outcomes) if plan and state.changes else EMPTY),
        markup.row("Your tests", parts.own(state.evidence)),
        _evidence_html(state),
        markup.row("Sandbox", markup.muted(state.sandbox) if state.sandbox else EMPTY),
        parts.refining(state.name) if _refinable(state) else EMPTY,
        next_steps_html(state),
    )
    folded = folds(state, MAX_CHARACTERS - sum(map(len, view)))
    return markup.frame("autocode-card", colour(state), *view, element("div", folded, style="margin-top:8px"))


def render_text(state: CardState) -> str:
    """The card in a few lines of text."""
    lines = [" · ".join((f"● {state.name}  {title(state)}", *_facts(state), *_last_step(state)))]
    lines.extend(f"  {words}" for words in _held_up(state))
    if _reason(state):
        lines.append(f"  {_reason(state)}")
    if _before(state):
        lines.append(f"  {_before(state)}")
    if state.why:
        lines.append(f"  because: {state.why}")
    if state.is_new_request:
        lines.append(f"  {_FROM_SCRATCH} {_FROM_EARLIER}")
    lines.extend(f"  {line}" for line in state.notice)
    lines.extend(f"  {line}" for line in question_lines(state.questions, state.name))
    lines.extend(f"  answered: {line}" for line in state.replies)
    lines.extend([f"  refine: {state.wish}"] if state.wish else [])
    if state.approval:
        lines.append(f"  {_question(state)} {_how_to_answer(state)}")
    if state.finished and state.plan:
        lines.append(f"  {_signature(state)}")
        lines.extend(f"  {line}" for line in outputs_lines(state.outputs, state.name))
        lines.extend(f"  assumes: {assumption}" for assumption in state.plan.assumptions)
        if state.changes:
            lines.extend(f"  {line}" for line in changes_text(state.changes, state.plan, state.outcomes))
    if state.finished:
        lines.extend(f"  {line}" for line in readings.opinion_lines(_refinable(state), state.opinion))
    if state.finished and state.evidence:
        lines.extend(f"  your tests: {line}" for line in parts.own_lines(state.evidence))
        label = "rests on" if state.phase == "ready" else "holds"
        lines.append(f"  {label}: {parts.evidence_text(state.evidence)}")
        lines.extend(f"  {line}" for line in parts.warning_lines(state.evidence, state.trace))
    if state.finished and state.sandbox:
        lines.append(f"  sandbox: {state.sandbox}")
    lines.extend(f"  {line}" for line in agent_part.agent_lines(state))
    if said := next_steps_line(state):
        lines.append(f"  {said}")
    return markup.lines(lines)


def status_line(state: CardState) -> str:
    """One line of text: what it is doing."""
    took = "" if state.finished else clock(state.seconds)
    said = (f"{state.name}  {title(state)}", took, *_held_up(state), *_facts(state))
    return markup.line(*said)


def title(state: CardState) -> str:
    """The state in a few words."""
    if state.phase == "ready":
        changed = state.evidence is not None and parts.has_changed_tests(state.evidence, state.trace)
        return ready(changed, bool(state.reason))
    if state.phase == "running":
        return DOING[state.stage] if state.stage else "Starting"
    if state.questions:
        return "Waiting for your answers"
    return ENDS[state.phase]


def ready(tests_changed: bool, overspent: bool) -> str:
    """The title of a result that can be used, with warnings."""
    known = ("with changed tests" if tests_changed else "", "over its budget" if overspent else "")
    return ", ".join(("Ready", *filter(None, known)))


def colour(state: CardState) -> str:
    """The colour of the state. A ready result that went over its budget is not green."""
    return markup.WARN if state.phase == "ready" and state.reason else COLOURS[state.phase]


def _facts(state: CardState) -> list[str]:
    slow = state.phase == "running" and state.seconds >= SLOW_SECONDS and state.attempt <= 1
    facts = (
        _what_failed(state),
        "edited by you" if state.author == "you" else "",
        f"backend: {state.backend}" if state.backend else "",
        tool_calls.turns(state.trace, finished=state.finished) if state.trace else "",
        f"{state.passed} of {state.test_count} tests passed" if state.test_count else "",
        _attempts(state),
        duration(state.seconds) if state.finished else "",
        spending(state.usage, state.max_cost),
        _without_a_question(state),
        "slower than usual" if slow else "",
    )
    return [fact for fact in facts if fact]


def _without_a_question(state: CardState) -> str:
    """Why no model was asked, when none was."""
    if state.is_kept:
        return f"kept: verified on {state.kept}" if state.kept else "kept"
    return "replayed from the journal" if state.replayed else ""


def _before(state: CardState) -> str:
    """What `run` calls meanwhile: the last good function of the name. Empty when it is kept, or was replaced."""
    if not state.has_before or state.is_kept or state.phase == "ready":
        return ""
    if state.finished:
        return f"{state.name}.run(…) still calls the function from before; {state.name}.last_good is its result."
    return f"{state.name}.last_good is the function from before, until this one is ready."


def _what_failed(state: CardState) -> str:
    """The first test or check that failed, when the run ended by that."""
    if state.phase not in ("failed", "over_budget"):
        return ""
    return parts.first_failure(state.outcomes, state.evidence)


def _held_up(state: CardState) -> list[str]:
    """What it waits for: the import of the model client, or the model's service."""
    loading = ["Loading the model client; this takes some seconds, once in a kernel"] if state.loading else []
    return [*loading, *(f"{fault[:1].upper()}{fault[1:]}" for fault in state.faults)]


def _last_step(state: CardState) -> list[str]:
    """When the last event was. It changes only with the card, for readers without the strip."""
    return [f"last step at {clock(state.log[-1].at)}"] if state.log and not state.finished else []


def _attempts(state: CardState) -> str:
    if not state.attempt:
        return ""
    return counted(state.attempt, "attempt") if state.finished else f"attempt {state.attempt} of {state.of}"


def _reason(state: CardState) -> str:
    """The reason, unless it is the title already."""
    return "" if state.reason.strip(".").casefold() == title(state).casefold() else state.reason


def _refinable(state: CardState) -> str:
    """The name by which it can be refined; "" as long as that cannot be."""
    return state.name if state.phase == "ready" else ""


def _signature(state: CardState) -> str:
    return parts.signature(state.name, state.plan.inputs, state.plan.outputs) if state.plan else ""


def _stages_html(state: CardState) -> Html:
    """Every stage in its place from the start; those of `SELDOM` only when they are needed."""
    shown = []
    for stage, label in LABELS.items():
        how = state.stage_state(stage)
        if how is None and stage in SELDOM:
            continue
        mark, colour = _stage_mark(state, stage, how)
        style = f"display:inline-block;white-space:nowrap;margin-right:18px;color:{colour}"
        shown.append(element("span", escape(f"{mark} {label}"), style=style, title=how.detail if how else ""))
    return element("div", join(*shown, between=" "), style="margin-top:4px")


def _stage_mark(state: CardState, stage: Stage, how: StageState | None) -> tuple[str, str]:
    if how is None:
        return "○", markup.QUIET
    if how.status == "done" and _showed_a_fault(state, stage):
        return "✗", markup.BAD
    if how.status == "done":
        return ("↺" if how.replayed else "✓"), markup.GOOD
    if state.phase in ("cancelled", "over_budget") or (stage == "second" and state.finished):
        return "–", markup.QUIET  # it was stopped or is not needed any more; it did not fail
    return ("✗", markup.BAD) if how.status == "failed" or state.finished else ("◐", markup.BUSY)


def _showed_a_fault(state: CardState, stage: Stage) -> bool:
    """Whether the stage itself succeeded and found a failure."""
    if stage == "run":
        return any(outcome.outcome != "passed" for outcome in state.outcomes)
    return stage == "verify" and state.evidence is not None and not all(c.passed for c in state.evidence.conditions)


def _approval_html(state: CardState) -> Html:
    return markup.marked(_question(state), markup.WARN, _how_to_answer(state)) if state.approval else EMPTY


def _question(state: CardState) -> str:
    return f"May it install {', '.join(state.approval)}?"


def _how_to_answer(state: CardState) -> str:
    return (
        "The code imports it, and it is not among the packages that are known here. Allow it with "
        f"%autocode approve {state.name}, refuse it with %autocode decline {state.name}."
    )


def _questions_html(state: CardState) -> Html:
    """What the plan asks, with the options by number."""
    lines = question_lines(state.questions, state.name)
    return join(*(element("div", escape(line), style="white-space:pre-wrap") for line in lines))


def _offer_html(state: CardState) -> Html:
    """After an edit of the request: to refine the existing function keeps its tests and costs less."""
    if not state.is_new_request:
        return EMPTY
    told = markup.muted(f"{_FROM_SCRATCH} {_FROM_EARLIER}")
    return element("div", join(told, parts.wish_button("Refine it instead", "autocode-refine-cell"), between=" "))


_FROM_SCRATCH = "It is written from scratch."
_FROM_EARLIER = "With --refine in the first line it starts from the existing function and keeps its tests."


def _evidence_html(state: CardState) -> Html:
    if state.evidence is None:
        return EMPTY
    label = "Rests on" if state.phase == "ready" else "Holds"
    return markup.row(label, join(parts.evidence_line(state.evidence), parts.warnings(state.evidence, state.trace)))


def _failures_html(state: CardState) -> Html:
    if state.phase not in ("failed", "over_budget"):
        return EMPTY
    failed = parts.failures(state.outcomes, state.evidence)
    kept = markup.muted("The best attempt is kept below, under Code.") if failed and state.solution else EMPTY
    return join(failed, kept)
