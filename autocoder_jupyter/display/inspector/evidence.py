"""The section *Evidence*, and the attempts in *History*."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from autocoder_jupyter.display import card, parts
from autocoder_jupyter.display.parts import source_block
from autocoder_jupyter.display.verified import invariant_items, mutation_items, stability_blocks, written_as
from autocoder_jupyter.types.evidence import BEYOND
from autocoder_jupyter.view.amounts import amount, counted
from autocoder_jupyter.view.document import (
    Block,
    Diff,
    Fold,
    Group,
    Line,
    Row,
    Source,
    Span,
    Table,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import clipped
from autocoder_jupyter.view.source import MAX_LINES

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Subject
    from autocoder_jupyter.run.events import SampleOutputs
    from autocoder_jupyter.types import (
        Attempt,
        Difference,
        ErrorDiagnosis,
        Evidence,
        Report,
        SecondOpinion,
        TestFailure,
    )


# Attempts

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
    """Every attempt, and the changes between consecutive attempts."""
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
    """The changes in the code, and in the tests if there are any."""
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
    words = [f"{passed} of {counted(len(tests), 'test')} passed"] if tests else []
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


# Evidence


def evidence_section(
    subject: Subject, *, with_source: bool = True, coloured: bool = True, in_full: bool = False
) -> tuple[Block, ...]:
    """What was found, every test with its docstring, and the checks. `in_full`: with values that no file may hold."""
    report, evidence = subject.report, subject.report.evidence
    found = {row.label: row for row in card.evidence_rows(subject.run)}
    has_tests = evidence.tests or evidence.conditions or report.tests
    more = [loss for loss in evidence.losses if in_full and loss.in_full not in ("", loss.words)]
    untested = "no tests were run" if has_tests else "The run ended before a test was written."
    return (
        found["Warnings"],
        found["Data"],
        Row("Your tests", parts.checks(evidence.acceptance, in_full=in_full)),
        Row("Tests", parts.tests(evidence.tests) or (muted(untested),), prefix=""),
        Row("Checks", parts.checks(evidence.checks), prefix=""),
        Row("Losses", lines(parts.in_line(loss, loss.in_full) for loss in more)),
        Row("Row counts", parts.rows_used(evidence, steps=True)),
        Row("Code mutations", mutation_items(evidence.strength), prefix=""),
        Row("Changes of the data", invariant_items(evidence.strength), prefix=""),
        Row("Conclusion", stability_blocks(evidence.strength)),
        found["Second opinion"],
        *_compared(report.second_opinion, subject.outputs),
        Row("Cost", _costs(evidence)),
        *(_sources(report, coloured=coloured) if with_source else ()),
    )


def _costs(evidence: Evidence) -> tuple[Block, ...]:
    """What each layer took. Tokens of recorded answers, which this run did not pay for, have their own column."""
    costs = evidence.costs
    replayed = any(cost.recorded for cost in costs)
    rows = tuple(
        (
            clipped(cost.layer, 80),
            amount(cost.tokens),
            *((amount(cost.recorded),) if replayed else ()),
            f"{cost.seconds:.1f}",
        )
        for cost in costs
    )
    headings = ("", "tokens", *(("recorded tokens",) if replayed else ()), "seconds")
    return (Table(headings, rows, (False, *(True for _ in headings[1:])), "cost"),) if rows else ()


def _sources(report: Report, *, coloured: bool) -> tuple[Fold, ...]:
    sources = {
        "Source of the tests": (report.tests, f"test_{report.name}.py"),
        "Source of the blind tests, which the agent did not see": (report.blind_tests, f"test_{report.name}_blind.py"),
        "Source of your tests": (report.own_tests, "test_own.py"),
    }
    return tuple(
        Fold(title, (source_block(text, filename, coloured=coloured),), only="html")
        for title, (text, filename) in sources.items()
    )


CODE_CHARACTERS = 20_000
"""Characters of the second solution."""

_HEADINGS = ("where", "on", "at", "the function", "the second solution", "rows")


def _compared(opinion: SecondOpinion | None, seen: SampleOutputs | None) -> tuple[Block, ...]:
    """How the second solution was compared, and its code."""
    if opinion is None:
        return ()
    rows = tuple(
        (entry.where, _on(entry), entry.at, entry.first, entry.second, f"{entry.count} of {entry.of}")
        for entry in written_as(opinion, seen).differences
    )
    code = source_block(opinion.code[:CODE_CHARACTERS])
    return (
        Row("Differences", (Table(_HEADINGS, rows),) if rows else (), only="html"),
        Row("Inputs tried", _inputs(opinion.tried), only="html"),
        Row("They differ on", _inputs(opinion.differs_on), only="html"),
        Row("Smallest input", (Source(opinion.smallest, python=True),), only="html"),
        Row("Expected result", (Source(opinion.derivation),), only="html"),
        Fold(f"The second solution, by {opinion.model}", (code,) if opinion.code.strip() else (), only="html"),
    )


def _inputs(names: Sequence[str]) -> tuple[Block, ...]:
    """The names of inputs. Those that go beyond the profile of the sample have a line of their own, which says so."""
    beyond = [name.removeprefix(BEYOND) for name in names if name.startswith(BEYOND)]
    further = [f"Beyond the profile of the sample: {', '.join(beyond)}"] if beyond else []
    return lines([", ".join(name for name in names if not name.startswith(BEYOND)), *further])


def _on(difference: Difference) -> str:
    where = f"the sample {difference.on.removeprefix(BEYOND)}".rstrip()
    return f"{where}, beyond its profile" if difference.on.startswith(BEYOND) else where
