"""The section *Evidence*: every test with its docstring, the checks, and whether the tests can fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.display import parts
from autocoder_jupyter.display.inspector.source import source
from autocoder_jupyter.display.verified import change_items, relation_items
from autocoder_jupyter.view.amounts import amount
from autocoder_jupyter.view.document import Block, Bullets, Fold, Row, Span, Table, line, lines, muted
from autocoder_jupyter.view.markup import clipped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autocoder_jupyter.types import Evidence, Report, Trace


def evidence_section(
    report: Report, *, with_source: bool = True, coloured: bool = True, in_full: bool = False
) -> tuple[Block, ...]:
    """The section. In a terminal it has the outcomes; `%autocode show --tests` has the source.

    Args:
        report: the report of the result.
        with_source: whether to include the source of the tests.
        coloured: whether the source is in colours.
        in_full: whether the HTML is shown and not saved, so that it may contain values of the data.
    """
    evidence = report.evidence
    if not evidence.tests and not evidence.conditions and not report.tests:
        return lines(["The run ended before a test was written."])
    noticed = tuple(line(Span("⚠", "warn"), remark) for remark in parts.remarks(evidence))
    return (
        Row("Outputs", noticed, prefix=""),
        Row("Your tests", parts.checks(evidence.acceptance, in_full=in_full), only="html"),
        Row("Tests", parts.tests(evidence.tests) or (muted("no tests were run"),), prefix=""),
        Row("Checks", parts.checks(evidence.checks), prefix=""),
        Row("Sanity check", _vacuity(evidence), only="html"),
        Row("Small changes of the code", change_items(evidence.strength), prefix=""),
        Row("Changes of the data", relation_items(evidence.strength), prefix=""),
        Row("Cost", _costs(evidence)),
        Row("Changed tests", _changed(evidence, report.trace), only="html"),
        *(_sources(report, coloured=coloured) if with_source else ()),
    )


def _costs(evidence: Evidence) -> tuple[Block, ...]:
    """What each layer took. Tokens of recorded answers, which this run did not pay for, have a column of their own."""
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
        Fold(title, (source(text, filename, coloured=coloured),), only="html")
        for title, (text, filename) in sources.items()
    )


def _vacuity(evidence: Evidence) -> tuple[Block, ...]:
    if not evidence.tests:
        return ()
    count, idle = len(evidence.tests), evidence.vacuous_tests
    if not idle:
        return lines(["Every test fails on some function that does nothing, as it should."])
    one = len(idle) == 1
    told = f"{len(idle)} of {count} {'passes' if one else 'pass'} on functions that do nothing, whatever these return:"
    return _listed(told, idle)


def _changed(evidence: Evidence, trace: Trace | None) -> tuple[Block, ...]:
    if not parts.has_changed_tests(evidence, trace):
        return lines(["No test was changed."] if evidence.tests else [])
    return (
        *_listed(
            "The model changed or removed these tests without seeing the code or its output:",
            evidence.tests_changed,
        ),
        *_listed(
            "The agent, which also wrote the code, changed these tests after a test had failed:",
            trace.suite_changed if trace else (),
        ),
    )


def _listed(text: str, tests: Iterable[str]) -> tuple[Block, ...]:
    listed = tuple(line(Span(test, "code")) for test in tests)
    return (line(Span("⚠", "warn"), text), Bullets(listed)) if listed else ()
