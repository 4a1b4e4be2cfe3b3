"""What a saved notebook may hold: not more of the data than the model was allowed to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocoder_jupyter.request import Share
    from autocoder_jupyter.types import Attempt, CheckOutcome, Evidence, Report

WITHHELD = "(what it said may hold values of the data, which this notebook does not share)"


def discreet(report: Report, share: Share) -> Report:
    """The report without the words of failed checks, which ran on the real sample, unless rows may be seen.

    Tests bring data of their own, so their words stay.
    """
    if share == "rows":
        return report
    messages = {
        check.message
        for evidence in (report.evidence, *(attempt.evidence for attempt in report.history))
        for check in evidence.checks
        if check.message
    }
    return report.model_copy(
        update={
            "evidence": _evidence(report.evidence),
            "error": _text(report.error, messages),
            "history": tuple(_attempt(attempt, messages) for attempt in report.history),
        }
    )


def _attempt(attempt: Attempt, messages: set[str]) -> Attempt:
    return attempt.model_copy(update={"evidence": _evidence(attempt.evidence), "error": _text(attempt.error, messages)})


def _evidence(evidence: Evidence) -> Evidence:
    return evidence.model_copy(update={"checks": tuple(map(_check, evidence.checks))})


def _check(check: CheckOutcome) -> CheckOutcome:
    return check.model_copy(update={"message": WITHHELD}) if check.message else check


def _text(text: str | None, messages: set[str]) -> str | None:
    for message in sorted(messages, key=len, reverse=True):
        text = text.replace(message, WITHHELD) if text else text
    return text
