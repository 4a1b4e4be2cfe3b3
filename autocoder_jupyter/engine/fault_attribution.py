"""Decides whether the function or the test is at fault when a test fails, and remembers which fixes did not help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.repair import (
    DEPARTURE,
    PatchError,
    TestFix,
    diagnose,
    fix_tests,
    last_line,
    replace_tests,
)
from autocoder_jupyter.engine.tests import TestSuite, read_suite
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.run.events import Diagnosed
from autocoder_jupyter.types import ErrorDiagnosis, TestFailure, TestOutcome

FIXES_BEFORE_DOUBT = 2
"""Fixes of the code for the same failing test after which the test itself is re-derived."""


class FaultAttribution:
    """Asks whether code or tests are at fault, and has tests re-derived.

    Args:
        packages: gets the packages that a diagnosis asks for.
    """

    def __init__(self, state: GenerationState, packages: GenerationPackages) -> None:
        self._state = state
        self._packages = packages
        self._fixes: Counter[tuple[str, str]] = Counter()
        self.rederived: set[str] = set()
        self.tests_changed: tuple[str, ...] = ()
        self.unusable: list[UnusableAnswer] = []

    async def diagnosed(self, failing: Sequence[TestOutcome], suite: TestSuite) -> ErrorDiagnosis:
        """Why tests of a module fail: the model's diagnosis, corrected by the results of earlier fixes.

        The model is not asked about a test that failed before it called the function.
        """
        state, setup = self._state, self._state.setup
        broken = tuple(_broken(outcome) for outcome in failing if not outcome.calls)
        diagnosis = ErrorDiagnosis()
        if others := [outcome for outcome in failing if outcome.calls]:
            asking = partial(diagnose, setup.conversation, state.diagnosis_brief, state.code, suite.source, others)
            diagnosis = self._reconsidered(await setup.stages.run("diagnose", asking))
        diagnosis = diagnosis.model_copy(update={"failures": (*broken, *diagnosis.failures)})
        setup.emit(Diagnosed(diagnosis))
        self._packages.add(diagnosis)
        return diagnosis

    def _reconsidered(self, diagnosis: ErrorDiagnosis) -> ErrorDiagnosis:
        """Blame the test instead of the code, or the code instead of the test, if fixes did not help.

        A blamed test is only re-derived. A test that was re-derived once is not blamed again: from then on the code is
        at fault.
        """
        failures = []
        for failure in diagnosis.failures:
            kind = failure.error_type
            tries = self._fixes[failure.test_name, failure.error_message]
            if kind == "logic" and tries >= FIXES_BEFORE_DOUBT and not failure.test_name.startswith(DEPARTURE):
                kind = "test_error"
            if kind == "test_error" and failure.test_name in self.rederived:
                kind = "logic"
            failures.append(failure.model_copy(update={"error_type": kind}))
        return diagnosis.model_copy(update={"failures": tuple(failures)})

    async def rederive(self, source: str, failing: Sequence[TestOutcome]) -> str:
        """Have some tests of a module re-derived by a model that sees no code. Returns the new module.

        A test that still fails before it calls the function is removed.
        """
        given_up = {one.id: None for one in failing if not one.calls and one.id in self.rederived}
        with suppress(PatchError):
            if given_up and read_suite(left := replace_tests(source, given_up)).ids:
                self.tests_changed = tuple(dict.fromkeys((*self.tests_changed, *given_up)))
                source, failing = left, [outcome for outcome in failing if outcome.id not in given_up]
        if not failing:
            return source
        setup, variant = self._state.setup, len(self.unusable)
        fixing = partial(fix_tests, setup.conversation, self._state.diagnosis_brief, source, failing, variant=variant)
        fix: TestFix | None = None
        with self.tolerating_unusable():
            fix = await setup.stages.run("fix", fixing)
            self.rederived.update(outcome.id for outcome in failing)
            self.tests_changed = tuple(dict.fromkeys((*self.tests_changed, *fix.changed)))
        return fix.source if fix is not None else source

    def note_fix(self, faults: Sequence[TestFailure]) -> None:
        """Note that the code was changed because of these failures."""
        for fault in faults:
            self._fixes[fault.test_name, fault.error_message] += 1

    def tries(self, faults: Sequence[TestFailure]) -> int:
        """How often the code was already changed because of one of these failures."""
        return max((self._fixes[fault.test_name, fault.error_message] for fault in faults), default=0)

    @contextmanager
    def tolerating_unusable(self) -> Iterator[None]:
        """Note an unusable answer: it costs an attempt, but does not end the run."""
        try:
            yield
        except UnusableAnswer as error:
            self.unusable.append(error)


def _broken(outcome: TestOutcome) -> TestFailure:
    return TestFailure(
        test_name=outcome.id,
        error_message=last_line(outcome.message) or outcome.outcome,
        root_cause="The test fails before it calls the function.",
        error_type="test_error",
    )
