"""The verdict of one attempt: its outcomes, and whether it is a success."""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.engine.acceptance import Acceptance
from autocoder_jupyter.engine.evidence.rows_used import FollowedRun
from autocoder_jupyter.engine.repair import last_line
from autocoder_jupyter.engine.sample_run import SampleRun
from autocoder_jupyter.engine.tests import CAN_FAIL, TestSuite, blind_id
from autocoder_jupyter.sandbox.protocol import TestRun
from autocoder_jupyter.types import (
    CheckOutcome,
    Evidence,
    LayerCost,
    Strength,
    TestFailure,
    TestOutcome,
)

_OUTCOME_TEXTS = {"missing": "it never ended (the time was up, or something stopped the test run)"}


@dataclass(frozen=True)
class Verdict:
    """The outcome of one attempt.

    Args:
        suite: the tests that must pass; None if tests are skipped.
        run: their outcomes; None if they could not run.
        sample: the run on the real sample; None if there is no sample, or it was not reached.
        failures: failures of the function outside of the tests.
        tests_changed: ids of tests that were changed or dropped before this attempt.
        error: why nothing could run; "" if it could.
        accepted: the outcomes of the user's examples, tests and checks.
        blind: the outcomes of the blind tests, if there are any.
        remarks: which outputs on the sample are blank.
        strength: what the tests are worth; None if that was not examined.
        costs: what the layers of the evidence took.
        on_empty: tests that pass on a stub of empty defaults.
        followed: which rows of the sample were used, and what its calls lose or multiply.
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
    blind: TestRun | None = None
    remarks: tuple[str, ...] = ()
    strength: Strength | None = None
    costs: tuple[LayerCost, ...] = ()
    on_empty: tuple[str, ...] = ()
    followed: FollowedRun = FollowedRun()

    @property
    def is_vacuous(self) -> bool:
        """Whether all tests of a module pass on a stub of empty defaults. Then they prove nothing."""
        return self.own_is_vacuous or self.blind_is_vacuous

    @property
    def own_is_vacuous(self) -> bool:
        """Whether all tests of the first module do so."""
        return self.suite is not None and bool(self.on_empty) and set(self.on_empty) >= set(self.suite.ids)

    @property
    def blind_is_vacuous(self) -> bool:
        """Whether all blind tests do so."""
        blind = self.suite.blind if self.suite is not None else None
        return blind is not None and bool(self.on_empty) and set(self.on_empty) >= set(map(blind_id, blind.ids))

    @property
    def failing(self) -> tuple[TestOutcome, ...]:
        """The tests that did not pass, without the blind ones."""
        return _failing(self.run)

    @property
    def blind_failing(self) -> tuple[TestOutcome, ...]:
        """The blind tests that did not pass, by the ids of their own module."""
        return _failing(self.blind)

    @property
    def success(self) -> bool:
        """Whether all required parts are there and passed."""
        tested = self.suite is None or (self._passed and not self.is_vacuous)
        evidence = self.evidence
        holds = all(check.passed for check in evidence.conditions)
        return tested and holds and not self.error and not self.failures and not self.accepted.broken

    @property
    def _passed(self) -> bool:
        """Whether all tests that must pass passed."""
        wanted = self.suite.modules if self.suite is not None else ()
        runs = (self.run, self.blind)[: len(wanted)]
        return all(run is not None and run.passed for run in runs)

    @property
    def evidence(self) -> Evidence:
        """The outcomes as plain records."""
        checks = (*(self.sample.checks if self.sample else ()), *self.checks)
        if self.run is not None and self.suite is not None:
            message = "Every test passes on a function that does nothing." if self.is_vacuous else ""
            checks = (CheckOutcome(name=CAN_FAIL, passed=not self.is_vacuous, message=message), *checks)
        return Evidence(
            acceptance=self.accepted.outcomes,
            tests=self._outcomes(),
            checks=checks,
            vacuous_tests=self.vacuous,
            tests_changed=self.tests_changed,
            remarks=self.remarks,
            strength=self.strength,
            costs=self.costs,
            rows_used=self.followed.rows,
            losses=self.followed.losses,
            rows_cut=self.followed.is_cut,
        )

    def _outcomes(self) -> tuple[TestOutcome, ...]:
        if self.run is None or self.suite is None:
            return ()
        outcomes = _with_sentences(self.run, self.suite)
        if self.blind is None or self.suite.blind is None:
            return outcomes
        blind = _with_sentences(self.blind, self.suite.blind)
        return (*outcomes, *(outcome.model_copy(update={"id": blind_id(outcome.id)}) for outcome in blind))

    @property
    def score(self) -> tuple[bool, int, int, int]:
        """A key to choose the best attempt: success, the user's demands, passed tests, passed other checks."""
        evidence = self.evidence
        accepted = sum(outcome.passed for outcome in evidence.acceptance)
        passed = sum(outcome.outcome == "passed" for outcome in evidence.tests)
        return self.success, accepted, passed, sum(check.passed for check in evidence.checks)

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The failures in a form that can be compared, to see whether the same failure occurs again."""
        tests = [(outcome.id, outcome.message) for outcome in self.failing]
        tests += [(blind_id(outcome.id), outcome.message) for outcome in self.blind_failing]
        others = [(failure.test_name, failure.error_message) for failure in self.failures]
        broken = [("collection", run.collection_error) for run in self._runs if run.collection_error]
        return tuple(sorted((*tests, *others, *broken, *([("vacuous", "")] if self.is_vacuous else []))))

    @property
    def complaints(self) -> tuple[str, ...]:
        """All error messages of the tests. They may name a missing package."""
        messages = [outcome.message for outcome in (*self.failing, *self.blind_failing)]
        for run in self._runs:
            messages.append(run.collection_error)
            if run.missing_module:
                messages.append(f"No module named '{run.missing_module}'")
        return tuple(messages)

    @property
    def _runs(self) -> tuple[TestRun, ...]:
        return tuple(run for run in (self.run, self.blind) if run is not None)

    @property
    def complaint_on_sample(self) -> str:
        """The error message of the function on the sample. It may contain values of the data: never show or send it."""
        return str(self.sample.error) if self.sample is not None and self.sample.error is not None else ""

    @property
    def summary(self) -> str:
        """The reason for a failure, in one or two sentences."""
        if self.error:
            return self.error
        if self.accepted.broken:
            return self.accepted.broken
        refused = [outcome for outcome in self.accepted.outcomes if not outcome.passed]
        if refused:
            return f"This does not hold: {refused[0].name}. {refused[0].message}".strip()
        if self.run is not None and self.run.collection_error:
            return f"The tests could not be run: {self.run.collection_error.strip().splitlines()[-1]}"
        if self.blind is not None and self.blind.collection_error:
            return f"The blind tests could not be run: {self.blind.collection_error.strip().splitlines()[-1]}"
        if self.failing:
            return _summary(self.run, self.failing, "tests")
        if self.blind_failing:
            return _summary(self.blind, self.blind_failing, "blind tests")
        failed = [check for check in self.evidence.checks if not check.passed]
        if failed:
            return f"This does not hold: {failed[0].name}. {failed[0].message}".strip()
        return self.failures[0].error_message if self.failures else ""


def _failing(run: TestRun | None) -> tuple[TestOutcome, ...]:
    return tuple(outcome for outcome in (run.outcomes if run else ()) if outcome.outcome != "passed")


def _with_sentences(run: TestRun, suite: TestSuite) -> tuple[TestOutcome, ...]:
    return tuple(
        outcome.model_copy(update={"sentence": suite.sentences.get(outcome.id, outcome.sentence)})
        for outcome in run.outcomes
    )


def _summary(run: TestRun | None, failing: tuple[TestOutcome, ...], what: str) -> str:
    first = failing[0]
    message = last_line(first.message) or _OUTCOME_TEXTS.get(first.outcome, first.outcome)
    return f"{len(failing)} of {len(run.outcomes) if run else 0} {what} fail, first {first.id}: {message}"
