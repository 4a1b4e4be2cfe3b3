"""The section *Evidence*: every test with its docstring, the checks, and whether the tests can fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.display import parts
from autocoder_jupyter.display.inspector.source import source_block
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autocoder_jupyter.types import Evidence, Report, TestOutcome, Trace

MESSAGE_CHARACTERS = 2_000
"""Characters of the message of a failed test."""


def evidence_section(report: Report, *, source: bool = True, coloured: bool = True, in_full: bool = False) -> Html:
    """The section.

    Args:
        report: the report of the result.
        source: whether to include the source of the tests.
        coloured: whether the source is in colours.
        in_full: whether the HTML is shown and not saved, so that it may contain values of the data.
    """
    evidence = report.evidence
    tests = source_block(report.tests, f"test_{report.name}.py", coloured=coloured) if source else EMPTY
    if not evidence.tests and not evidence.conditions and not report.tests:
        return markup.text_lines(["The run ended before a test was written."])
    return join(
        markup.row("Your tests", parts.own(evidence, in_full=in_full)),
        markup.row("Tests", parts.tests(_shortened(evidence)) or markup.muted("no tests were run")),
        markup.row("Checks", parts.checks(evidence)),
        markup.row("Sanity check", _vacuity(evidence)),
        markup.row("Changed tests", _changed(evidence, report.trace)),
        markup.details("Source of the tests", tests),
        _blind_source(report, coloured=coloured) if source else EMPTY,
        _own_source(report) if source else EMPTY,
    )


def _blind_source(report: Report, *, coloured: bool) -> Html:
    if not report.blind_tests:
        return EMPTY
    block = source_block(report.blind_tests, f"test_{report.name}_blind.py", coloured=coloured)
    return markup.details("Source of the blind tests, which the agent did not see", block)


def _own_source(report: Report) -> Html:
    if not report.own_tests:
        return EMPTY
    return markup.details("Source of your tests", source_block(report.own_tests, "test_own.py"))


def _shortened(evidence: Evidence) -> list[TestOutcome]:
    return [
        test.model_copy(update={"message": f"{test.message[:MESSAGE_CHARACTERS]}\n…"})
        if len(test.message) > MESSAGE_CHARACTERS
        else test
        for test in evidence.tests
    ]


def _vacuity(evidence: Evidence) -> Html:
    if not evidence.tests:
        return EMPTY
    count, idle = len(evidence.tests), evidence.vacuous_tests
    if not idle:
        return escape("Every test fails on a function that does nothing, as it should.")
    one = len(idle) == 1
    return _listed(f"{len(idle)} of {count} also {'passes' if one else 'pass'} on a function that does nothing:", idle)


def _changed(evidence: Evidence, trace: Trace | None) -> Html:
    if not parts.has_changed_tests(evidence, trace):
        return escape("No test was changed.") if evidence.tests else EMPTY
    return join(
        _listed(
            "The model changed or removed these tests without seeing the code or its output:",
            evidence.tests_changed,
        ),
        _listed(
            "The agent, which also wrote the code, changed these tests after a test had failed:",
            trace.suite_changed if trace else (),
        ),
    )


def _listed(text: str, tests: Iterable[str]) -> Html:
    listed = markup.items(map(markup.inline_code, tests))
    return join(element("div", markup.marked("⚠", markup.WARN, text)), listed) if listed else EMPTY
