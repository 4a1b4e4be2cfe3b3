"""The card of a running or finished generation: one block of HTML, and the same in words for a terminal."""

from __future__ import annotations

from autocoder_jupyter.display import markup
from autocoder_jupyter.display.diff import unified
from autocoder_jupyter.display.state import CardState, StageState
from autocoder_jupyter.engine.events import Stage

LABELS: dict[Stage, str] = {
    "plan": "Plan",
    "code": "Code",
    "tests": "Tests",
    "environment": "Environment",
    "run": "Run",
    "verify": "Verify",
    "diagnose": "Diagnose",
    "fix": "Fix",
}

COLOURS = {
    "running": markup.BUSY,
    "waiting": markup.WARN,
    "ready": markup.GOOD,
    "failed": markup.BAD,
    "cancelled": markup.QUIET,
    "over_budget": markup.BAD,
}

SLOW_SECONDS = 30.0


def render_html(state: CardState) -> str:
    """The card. Plan and assumptions are open while it runs, because each update folds the rest again."""
    frame = markup.FRAME.format(colour=COLOURS[state.phase])
    title, *facts = _header(state)
    running = not state.finished
    parts = (
        f'<div><strong style="color:{COLOURS[state.phase]}">● {markup.text(state.name)}</strong> '
        f"<strong>{markup.text(title)}</strong>{markup.muted(''.join(f' · {fact}' for fact in facts))}</div>",
        f"<div>{' &nbsp; '.join(_stage_html(state))}</div>" if state.stages else "",
        f"<div>{markup.text(state.reason)}</div>" if state.reason else "",
        _approval_html(state),
        _failure_html(state),
        markup.warnings(state.evidence) if state.evidence else "",
        markup.details("Assumptions", markup.assumptions(state.plan), opened=running),
        markup.details("Plan", markup.plan_parts(state.plan) if state.plan else "", opened=running),
        markup.details(_code_title(state), _code_html(state)),
        markup.details(_tests_title(state), _tests_html(state)),
        markup.details("Checks", markup.checks(state.evidence) if state.evidence else ""),
        markup.details("Answer so far", markup.code(state.streamed)),
        markup.details("Log", markup.code("\n".join(_log(state)))),
        markup.details("What was sent", markup.code(state.sent)),
    )
    return f'<div class="autocode-card" style="{frame}">{"".join(parts)}</div>'


def render_text(state: CardState) -> str:
    """The card in a few lines of text."""
    title, *facts = _header(state)
    lines = [" · ".join((f"● {state.name}  {title}", *facts))]
    if state.reason:
        lines.append(f"  {state.reason}")
    if state.approval:
        lines.append(f"  {_how_to_approve(state)}")
    failed = _failing_test(state)
    if failed:
        lines.append(f"  {failed}")
    if state.evidence and state.evidence.tests_changed:
        lines.append(f"  Tests changed on the way: {', '.join(state.evidence.tests_changed)}")
    if state.finished and state.plan:
        lines.extend(f"  assumes: {assumption}" for assumption in state.plan.assumptions)
    return markup.plain("\n".join(lines))


def status_line(state: CardState) -> str:
    """One line of text: what it is doing."""
    title, *facts = _header(state)
    return markup.plain(" · ".join((f"{state.name}  {title}", *facts)))


def _header(state: CardState) -> list[str]:
    attempt = f"attempt {state.attempt}/{state.of}" if state.attempt and state.of else ""
    slow = "slower than usual" if not state.finished and state.seconds >= SLOW_SECONDS and state.attempt <= 1 else ""
    replayed = "replayed from the journal" if state.replayed else ""
    tests = f"{state.passed}/{state.test_count} tests" if state.test_count else ""
    spent = markup.spending(state.usage, state.max_cost)
    facts = (attempt, tests, markup.clock(state.seconds), spent, replayed, slow)
    return [_title(state), *(fact for fact in facts if fact)]


def _title(state: CardState) -> str:
    if state.phase == "ready":
        return "Ready, with changed tests" if state.evidence and state.evidence.tests_changed else "Ready"
    if state.phase == "running":
        return LABELS[state.stage] if state.stage else "Starting"
    return {
        "waiting": "Waiting for approval",
        "failed": "Failed",
        "cancelled": "Cancelled",
        "over_budget": "Over budget",
    }[state.phase]


def _stage_html(state: CardState) -> list[str]:
    shown = []
    for stage, how in state.stages:
        shown.append(f'<span title="{markup.text(how.detail)}">{LABELS[stage]} {_stage_mark(state, stage, how)}</span>')
    return shown


def _stage_mark(state: CardState, stage: Stage, how: StageState) -> str:
    if stage == "run" and state.test_count and how.status == "running":
        return f"{state.passed}/{state.test_count}"
    if how.status == "running":
        return "–" if state.finished else "…"
    return "↺" if how.replayed and how.status == "done" else {"done": "✓", "failed": "✗"}[how.status]


def _approval_html(state: CardState) -> str:
    return f"<div>{markup.coloured(_how_to_approve(state), markup.WARN)}</div>" if state.approval else ""


def _how_to_approve(state: CardState) -> str:
    packages = ", ".join(state.approval)
    return (
        f"It wants to install {packages}. Run %autocode approve {state.name} to allow it, "
        f"%autocode decline {state.name} to refuse."
    )


def _failure_html(state: CardState) -> str:
    failed = _failing_test(state)
    if not failed:
        return ""
    best = "<div>The best attempt is kept: see Code.</div>" if state.solution else ""
    return f"<div>{markup.coloured(failed, markup.BAD)}</div>{best}"


def _failing_test(state: CardState) -> str:
    if state.phase not in ("failed", "over_budget"):
        return ""
    failed = next((outcome for outcome in state.outcomes if outcome.outcome != "passed"), None)
    if failed is None:
        return ""
    message = next((line for line in failed.message.splitlines() if line.strip()), "")
    return f"Failing test: {failed.id}{f': {message.strip()}' if message else ''}"


def _code_title(state: CardState) -> str:
    return "Code (with what changed)" if state.previous_solution else "Code"


def _code_html(state: CardState) -> str:
    change = ""
    if state.previous_solution and state.previous_solution != state.solution:
        change = markup.code(unified(state.previous_solution, state.solution, "before", "now"))
    return change + markup.code(state.solution)


def _tests_title(state: CardState) -> str:
    return f"Tests {state.passed}/{state.test_count}" if state.test_count else "Tests"


def _tests_html(state: CardState) -> str:
    reported = {outcome.id for outcome in state.outcomes}
    pending = [test for test in state.expected if test not in reported]
    return markup.tests(state.outcomes, pending) + markup.code(state.tests)


def _log(state: CardState) -> list[str]:
    return [f"{markup.clock(line.at)}  {line.text}" for line in state.log]
