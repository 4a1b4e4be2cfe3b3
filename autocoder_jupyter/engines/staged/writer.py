"""The writer by stages: the code is from the first answer, and the tests are asked for while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.writer import write_first_tests
from autocoder_jupyter.engines.staged.fixer import Fixer
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import ErrorDiagnosis


class StagedWriters:
    """A `WriterFactory` of staged writers."""

    async def prepare(self) -> None:
        """Do nothing: no import takes long."""

    def create(self, state: GenerationState, packages: GenerationPackages) -> StagedWriter:
        """The writer of one generation."""
        return StagedWriter(state, packages)


class StagedWriter:
    """A `Writer` whose parts are stages."""

    trace = None

    def __init__(self, state: GenerationState, packages: GenerationPackages) -> None:
        self._state = state
        self._fixer = Fixer(state, packages)

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped after a re-derivation."""
        return self._fixer.tests_changed

    @property
    def snapshot(self) -> object:
        """Everything that the next attempt depends on."""
        return self._fixer.snapshot

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The unusable answers."""
        return self._fixer.unusable

    async def write(self) -> None:
        """Take the code from the first answer, and ask for the tests meanwhile."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._take_code())
            if not self._state.setup.config.skip_tests:
                group.create_task(self._write_tests())

    async def _take_code(self) -> None:
        """Take the code when it is complete, mostly before the tests are."""
        answer = self._state.answer
        assert answer is not None, "a function that is written has a first answer"
        self._state.set_code(await self._state.setup.stages.run("code", answer.code, since=0))

    async def _write_tests(self) -> None:
        state = self._state
        state.set_suite(await state.setup.stages.run("tests", partial(write_first_tests, state)))

    async def fix(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Decide whether environment, tests or code are at fault, and fix only that."""
        return await self._fixer.fix(verdict)

    async def close(self) -> None:
        """Do nothing: nothing runs between two questions."""
