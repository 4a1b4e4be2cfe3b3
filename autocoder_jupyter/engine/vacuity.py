"""Checks that the tests can fail: a test that passes on a stub of type-correct defaults proves nothing by itself."""

from __future__ import annotations

from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.sandbox.protocol import Program, TestSpec
from autocoder_jupyter.types import CodePlan

CAN_FAIL = "the tests can fail"


def stub_program(plan: CodePlan, program: Program) -> Program:
    """A program with the same interface that only returns type-correct defaults."""
    outputs = [(output.type, [(column.name, column.dtype) for column in output.columns]) for output in plan.outputs]
    code = program_text("stub", OUTPUTS=outputs)
    return Program(code, program.inputs, program.outputs, program.function, program.env_vars)


async def vacuous_tests(session: SandboxSession, plan: CodePlan, program: Program, suite: TestSuite) -> tuple[str, ...]:
    """The tests of one module that pass on a stub of type-correct defaults: they prove nothing by themselves."""
    stub = stub_program(plan, program)
    spec = TestSpec(suite.source, suite.ids, traceback=False)
    run = await session.work(lambda worker: worker.test(stub, spec, callee=None))
    return tuple(outcome.id for outcome in run.outcomes if outcome.outcome == "passed")
