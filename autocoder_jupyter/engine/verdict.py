"""What one attempt showed, and whether that is enough."""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.engine.acceptance import Acceptance
from autocoder_jupyter.engine.diagnose import last_line
from autocoder_jupyter.engine.sample_run import SampleRun
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.engine.vacuity import CAN_FAIL
from autocoder_jupyter.sandbox.protocol import TestRun
from autocoder_jupyter.types import CheckOutcome, Evidence, TestFailure, TestOutcome

_WORDS = {"missing": "it never ended (the time was up, or something stopped the test run)"}


@dataclass(frozen=True)
class Verdict:
    """The outcome of one attempt.

    Args:
        suite: the tests that were to pass; None when tests are skipped.
        run: how they went; None when they could not be run.
        sample: the function on the real sample; None when there is none or it was not reached.
        checks: the constraints.
        vacuous: tests that pass on a stub.
        failures: what is wrong outside of the tests, as the function's faults.
        tests_changed: ids of tests that were changed or dropped on the way here.
        error: why nothing could be run at all; "" when it could.
        accepted: what the person demands: examples, own tests and checks.
    """

    suite: TestSuite | None = None
    run: TestRun | None = None
    sample: SampleRun | None = None
    checks: tuple[CheckOutcome, ...] = ()
    vacuous: tuple[str, ...] = ()
    failures: tuple[TestFailure, ...] = ()
    tests_changed: tuple[str, ...] = ()
    error: str = ""
    accepted: Acceptance = Acceptance()

    @property
    def toothless(self) -> bool:
        """Every test passes on a stub, so all of them together prove nothing."""
        return self.suite is not None and bool(self.vacuous) and set(self.vacuous) >= set(self.suite.ids)

    @property
    def failing(self) -> tuple[TestOutcome, ...]:
        """The tests that did not pass."""
        if self.run is None:
            return ()
        return tuple(outcome for outcome in self.run.outcomes if outcome.outcome != "passed")

    @property
    def success(self) -> bool:
        """Every part that `success` demands is there and holds."""
        tested = self.suite is None or (self.run is not None and self.run.passed and not self.toothless)
        evidence = self.evidence
        holds = all(check.passed for check in evidence.conditions)
        return tested and holds and not self.error and not self.failures and not self.accepted.broken

    @property
    def evidence(self) -> Evidence:
        """All of it as plain records."""
        checks = (*(self.sample.checks if self.sample else ()), *self.checks)
        if self.run is not None and self.suite is not None:
            message = "Every test passes on a function that does nothing." if self.toothless else ""
            checks = (CheckOutcome(name=CAN_FAIL, passed=not self.toothless, message=message), *checks)
        return Evidence(
            acceptance=self.accepted.outcomes,
            tests=self._outcomes(),
            checks=checks,
            vacuous_tests=self.vacuous,
            tests_changed=self.tests_changed,
        )

    def _outcomes(self) -> tuple[TestOutcome, ...]:
        if self.run is None or self.suite is None:
            return ()
        sentences = self.suite.sentences
        return tuple(
            outcome.model_copy(update={"sentence": sentences.get(outcome.id, outcome.sentence)})
            for outcome in self.run.outcomes
        )

    @property
    def score(self) -> tuple[bool, int, int, int]:
        """For choosing the best of several: success, what the person demands, tests passed, other conditions held."""
        evidence = self.evidence
        accepted = sum(outcome.passed for outcome in evidence.acceptance)
        passed = sum(outcome.outcome == "passed" for outcome in evidence.tests)
        return self.success, accepted, passed, sum(check.passed for check in evidence.checks)

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """What is wrong, to see whether the same is wrong again."""
        tests = [(outcome.id, outcome.message) for outcome in self.failing]
        others = [(failure.test_name, failure.error_message) for failure in self.failures]
        broken = [("collection", self.run.collection_error)] if self.run and self.run.collection_error else []
        return tuple(sorted((*tests, *others, *broken, *([("toothless", "")] if self.toothless else []))))

    @property
    def complaints(self) -> tuple[str, ...]:
        """All error messages of the tests, in which a missing package may be named."""
        told = [outcome.message for outcome in self.failing]
        if self.run is not None:
            told.append(self.run.collection_error)
            if self.run.missing_module:
                told.append(f"No module named '{self.run.missing_module}'")
        return tuple(told)

    @property
    def complaint_on_sample(self) -> str:
        """What the function said when it failed on the sample. It may quote the data: for reading, not for telling."""
        return str(self.sample.error) if self.sample is not None and self.sample.error is not None else ""

    @property
    def summary(self) -> str:
        """The reason of a failure, in a sentence or two."""
        if self.error:
            return self.error
        if self.accepted.broken:
            return self.accepted.broken
        refused = [outcome for outcome in self.accepted.outcomes if not outcome.passed]
        if refused:
            return f"This does not hold: {refused[0].name}. {refused[0].message}".strip()
        if self.run is not None and self.run.collection_error:
            return f"The tests could not be run: {self.run.collection_error.strip().splitlines()[-1]}"
        if self.failing:
            first = self.failing[0]
            told = last_line(first.message) or _WORDS.get(first.outcome, first.outcome)
            count = len(self.run.outcomes) if self.run else 0
            return f"{len(self.failing)} of {count} tests fail, first {first.id}: {told}"
        failed = [check for check in self.evidence.checks if not check.passed]
        if failed:
            return f"This does not hold: {failed[0].name}. {failed[0].message}".strip()
        return self.failures[0].error_message if self.failures else ""
