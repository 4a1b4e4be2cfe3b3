"""Checks that the tests can fail, by running them on stubs, which compute nothing.

One stub returns empty defaults. If all tests pass on it, they prove nothing. A single test may rightly pass on it,
because it says that no rows give `[]`. So a test is named only if it passes on a stub of other values too.
"""

from __future__ import annotations

from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.sandbox.protocol import Program, TestSpec
from autocoder_jupyter.types import CodePlan

CAN_FAIL = "the tests can fail"


def stub_program(plan: CodePlan, program: Program, *, is_empty: bool = True) -> Program:
    """A program with the same interface that only returns values of the right types, empty ones or others."""
    outputs = [(output.type, [(column.name, column.dtype) for column in output.columns]) for output in plan.outputs]
    code = program_text("stub", OUTPUTS=outputs, IS_EMPTY=is_empty)
    return Program(code, program.inputs, program.outputs, program.function, program.env_vars)


async def vacuous_tests(
    session: SandboxSession, plan: CodePlan, program: Program, suite: TestSuite
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tests of one module that pass on empty defaults; and those of them that pass on other values too."""

    async def passing(tests: tuple[str, ...], *, is_empty: bool) -> tuple[str, ...]:
        stub, spec = stub_program(plan, program, is_empty=is_empty), TestSpec(suite.source, tests, traceback=False)
        run = await session.work(lambda worker: worker.test(stub, spec, callee=None))
        return tuple(outcome.id for outcome in run.outcomes if outcome.outcome == "passed")

    on_empty = await passing(suite.ids, is_empty=True)
    tests = tuple(test for test in suite.ids if any(id.partition("[")[0] == test for id in on_empty))
    on_others = await passing(tests, is_empty=False) if tests else ()
    return on_empty, tuple(id for id in on_empty if id in on_others)
