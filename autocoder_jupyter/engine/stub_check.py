"""Checks that the tests can fail, by running them on stubs, which compute nothing.

One stub returns empty defaults. If all tests pass on it, they prove nothing. A single test may rightly pass on it,
because it says that no rows give `[]`. So a test is named only if it passes on a stub of other values too.
"""

from __future__ import annotations

from dataclasses import replace

from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.sandbox.protocol import Environment, Program, TestSpec, Worker
from autocoder_jupyter.types import CodePlan

CAN_FAIL = "the tests can fail"

VACUOUS = "Every test also passes on a function that only returns empty defaults, so they prove nothing."
"""The failure, as text for the model."""

_Ids = tuple[str, ...]


def stub_program(plan: CodePlan, program: Program, *, is_empty: bool = True) -> Program:
    """A program with the same interface that only returns values of the right types, empty ones or others."""
    outputs = [(output.type, [(column.name, column.dtype) for column in output.columns]) for output in plan.outputs]
    code = program_text("stub", OUTPUTS=outputs, IS_EMPTY=is_empty)
    return replace(program, code=code)


class StubRuns:
    """The tests of one generation on stubs. The same tests run once in an environment."""

    def __init__(self, session: SandboxSession, plan: CodePlan) -> None:
        self._session = session
        self._plan = plan
        self._known: dict[tuple[Environment | None, str], tuple[_Ids, _Ids]] = {}

    async def passing(self, program: Program, suite: TestSuite) -> tuple[_Ids, _Ids]:
        """The tests of one module that pass on empty defaults; and those of them that pass on other values too."""
        key = self._session.environment, suite.source
        if key not in self._known:
            self._known[key] = await self._run(program, suite)
        return self._known[key]

    async def _run(self, program: Program, suite: TestSuite) -> tuple[_Ids, _Ids]:
        """Run the tests on both stubs, in one process."""
        empty, other = (stub_program(self._plan, program, is_empty=is_empty) for is_empty in (True, False))
        tests = TestSpec(suite.source, suite.ids, traceback=False, other_stub=other.code)

        def job(worker: Worker) -> tuple[_Ids, _Ids]:
            run = worker.test(empty, tests, callee=None)
            passed = tuple(outcome.id for outcome in run.outcomes if outcome.outcome == "passed")
            return passed, tuple(name for name in passed if name in run.on_other_stub)

        return await self._session.work(job, without_data=True)
