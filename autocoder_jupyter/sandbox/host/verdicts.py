"""Collect the frames of a test run, and compute one outcome for each expected test."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autocoder_jupyter.sandbox.host.replies import refused, seconds_of
from autocoder_jupyter.sandbox.host.text import stable
from autocoder_jupyter.types import Outcome, TestOutcome
from autocoder_jupyter.untrusted.parsing import parse, visible

_OUTCOMES: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed", "error": "error"}
_MOST_TESTS = 10_000
_LONGEST_MESSAGE = 20_000
_LONGEST_MESSAGES = 4_000_000
"""Most characters of all messages of a run. `_LONGEST_MESSAGE` is the limit of one; the worker sends no longer ones."""


class Verdicts:
    """Collects the reports of a test run. A test has passed if each of its cases was reported as passed.

    Args:
        tests: source of the tests.
        folder: the worker's folder inside the sandbox; its path is removed from texts.
        on_report: called with each reported case.

    Attributes:
        collection_error: the error that prevented the collection of the tests, or "".
        missing_module: top-level name of a module that could not be imported, or "".
        exit_code: of pytest; None before its end.
        output: the report of pytest.
    """

    def __init__(self, tests: str, folder: str, on_report: Callable[[TestOutcome], None] | None) -> None:
        self._sentences = sentences(tests)
        self._folder = folder
        self._on_report = on_report
        self._collected: list[str] = []
        self._reported: dict[str, TestOutcome] = {}
        self._room = _LONGEST_MESSAGES
        self.collection_error = ""
        self.missing_module = ""
        self.exit_code: int | None = None
        self.output = ""
        self._again: set[str] = set()

    def take(self, header: dict[str, Any], _payload: memoryview) -> None:
        """Handle one frame.

        Raises:
            OutputRefused: the frame is invalid.
        """
        kind = header["kind"]
        if kind == "collected" and not self._collected and isinstance(header.get("ids"), list):
            self._collected = [visible(str(one)[:500]) for one in header["ids"][:_MOST_TESTS]]
        elif kind == "reported" and len(self._reported) < _MOST_TESTS:
            self._report(header)
        elif kind == "passed_again" and len(self._again) < len(self._reported):
            self._again.add(visible(str(header.get("id"))[:500]))
        elif kind == "not_collected":
            text = stable(str(header.get("text")), self._folder, _LONGEST_MESSAGE)
            self.collection_error = self.collection_error or text
            self._note_missing(header)
        elif kind == "finished" and type(header.get("exit_code")) is int:
            self.exit_code = header["exit_code"]
            self.output = stable(str(header.get("output") or ""), self._folder)
        else:
            raise refused(f"a frame of the kind {kind[:30]!r} in a test run")

    def outcomes(self, expected: Sequence[str]) -> tuple[TestOutcome, ...]:
        """One outcome for each expected test."""
        return tuple(self._outcome(name) for name in expected)

    def on_other_stub(self, expected: Sequence[str]) -> tuple[str, ...]:
        """The expected tests that passed on another stub too, with all their cases."""
        return tuple(name for name in expected if (cases := self._cases(name)) and self._again.issuperset(cases))

    def failures(self) -> str:
        """The messages of the failed tests. They replace the report of pytest if that is missing."""
        return "\n".join(
            f"{one.outcome.upper()} {one.id}\n{one.message}\n"
            for one in self._reported.values()
            if one.outcome != "passed"
        )

    def _report(self, header: dict[str, Any]) -> None:
        name, outcome = header.get("id"), _OUTCOMES.get(str(header.get("outcome")))
        if not isinstance(name, str) or outcome is None or name in self._reported:
            raise refused("a report of a test that makes no sense, or comes twice")
        reported = TestOutcome(
            id=visible(name[:500]),
            outcome=outcome,
            seconds=seconds_of(header.get("seconds")) or 0.0,
            sentence=self._sentences.get(_function(name), ""),
            message=stable(str(header.get("message") or ""), self._folder, min(self._room, _LONGEST_MESSAGE)),
        )
        self._room = max(self._room - len(reported.message), 0)
        self._reported[reported.id] = reported
        self._note_missing(header)
        if self._on_report is not None:
            self._on_report(reported)

    def _note_missing(self, header: Mapping[str, Any]) -> None:
        name = header.get("missing_module")
        if isinstance(name, str) and name and not self.missing_module:
            self.missing_module = name.split(".", 1)[0][:100]

    def _cases(self, name: str) -> list[str]:
        return [case for case in self._collected if case == name or _function(case) == name]

    def _outcome(self, name: str) -> TestOutcome:
        cases = self._cases(name)
        reported = [self._reported[case] for case in cases if case in self._reported]
        bad = [case for case in reported if case.outcome != "passed"]
        outcome: Outcome = "missing"
        if bad:
            outcome = "error" if all(case.outcome == "error" for case in bad) else "failed"
        elif cases and len(reported) == len(cases):
            outcome = "passed"
        return TestOutcome(
            id=name,
            outcome=outcome,
            seconds=sum(case.seconds for case in reported),
            sentence=self._sentences.get(_function(name), ""),
            message="\n".join(case.message if case.id == name else f"{case.id}: {case.message}" for case in bad),
        )


def sentences(tests: str) -> dict[str, str]:
    """The first line of the docstring of each test, by the id of the test; {} if the source cannot be parsed."""
    try:
        tree = parse(tests)
    except SyntaxError:
        return {}
    found: dict[str, str] = {}
    _gather(tree.body, "", found)
    return found


def _gather(body: Sequence[ast.stmt], prefix: str, found: dict[str, str]) -> None:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            found[prefix + node.name] = text.splitlines()[0] if text else ""
        elif isinstance(node, ast.ClassDef):
            _gather(node.body, f"{prefix}{node.name}::", found)


def _function(name: str) -> str:
    """The id of a test without the parameters of the case."""
    return name.split("[", 1)[0]
