"""The first line of the inspector: state, tests, time and cost, with the texts and colours of the card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.display import parts, tool_calls
from autocoder_jupyter.display.card import COLOURS, ENDS, ready
from autocoder_jupyter.settings.tiers import sandbox_fact
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted, duration, spending
from autocoder_jupyter.view.html import Html

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Subject
    from autocoder_jupyter.types import Report


def head(subject: Subject) -> Html:
    """The first line: name, state and facts."""
    return markup.head(subject.report.name, verdict(subject), colour(subject), facts(subject))


def verdict(subject: Subject) -> str:
    """The state in a few words."""
    if subject.state != "ready":
        return ENDS[subject.state]
    report = subject.report
    return ready(parts.has_changed_tests(report.evidence, report.trace), bool(report.overspent))


def colour(subject: Subject) -> str:
    """The colour of the state."""
    return markup.WARN if subject.state == "ready" and subject.report.overspent else COLOURS[subject.state]


def facts(subject: Subject) -> list[str]:
    """Tests, attempts, time, money, sandbox."""
    report = subject.report
    facts_shown = (
        "edited by you" if report.author == "you" else "",
        f"backend: claude, {tool_calls.turns(report.trace, finished=True)}" if report.trace else "",
        _tests(subject),
        counted(report.attempts, "attempt") if report.attempts else "",
        duration(report.seconds) if report.seconds else "",
        spending(report.usage, None),
        report.overspent.rstrip("."),
        "replayed from the journal" if replayed(report) else "",
        f"sandbox: {sandbox_fact(report.sandbox, report.sandbox_tier)}" if report.sandbox else "",
    )
    return [fact for fact in facts_shown if fact]


def replayed(report: Report) -> bool:
    """Whether every answer came from the journal."""
    return bool(report.conversation_history) and all(exchange.replayed for exchange in report.conversation_history)


def _tests(subject: Subject) -> str:
    outcomes = subject.report.evidence.tests
    if subject.state == "not_verified":
        return ""
    if outcomes:
        return f"{sum(outcome.outcome == 'passed' for outcome in outcomes)} of {len(outcomes)} tests passed"
    return "not tested" if subject.state in ("ready", "failed") and subject.report.solution else ""
