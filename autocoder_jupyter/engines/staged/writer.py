"""The writer by stages, with one question each. Code and tests are written concurrently and independently."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.loop import write_first_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engines.staged.code import write_code
from autocoder_jupyter.engines.staged.fixer import Fixer
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import ErrorDiagnosis

_REFINED = """\
There is a module already, in which everything is granted but the last line under <wishes>:

<present_code>
{code}
</present_code>

Bring it in line with the interface above. What the wish does not touch stays as it is, line by line."""


class StagedWriters:
    """A `WriterFactory` of staged writers."""

    async def prepare(self) -> None:
        """Do nothing: no import takes long."""

    def create(self, state: GenerationState, packages: Packages) -> StagedWriter:
        """The writer of one generation."""
        return StagedWriter(state, packages)


class StagedWriter:
    """A `Writer` whose parts are stages.

    Args:
        state: the state of the generation.
        packages: its packages.
    """

    trace = None

    def __init__(self, state: GenerationState, packages: Packages) -> None:
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
        """Write code and tests concurrently.

        The code is asked for first: many local models answer one question after the other, and its rows are shown.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_code())
            if not self._state.setup.config.skip_tests:
                group.create_task(self._write_tests())

    async def _write_code(self) -> None:
        """Write the code. It is there before the tests if it is written faster."""
        self._state.set_code(await self._state.setup.stages.run("code", self._code))

    async def _write_tests(self) -> None:
        state = self._state
        await state.setup.talk.sent["code"].wait()
        state.set_suite(await state.setup.stages.run("tests", partial(write_first_tests, state)))

    async def _code(self) -> str:
        """The module: a new one, or that of an earlier version, changed for the newest wish."""
        setup, earlier = self._state.setup, self._state.setup.request.earlier
        also = _REFINED.format(code=earlier.code.strip()) if earlier is not None else ""
        return await write_code(setup.talk, self._state.brief, setup.config.system_prompt, also)

    async def fix(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Decide whether environment, tests or code are at fault, and fix only that."""
        return await self._fixer.fix(verdict)

    async def close(self) -> None:
        """Do nothing: nothing runs between two questions."""
