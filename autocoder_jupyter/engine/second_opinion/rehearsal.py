"""Runs tests on the second solution, to see what they say about a difference before the function is changed for it.

A new test must pass there, because the second solution has the value that it asserts. An older test whose assertion
fails there contradicts that value.
"""

from __future__ import annotations

import re
from dataclasses import replace

from autocoder_jupyter.engine.diagnose import last_line
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.second_opinion.trial import OpinionTrial
from autocoder_jupyter.engine.second_opinion.writer import matched_outputs
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.sandbox.protocol import Program, TestSpec
from autocoder_jupyter.types import TestOutcome

_ASSERTION = re.compile(r"AssertionError|assert |Failed: DID NOT RAISE")

_ADAPTER = """

_all_outputs = run


def run(*given, **inputs):
    outputs = {returned}
    return {chosen}
"""


async def objections(session: SandboxSession, trial: OpinionTrial, suite: TestSuite, new: str) -> str:
    """Why the function must not be changed for a new test; "" if nothing speaks against it.

    Args:
        session: the sandbox session.
        trial: has the second solution.
        suite: all tests, the new one among them.
        new: the name of the new one.
    """
    program = _as_function(trial)
    if program is None:
        return "The second solution has other outputs, so no test of the difference could be tried on it."
    outcomes: list[TestOutcome] = []
    for module in suite.modules:
        spec = TestSpec(module.source, module.ids)
        try:
            run = await session.work_with_two(
                lambda worker, callee, spec=spec: worker.test(program, spec, callee=callee),  # type: ignore[misc]
                second=trial.environment,
            )
        except SandboxError as error:
            return f"The tests could not be run on the second solution: {error.what}"
        outcomes += run.outcomes
    if not any(outcome.id == new and outcome.outcome == "passed" for outcome in outcomes):
        return "A test of the difference could not be shown to pass for the value that it asserts."
    against = [outcome.id for outcome in outcomes if outcome.outcome == "failed" and _asserts(outcome)]
    return f"The test {against[0]} contradicts it." if against else ""


def _asserts(outcome: TestOutcome) -> bool:
    """Whether an assertion failed. Other errors say nothing about the value."""
    return bool(_ASSERTION.match(last_line(outcome.message)))


def _as_function(trial: OpinionTrial) -> Program | None:
    """The second solution with the outputs of the function, in their order; None if it lacks one."""
    ours, theirs = trial.program.outputs, trial.second.outputs
    pairs = matched_outputs(ours, theirs)
    if len(pairs) < len(ours):
        return None
    names = [spec.name for spec in theirs]
    places = [names.index(pairs[spec.name]) for spec in ours]
    second = trial.second_program
    outputs = tuple(spec.model_copy(update={"columns": ()}) for spec in ours)
    code = second.code
    if places != list(range(len(names))):
        returned = "_all_outputs(*given, **inputs)" if len(names) > 1 else "(_all_outputs(*given, **inputs),)"
        chosen = ", ".join(f"outputs[{place}]" for place in places)
        code += _ADAPTER.format(returned=returned, chosen=chosen)
    return replace(second, code=code, outputs=outputs)
