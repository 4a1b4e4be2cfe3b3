"""The writer of this package: one question a stage, code and tests side by side, and neither sees the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from autocoder_jupyter.engine.drafting import Drafter
from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.mend import Mender
from autocoder_jupyter.engine.refine import Refiner
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.work import Work
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import CodePlan, ErrorDiagnosis


def drafter_of(work: Work) -> Drafter:
    """Who asks for the first plan, code and tests: from nothing, or from an earlier version."""
    return Drafter(work) if work.request.earlier is None else Refiner(work, work.request.earlier)


class StagedWriter:
    """A `Writer` whose parts are stages.

    Args:
        work: the generation.
        packages: its packages.
    """

    trace = None

    def __init__(self, work: Work, packages: Packages) -> None:
        self._work = work
        self._drafter = drafter_of(work)
        self._mender = Mender(work, packages)

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped after a re-derivation."""
        return self._mender.tests_changed

    @property
    def state(self) -> object:
        """All that the next attempt depends on."""
        return self._mender.state

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The answers that could not be used."""
        return self._mender.unusable

    async def plan(self) -> CodePlan:
        """The interface and the assumptions."""
        return await self._drafter.plan()

    async def write(self) -> None:
        """Code and tests, side by side."""
        work, drafter = self._work, self._drafter
        async with asyncio.TaskGroup() as group:
            code = group.create_task(work.stage("code", drafter.code))
            if not work.config.skip_tests:
                work.set_suite(await work.stage("tests", drafter.tests))
        work.set_code(code.result())

    async def mend(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Decide what is to blame, and have just that mended."""
        return await self._mender.mend(verdict)

    async def close(self) -> None:
        """Nothing is left running between two questions."""
