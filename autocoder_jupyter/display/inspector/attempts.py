"""The section *Attempts*: the outcome and diagnosis of each attempt, and the changes between two attempts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from autocoder_jupyter.display import parts
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.diff import colour_diff
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join
from autocoder_jupyter.view.side_by_side import MAX_LINES, side_by_side

if TYPE_CHECKING:
    from autocoder_jupyter.types import Attempt, ErrorDiagnosis, Report, TestFailure

KINDS = {"logic": "the code is wrong", "environment": "something is missing", "test_error": "the test is wrong"}

MAX_CHANGES = 3
"""Comparisons of consecutive attempts in the static form, the last ones."""

SAVED_LINES = 150
"""Lines of each comparison."""


def attempts_section(report: Report) -> Html:
    """Every attempt, without comparisons."""
    if not report.history:
        return markup.text_lines(["There were no attempts."])
    return join(*(attempt_html(attempt, is_result(attempt, report)) for attempt in report.history))


def attempts_with_changes(report: Report, *, unified: bool = False) -> Html:
    """Every attempt, and the changes between consecutive attempts.

    Args:
        report: the report of the result.
        unified: whether to show unified diffs, which take a tenth of the characters.
    """
    shown = _unified if unified else _side_by_side
    pairs = list(pairwise(report.history))
    left_out = len(pairs) - MAX_CHANGES
    note = markup.muted_line(f"Earlier changes: %autocode diff {report.name} A B.") if left_out > 0 else EMPTY
    changes = (
        markup.details(f"What changed from attempt {old.number} to {new.number}", shown(old, new))
        for old, new in pairs[-MAX_CHANGES:]
    )
    return join(attempts_section(report), *changes, note)


def attempt_html(attempt: Attempt, result: bool) -> Html:
    """One attempt: its outcome, its failures, and the diagnosis."""
    title = (
        element("strong", escape(f"Attempt {attempt.number}"), style="flex:none"),
        _outcome(attempt),
        markup.muted("the result" if result else ""),
    )
    failing = parts.failures(attempt.evidence.tests, attempt.evidence)
    return element(
        "div",
        element("div", join(*title, between=" "), style="display:flex;flex-wrap:wrap;column-gap:12px"),
        markup.row("Reason", EMPTY if failing else markup.paragraphs(attempt.error or "", 2_000)),
        markup.row("Failed", failing),
        markup.row("Diagnosis", _diagnosis(attempt.diagnosis) if attempt.diagnosis else EMPTY),
        style="margin-top:8px",
    )


def _side_by_side(before: Attempt, after: Attempt) -> Html:
    return changes_html(before, after, saved=True)


def _unified(before: Attempt, after: Attempt) -> Html:
    names = f"attempt {before.number}", f"attempt {after.number}"
    sources = [(before.code, after.code), (before.tests, after.tests)]
    return join(*(colour_diff(old, new, *names) for old, new in sources))


def changes_html(before: Attempt, after: Attempt, *, saved: bool = False) -> Html:
    """The changes in the code, and in the tests if there are any.

    Args:
        before: the attempt on the left.
        after: the attempt on the right.
        saved: whether it goes into a saved notebook and must be short.
    """
    names = f"attempt {before.number}", f"attempt {after.number}"
    most, equal = (SAVED_LINES, False) if saved else (MAX_LINES, True)
    code = side_by_side(before.code, after.code, *names, most=most, equal=equal)
    if before.tests == after.tests:
        return code
    tests = side_by_side(before.tests, after.tests, *names, most=most, equal=equal)
    return join(markup.text_lines(["Code"]), code, markup.text_lines(["Tests"]), tests)


def is_result(attempt: Attempt, report: Report) -> bool:
    """Whether the result has the code and tests of this attempt; of equal attempts, the last one."""
    code = report.solution.code if report.solution else ""
    same = [other.number for other in report.history if (other.code, other.tests) == (code, report.tests)]
    return bool(same) and attempt.number == same[-1]


def outcome_words(attempt: Attempt) -> tuple[bool | None, str]:
    """Whether it passed, None if nothing says so, and the outcome in a few words."""
    tests, checks = attempt.evidence.tests, attempt.evidence.conditions
    passed = sum(test.outcome == "passed" for test in tests)
    failed = sum(not check.passed for check in checks)
    words = [f"{passed} of {len(tests)} tests passed"] if tests else []
    words += [f"{failed} of {len(checks)} checks failed"] if failed else []
    ok = False if attempt.error is not None else True if tests or checks else None
    return ok, ", ".join(words) or ("passed" if ok else "not tested")


def _outcome(attempt: Attempt) -> Html:
    ok, words = outcome_words(attempt)
    if ok is None:
        return markup.muted(words)
    return markup.coloured(f"{'✓' if ok else '✗'} {words}", markup.GOOD if ok else markup.BAD)


def _diagnosis(diagnosis: ErrorDiagnosis) -> Html:
    lacking = (*diagnosis.needs_language_packages, *diagnosis.needs_system_packages)
    needs = markup.text_lines([f"It needs {', '.join(lacking)}."] if lacking else [])
    return join(*map(_failure, _merged(diagnosis.failures)), needs)


def _merged(failures: tuple[TestFailure, ...]) -> list[tuple[tuple[str, ...], TestFailure]]:
    """Failures grouped by cause, with the names of their tests."""
    by_cause: dict[tuple[str, str, str], list[TestFailure]] = {}
    for failure in failures:
        by_cause.setdefault((failure.error_type, failure.root_cause, failure.suggested_fix), []).append(failure)
    return [(tuple(one.test_name for one in alike), alike[0]) for alike in by_cause.values()]


def _failure(merged: tuple[tuple[str, ...], TestFailure]) -> Html:
    names, failure = merged
    tests = join(*(markup.inline_code(name, markup.MUTED) for name in names), between=", ")
    lines = [
        ("Cause", failure.root_cause or failure.error_message),
        ("Expected", failure.expected_behavior),
        ("Got", failure.actual_behavior),
        ("Fix", failure.suggested_fix),
    ]
    shown = (
        element("div", join(markup.muted(f"{label}:"), escape(text), between=" ")) for label, text in lines if text
    )
    kind = markup.coloured(KINDS[failure.error_type], markup.WARN)
    return element("div", join(kind, tests, between=" "), *shown, style="margin-bottom:4px")
