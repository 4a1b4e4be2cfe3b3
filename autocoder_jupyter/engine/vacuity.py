"""Whether the tests can fail: those that pass on a stub of type-correct defaults prove nothing by themselves."""

from __future__ import annotations

from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import CodePlan, OutputSpec

CAN_FAIL = "the tests can fail"


def stub_program(plan: CodePlan, program: Program) -> Program:
    """A program of the same interface that returns type-correct defaults and does nothing."""
    lines = ["import datetime", "import pathlib", "", "import pandas as pd", "", "", "def run(**inputs):"]
    names = []
    for number, output in enumerate(plan.outputs):
        name = f"output_{number}"
        lines += [f"    {line}" for line in _default_lines(name, output)]
        names.append(name)
    lines.append(f"    return {names[0] if len(names) == 1 else ', '.join(names)}")
    return Program("\n".join(lines) + "\n", program.inputs, program.outputs, program.function, program.env_vars)


def _default_lines(name: str, output: OutputSpec) -> list[str]:
    if output.type == "DataFrame":
        lines = [f"{name} = pd.DataFrame({{{', '.join(f'{c.name!r}: []' for c in output.columns)}}})"]
        for column in output.columns:
            lines += ["try:", f"    {name}[{column.name!r}] = {name}[{column.name!r}].astype({column.dtype!r})"]
            lines += ["except (TypeError, ValueError):", "    pass"]
        return lines
    return [line.format(name=name) for line in KINDS[output.type].stub]


async def vacuous_tests(session: SandboxSession, plan: CodePlan, program: Program, suite: TestSuite) -> tuple[str, ...]:
    """The tests that pass on a stub of type-correct defaults: they prove nothing by themselves. Of one module."""
    stub = stub_program(plan, program)
    run = await session.work(lambda worker: worker.test(stub, suite.source, suite.ids, callee=None))
    return tuple(outcome.id for outcome in run.outcomes if outcome.outcome == "passed")
