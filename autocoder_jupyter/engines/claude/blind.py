"""Tests that the agent never sees. The plain stages write, diagnose and re-derive them."""

from __future__ import annotations

from functools import partial

from autocoder_jupyter.engine.blame import Blame
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.loop import write_first_tests
from autocoder_jupyter.engine.tests import TestSuite, blind_id, read_suite, write_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.types import ErrorDiagnosis, TestFailure

VACUOUS = "Every test also passes on a function that only returns empty defaults, so they prove nothing."


class BlindTests:
    """The blind tests of a generation.

    Args:
        state: the state of the generation.
        blame: decides whether code or test is at fault.
    """

    def __init__(self, state: GenerationState, blame: Blame) -> None:
        self._state = state
        self._setup = state.setup
        self._blame = blame
        self.suite: TestSuite | None = None
        """The current blind tests; None if there are none."""

    @property
    def changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped after a re-derivation."""
        return tuple(map(blind_id, self._blame.tests_changed))

    async def write(self) -> None:
        """Ask for them, if they are wanted."""
        config = self._setup.config
        if not config.skip_tests and config.blind_tests == "on":
            self.suite = await self._setup.stages.run("tests", partial(write_first_tests, self._state))

    async def judge(self, verdict: Verdict) -> tuple[ErrorDiagnosis | None, list[TestFailure]]:
        """Diagnose the failing ones. Wrong tests are fixed here.

        Returns:
            The diagnosis, if one was asked for, and the failures of the function.
        """
        if self.suite is None or verdict.blind is None:
            return None, []
        if verdict.blind.collection_error or verdict.blind_is_vacuous:
            await self._rewrite(self.suite, verdict.blind.collection_error)
            return None, []
        if not verdict.blind_failing:
            return None, []
        diagnosis = await self._blame.diagnosed(verdict.blind_failing, self.suite)
        if suspects := tuple(failure.test_name for failure in diagnosis.of_type("test_error")):
            self.suite = read_suite(await self._blame.rederive(self.suite.source, suspects))
        return diagnosis, list(diagnosis.of_type("logic"))

    async def _rewrite(self, before: TestSuite, broken: str) -> None:
        setup, state = self._setup, self._state
        writing = partial(
            write_tests,
            *(setup.talk, state.brief),
            refused=f"pytest cannot collect this module:\n{broken}\n" if broken else VACUOUS,
            previous=before.source,
            variant=len(self._blame.unusable),
        )
        with self._blame.tolerating_unusable():
            self.suite = await setup.stages.run("tests", writing)


def unseen(failure: TestFailure) -> TestFailure:
    """The failure of a blind test in the form that the agent gets."""
    return failure.model_copy(update={"test_name": f"a test that you do not see ({failure.test_name})"})
