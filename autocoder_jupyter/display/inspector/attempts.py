"""The section *Attempts*: the outcome and diagnosis of each attempt, and the changes between two attempts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from autocoder_jupyter.display import parts
from autocoder_jupyter.view.document import Block, Diff, Fold, Group, Line, Row, Span, line, lines
from autocoder_jupyter.view.markup import clipped
from autocoder_jupyter.view.source import MAX_LINES

if TYPE_CHECKING:
    from autocoder_jupyter.types import Attempt, ErrorDiagnosis, Report, TestFailure

KINDS = {"logic": "the code is wrong", "environment": "something is missing", "test_error": "the test is wrong"}

MAX_CHANGES = 3
"""Comparisons of consecutive attempts in the static form, the last ones."""

SAVED_LINES = 150
"""Lines of each comparison."""


def attempts_section(report: Report) -> tuple[Block, ...]:
    """Every attempt, without comparisons."""
    if not report.history:
        return lines(["There were no attempts."])
    return tuple(block for attempt in report.history for block in _attempt(attempt, is_result(attempt, report)))


def attempts_with_changes(report: Report, *, unified: bool = False) -> tuple[Block, ...]:
    """Every attempt, and the changes between consecutive attempts.

    Args:
        report: the report of the result.
        unified: whether to show unified diffs, which take a tenth of the characters.
    """
    pairs = list(pairwise(report.history))
    note = [f"Earlier changes: %autocode diff {report.name} A B."] if len(pairs) > MAX_CHANGES else []
    changes = (
        Fold(f"What changed from attempt {old.number} to {new.number}", changes_blocks(old, new, unified=unified))
        for old, new in pairs[-MAX_CHANGES:]
    )
    return (*attempts_section(report), *changes, *lines(note, "muted"))


def _attempt(attempt: Attempt, result: bool) -> Iterator[Block]:
    """One attempt: its outcome, its failures, and the diagnosis."""
    failing = parts.failures(attempt.evidence.tests, attempt.evidence)
    head = line(Span(f"Attempt {attempt.number}", "strong"), _outcome(attempt), Span("the result" if result else ""))
    yield Row("", (head,))
    reason = clipped(attempt.error or "", parts.MESSAGE_CHARACTERS).splitlines()
    yield Row("Reason", () if failing else lines(words for words in reason if words.strip()))
    yield Row("Failed", failing)
    yield Row("Diagnosis", tuple(_diagnosis(attempt.diagnosis)) if attempt.diagnosis else ())


def changes_blocks(before: Attempt, after: Attempt, *, saved: bool = True, unified: bool = False) -> tuple[Block, ...]:
    """The changes in the code, and in the tests if there are any.

    Args:
        before: the attempt on the left.
        after: the attempt on the right.
        saved: whether it goes into a saved notebook and must be short.
        unified: whether to show unified diffs.
    """
    names = f"attempt {before.number}", f"attempt {after.number}"
    most, equal = (SAVED_LINES, False) if saved else (MAX_LINES, True)
    code = Diff(before.code, after.code, names, sides=not unified, most=most, equal=equal)
    if before.tests == after.tests:
        return (code,)
    tests = Diff(before.tests, after.tests, names, sides=not unified, most=most, equal=equal)
    return Group("Code", (code,)), Group("Tests", (tests,))


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
    if ok is False and tests and passed == len(tests) and not failed:
        words += ["but not accepted"]  # because of a second opinion, for example; the reason says it
    return ok, ", ".join(words) or ("passed" if ok else "not tested")


def _outcome(attempt: Attempt) -> Span:
    ok, words = outcome_words(attempt)
    if ok is None:
        return Span(words, "muted")
    return Span(f"{'✓' if ok else '✗'} {words}", "good" if ok else "bad")


def _diagnosis(diagnosis: ErrorDiagnosis) -> Iterator[Block]:
    for merged in _merged(diagnosis.failures):
        yield from _failure(*merged)
    if lacking := (*diagnosis.needs_language_packages, *diagnosis.needs_system_packages):
        yield line(f"It needs {', '.join(lacking)}.")


def _merged(failures: tuple[TestFailure, ...]) -> list[tuple[tuple[str, ...], TestFailure]]:
    """Failures grouped by cause, with the names of their tests."""
    by_cause: dict[tuple[str, str, str], list[TestFailure]] = {}
    for failure in failures:
        by_cause.setdefault((failure.error_type, failure.root_cause, failure.suggested_fix), []).append(failure)
    return [(tuple(one.test_name for one in alike), alike[0]) for alike in by_cause.values()]


def _failure(names: tuple[str, ...], failure: TestFailure) -> Iterator[Line]:
    yield line(Span(KINDS[failure.error_type], "warn"), Span(", ".join(names), "muted code"))
    texts = {
        "Cause": failure.root_cause or failure.error_message,
        "Expected": failure.expected_behavior,
        "Got": failure.actual_behavior,
        "Fix": failure.suggested_fix,
    }
    yield from (line(Span(f"{label}:", "muted"), text) for label, text in texts.items() if text)
