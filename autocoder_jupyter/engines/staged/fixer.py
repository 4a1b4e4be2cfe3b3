"""After a failed attempt: decides whether environment, tests or code are at fault, and fixes only that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from autocoder_jupyter.engine.blame import Blame
from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.packages import requirement_name
from autocoder_jupyter.engine.tests import TestSuite, read_suite, write_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engines.staged.fix_code import fix_code
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import ErrorDiagnosis, TestFailure

_VACUOUS = "Every test also passes on a function that only returns empty defaults, so they prove nothing."


class Fixer:
    """Fixes the environment, the tests or the code, and remembers fixes that did not help.

    Args:
        state: the state of the generation.
        packages: its packages.
    """

    def __init__(self, state: GenerationState, packages: Packages) -> None:
        self._state = state
        self._packages = packages
        self._blame = Blame(state, packages)

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped."""
        return self._blame.tests_changed

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The answers that could not be used."""
        return self._blame.unusable

    @property
    def snapshot(self) -> tuple[object, ...]:
        """Everything that the next attempt depends on, to see whether a fix changed anything.

        An unusable answer counts as a change: the next attempt asks the question again.
        """
        return self._state.sources, self._packages.snapshot, frozenset(self._blame.rederived), len(self.unusable)

    async def fix(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Fix environment, tests or code after a failed verdict.

        Returns:
            The diagnosis, if a model was asked for one.
        """
        if self._packages.learn(self._state.brief.plan, self._state.code, verdict):  # a missing package needs no model
            return None
        if verdict.error:
            await self._do_without(verdict)
        elif verdict.is_vacuous:
            await self._rewrite_tests(_VACUOUS)
        elif broken := _why_tests_are_broken(verdict):
            await self._rewrite_tests(f"pytest cannot collect this module:\n{broken}\n")
        elif verdict.sample is not None and verdict.sample.error is not None:
            await self._fix_code(verdict.failures)
        else:
            return await self._fix_by_diagnosis(verdict)
        return None

    async def _do_without(self, verdict: Verdict) -> None:
        """A package cannot be installed: ask for the module that imports it without this package."""
        state = self._state
        wanted = {
            f"package {requirement_name(name)}" for name in self._packages.of_the_code(state.brief.plan, state.code)
        }
        if any(failure.test_name in wanted for failure in verdict.failures):
            await self._fix_code(verdict.failures)
        else:
            await self._rewrite_tests(f"{verdict.error} Take only pytest, pandas, numpy and the standard library.")

    async def _rewrite_tests(self, refused: str) -> None:
        state, setup = self._state, self._state.setup
        previous = state.suite.source if state.suite else ""
        writing = partial(
            write_tests,
            *(setup.talk, state.brief),
            refused=refused,
            previous=previous,
            variant=len(self.unusable),
        )
        with self._blame.tolerating_unusable():
            state.set_suite(await setup.stages.run("tests", writing))

    async def _fix_by_diagnosis(self, verdict: Verdict) -> ErrorDiagnosis | None:
        faults, suite = list(verdict.failures), self._state.suite
        if not verdict.failing or suite is None:
            if faults:
                await self._fix_code(faults)
            return None
        diagnosis = await self._blame.diagnosed(verdict.failing, suite)
        faults += diagnosis.of_type("logic")
        suspects = tuple(failure.test_name for failure in diagnosis.of_type("test_error"))
        async with asyncio.TaskGroup() as group:
            if faults:
                group.create_task(self._fix_code(faults))
            if suspects:
                group.create_task(self._fix_tests(suite, suspects))
        return diagnosis

    async def _fix_code(self, faults: Sequence[TestFailure]) -> None:
        state, setup, notes = self._state, self._state.setup, self._escalation(faults)
        fixing = partial(
            fix_code,
            *(setup.talk, state.brief, state.code, faults),
            notes=notes,
            variant=len(self.unusable),
        )
        with self._blame.tolerating_unusable():
            state.set_code(await setup.stages.run("fix", fixing))
            self._blame.note_fix(faults)

    def _escalation(self, faults: Sequence[TestFailure]) -> str:
        tries = self._blame.tries(faults)
        if not tries:
            return ""
        return (
            f"The same failure is there after {tries} earlier mending{'s' if tries > 1 else ''}, so the cause is not "
            "where it was looked for. Work the expected value out by hand and follow the code line by line to where it "
            "departs from that."
        )

    async def _fix_tests(self, suite: TestSuite, names: tuple[str, ...]) -> None:
        source = await self._blame.rederive(suite.source, names)
        if source != suite.source:
            self._state.set_suite(read_suite(source))


def _why_tests_are_broken(verdict: Verdict) -> str:
    """Why the tests cannot be collected; "" if they can, or if the function itself does not run."""
    if verdict.run is None or (verdict.sample is not None and verdict.sample.error is not None):
        return ""
    return verdict.run.collection_error
