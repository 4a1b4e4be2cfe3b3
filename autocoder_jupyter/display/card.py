"""The card of a running or finished generation: one block of HTML, and the same as text for a terminal.

From top to bottom: name and state, the stages in fixed places, the rows with a label, then the parts that fold. The
card has no running clock; the strip below it has one. An update closes the parts that the user has opened, so the card
is updated only after an event.
"""

from __future__ import annotations

from autocoder_jupyter.display import agent_part, parts, readings, tool_calls
from autocoder_jupyter.display.changes import changes_html, changes_text
from autocoder_jupyter.display.folds import folds
from autocoder_jupyter.display.next_steps import next_steps_html, next_steps_line
from autocoder_jupyter.display.questions import question_lines
from autocoder_jupyter.display.sample_outputs import outputs_html, outputs_lines
from autocoder_jupyter.display.state import CardState, StageState
from autocoder_jupyter.types.stages import STAGES, StageName
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import clock, counted, duration, spending
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

COLOURS = {
    "running": markup.BUSY,
    "waiting": markup.WARN,
    "ready": markup.GOOD,
    "failed": markup.BAD,
    "cancelled": markup.QUIET,
    "over_budget": markup.BAD,
    "not_verified": markup.WARN,
}

ENDS = {
    "waiting": "Waiting for approval",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "over_budget": "Over budget",
    "not_verified": "Not verified here",
}

REASON_CHARACTERS = 2_000

_UNSOLVED = ("failed", "over_budget")

MAX_CHARACTERS = 19_100
"""Characters of HTML; with its outline a card stays under 20 KB in a saved notebook."""


def render_html(state: CardState) -> Html:
    """The card as HTML. Untrusted text is cut; the parts that fold take the characters that are left."""
    plan, reason = state.plan, _reason(state)
    failed = _failures_html(state, reason)
    view = (
        markup.head(state.name, title(state), colour(state), (*_facts(state, reason), *_last_step(state))),
        _stages_html(state),
        markup.row("Note", markup.text_lines(state.notice)),
        markup.row("Refine", escape(markup.clipped(state.refinement, 600))),
        markup.row("Questions", join(_approval_html(state), _questions_html(state))),
        markup.row("Answers", markup.items(escape(markup.clipped(line)) for line in state.replies)),
        markup.row("Status", escape("; ".join(_waits_for(state)))),
        markup.row("Agent", agent_part.agent_html(state)),
        markup.row("Reason", join(markup.paragraphs(reason, REASON_CHARACTERS), EMPTY if failed else _best(state))),
        markup.row("Last good", escape(_last_good(state))),
        markup.row("New version", join(escape(markup.clipped(state.why, 600)), _offer_html(state))),
        markup.row("Failed", join(failed, _best(state) if failed else EMPTY)),
        markup.row("Description", escape(markup.clipped(plan.description, 600)) if plan else EMPTY),
        markup.row("Call", markup.inline_code(markup.clipped(_signature(state), 600)) if plan else EMPTY),
        markup.row("Outputs", outputs_html(state.outputs, state.name)),
        markup.row("Assumptions", parts.assumptions(plan, _refinable(state))),
        markup.row("Second opinion", readings.opinion_html(_refinable(state), state.opinion)),
        markup.row("Changes", changes_html(state.changes, plan, state.outcomes) if plan and state.changes else EMPTY),
        markup.row("Your tests", parts.own(state.evidence, messages=state.phase not in _UNSOLVED)),
        _evidence_html(state),
        markup.row("Sandbox", markup.muted(state.sandbox) if state.sandbox else EMPTY),
        parts.refining(state.name) if _refinable(state) else EMPTY,
        next_steps_html(state),
    )
    folded = folds(state, MAX_CHARACTERS - sum(map(len, view)))
    return markup.frame("autocode-card", colour(state), *view, element("div", folded, style="margin-top:8px"))


def render_text(state: CardState) -> str:
    """The card in a few lines of text."""
    reason = _reason(state)
    lines = [" · ".join((f"● {state.name}  {title(state)}", *_facts(state, reason), *_last_step(state)))]
    lines.extend(f"  {words}" for words in _waits_for(state))
    if reason:
        lines.append(f"  {reason}")
    if _last_good(state):
        lines.append(f"  {_last_good(state)}")
    if state.why:
        lines.append(f"  new version: {state.why}")
    if state.is_new_request:
        lines.append(f"  {_FROM_SCRATCH} {_FROM_EARLIER}")
    lines.extend(f"  {line}" for line in state.notice)
    lines.extend(f"  {line}" for line in question_lines(state.questions, state.name))
    lines.extend(f"  answered: {line}" for line in state.replies)
    lines.extend([f"  refine: {state.refinement}"] if state.refinement else [])
    if state.approval:
        lines.append(f"  {_approval_question(state)} {_how_to_answer(state)}")
    if state.finished and state.plan:
        lines.append(f"  {_signature(state)}")
        lines.extend(f"  {line}" for line in outputs_lines(state.outputs, state.name))
        lines.extend(f"  assumes: {assumption}" for assumption in state.plan.assumptions)
        if state.changes:
            lines.extend(f"  {line}" for line in changes_text(state.changes, state.plan, state.outcomes))
    if state.finished:
        lines.extend(f"  {line}" for line in readings.opinion_lines(_refinable(state), state.opinion))
    if state.finished and state.evidence:
        lines.extend(f"  your tests: {line}" for line in parts.own_lines(state.evidence, reason))
        if passed := parts.evidence_text(state.evidence):
            lines.append(f"  passed: {passed}")
        lines.extend(f"  {line}" for line in parts.warning_lines(state.evidence, state.trace))
    if state.finished and state.sandbox:
        lines.append(f"  sandbox: {state.sandbox}")
    lines.extend(f"  {line}" for line in agent_part.agent_lines(state))
    if steps := next_steps_line(state):
        lines.append(f"  {steps}")
    return markup.lines(lines)


def status_line(state: CardState) -> str:
    """The current step in one line of text."""
    took = "" if state.finished else clock(state.seconds)
    return markup.line(f"{state.name}  {title(state)}", took, *_waits_for(state), *_facts(state))


def title(state: CardState) -> str:
    """The state in a few words."""
    if state.phase == "ready":
        changed = state.evidence is not None and parts.has_changed_tests(state.evidence, state.trace)
        return ready(changed, bool(state.reason))
    if state.phase == "running":
        return STAGES[state.stage].doing if state.stage else "Starting"
    if state.questions:
        return "Waiting for your answers"
    return ENDS[state.phase]


def ready(tests_changed: bool, overspent: bool) -> str:
    """The title of a result that can be used, with warnings."""
    warnings = ("with changed tests" if tests_changed else "", "over its budget" if overspent else "")
    return ", ".join(("Ready", *filter(None, warnings)))


def colour(state: CardState) -> str:
    """The colour of the state. A ready result that went over its budget is not green."""
    return markup.WARN if state.phase == "ready" and state.reason else COLOURS[state.phase]


def _facts(state: CardState, reason: str = "") -> list[str]:
    """The facts beside the title. `reason` is shown below them, so it is not repeated."""
    facts = (
        _first_failure(state, reason),
        "edited by you" if state.author == "you" else "",
        f"backend: {state.backend}" if state.backend else "",
        tool_calls.turns(state.trace, finished=state.finished) if state.trace else "",
        f"{state.passed} of {state.test_count} tests passed" if state.test_count else "",
        _attempts(state),
        duration(state.seconds) if state.finished else "",
        spending(state.usage, state.max_cost),
        _from_a_record(state),
        "slower than usual" if state.is_slow else "",
    )
    return [fact for fact in facts if fact]


def _from_a_record(state: CardState) -> str:
    """Where the function came from when the model was not asked."""
    if state.is_kept:
        return f"kept: verified on {state.kept}" if state.kept else "kept"
    return "replayed from the journal" if state.replayed else ""


def _last_good(state: CardState) -> str:
    """Which function `run` calls until this one is ready; "" if it is kept or was replaced."""
    if not state.has_before or state.is_kept or state.phase == "ready":
        return ""
    if state.finished:
        return f"{state.name}.run(…) still calls the last good version, {state.name}.last_good."
    return f"Until this version is ready, {state.name}.last_good is the last good one."


def _first_failure(state: CardState, reason: str) -> str:
    """The first test or check that failed, if the run ended without a good function."""
    return parts.first_failure(state.outcomes, state.evidence, reason) if state.phase in _UNSOLVED else ""


def _waits_for(state: CardState) -> list[str]:
    """What it waits for: the import of the model client, or the model's service."""
    loading = ["Loading the model client; this takes some seconds, once per kernel"] if state.loading else []
    return [*loading, *(f"{fault[:1].upper()}{fault[1:]}" for fault in state.faults)]


def _last_step(state: CardState) -> list[str]:
    """The time of the last event, for readers without the strip."""
    return [f"last step at {clock(state.log[-1].at)}"] if state.log and not state.finished else []


def _attempts(state: CardState) -> str:
    if not state.attempt:
        return ""
    return counted(state.attempt, "attempt") if state.finished else f"attempt {state.attempt} of {state.of}"


def _reason(state: CardState) -> str:
    """The reason; "" if it only repeats the title."""
    return "" if state.reason.strip(".").casefold() == title(state).casefold() else state.reason


def _refinable(state: CardState) -> str:
    """The name of a function that can be refined; "" if it is not ready."""
    return state.name if state.phase == "ready" else ""


def _signature(state: CardState) -> str:
    return parts.signature(state.name, state.plan.inputs, state.plan.outputs) if state.plan else ""


def _stages_html(state: CardState) -> Html:
    """Every stage in its place from the start; an optional one only when it is reached."""
    shown = []
    for stage, record in STAGES.items():
        how = state.stage_state(stage)
        if how is None and record.is_optional:
            continue
        mark, colour = _stage_mark(state, stage, how)
        style = f"display:inline-block;white-space:nowrap;margin-right:18px;color:{colour}"
        shown.append(element("span", escape(f"{mark} {record.label}"), style=style, title=how.detail if how else ""))
    return element("div", join(*shown, between=" "), style="margin-top:4px")


def _stage_mark(state: CardState, stage: StageName, how: StageState | None) -> tuple[str, str]:
    if how is None:
        return "○", markup.QUIET
    if how.status == "done" and _found_a_failure(state, stage):
        return "✗", markup.BAD
    if stage == "second" and state.opinion and state.opinion.state in ("not compared", "none"):
        return "–", markup.QUIET
    if how.status == "done":
        return ("↺" if how.replayed else "✓"), markup.GOOD
    if state.phase in ("cancelled", "over_budget") or (STAGES[stage].runs_beside and state.finished):
        return "–", markup.QUIET  # it was stopped or is not needed any more; it did not fail
    return ("✗", markup.BAD) if how.status == "failed" or state.finished else ("◐", markup.BUSY)


def _found_a_failure(state: CardState, stage: StageName) -> bool:
    """Whether the stage finished and found a failure of the function."""
    finds = STAGES[stage].finds
    if finds == "tests":
        return any(outcome.outcome != "passed" for outcome in state.outcomes)
    return finds == "conditions" and state.evidence is not None and not all(c.passed for c in state.evidence.conditions)


def _approval_html(state: CardState) -> Html:
    return markup.marked(_approval_question(state), markup.WARN, _how_to_answer(state)) if state.approval else EMPTY


def _approval_question(state: CardState) -> str:
    return f"May it install {', '.join(state.approval)}?"


def _how_to_answer(state: CardState) -> str:
    return (
        "The code imports it, and it is not in the list of known packages. Allow it with "
        f"%autocode approve {state.name}, refuse it with %autocode decline {state.name}."
    )


def _questions_html(state: CardState) -> Html:
    """The questions of the plan, with numbered options."""
    lines = question_lines(state.questions, state.name)
    return join(*(element("div", escape(line), style="white-space:pre-wrap") for line in lines))


def _offer_html(state: CardState) -> Html:
    """After an edit of the request: a hint that refining the existing function keeps its tests and costs less."""
    if not state.is_new_request:
        return EMPTY
    hint = markup.muted(f"{_FROM_SCRATCH} {_FROM_EARLIER}")
    return element("div", join(hint, parts.refine_button("Refine it instead", "autocode-refine-cell"), between=" "))


_FROM_SCRATCH = "It is written from scratch."
_FROM_EARLIER = "Add --refine to the first line to start from the existing function and keep its tests."


def _evidence_html(state: CardState) -> Html:
    if state.evidence is None:
        return EMPTY
    return markup.row("Passed", join(parts.evidence_line(state.evidence), parts.warnings(state.evidence, state.trace)))


def _failures_html(state: CardState, reason: str) -> Html:
    return parts.failures(state.outcomes, state.evidence, reason=reason) if state.phase in _UNSOLVED else EMPTY


def _best(state: CardState) -> Html:
    """Where the code of a failed run is."""
    if state.phase not in _UNSOLVED or not state.solution or not parts.first_failure(state.outcomes, state.evidence):
        return EMPTY
    return markup.muted_line("The best attempt is kept below, under Code.")
