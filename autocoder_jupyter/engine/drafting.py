"""The first plan, code and tests: each asked of the model, from nothing but the request and the data."""

from __future__ import annotations

from autocoder_jupyter.engine.ask import planned
from autocoder_jupyter.engine.code import write_code
from autocoder_jupyter.engine.tests import TestSuite, write_tests
from autocoder_jupyter.engine.work import Work
from autocoder_jupyter.types import CodePlan


class Drafter:
    """Makes them, one by one; code and tests from the plan that `work` then has.

    Args:
        work: the generation.
    """

    def __init__(self, work: Work) -> None:
        self._work = work

    async def plan(self) -> CodePlan:
        """The interface and the assumptions."""
        return await planned(self._work)

    async def code(self) -> str:
        """The module."""
        work = self._work
        return await write_code(work.talk, work.request, work.plan, work.context, work.config.system_prompt)

    async def tests(self) -> TestSuite:
        """Its tests, written without sight of it."""
        work = self._work
        return await write_tests(work.talk, work.request, work.plan, work.context)
