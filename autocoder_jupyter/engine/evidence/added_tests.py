"""Tests that the evidence adds to a suite: what they need, and what speaks against one.

A new test must pass on the second solution, because that has the value that the test asserts. An older test whose
assertion fails there contradicts that value.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace

from autocoder_jupyter.engine.evidence.comparison import SolutionComparison
from autocoder_jupyter.engine.evidence.second_writer import ColumnNames, matched_outputs
from autocoder_jupyter.engine.evidence.small_inputs import SmallInput
from autocoder_jupyter.engine.repair import last_line
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.sandbox.protocol import Program, TestSpec
from autocoder_jupyter.types import CodePlan, OutputSpec, TestOutcome

_ASSERTION = re.compile(r"AssertionError|assert |Failed: DID NOT RAISE")

_ADAPTER = """

_all_outputs = run


def _with_names(value, names):
    if not names:
        return value
    named = [name for name in value.index.names if name is not None]
    table = value.reset_index() if named else value
    table = table.set_axis([names.get(str(name), name) for name in table.columns], axis=1)
    wanted = [name for name in names.values() if name in table.columns]
    return table[[*wanted, *(name for name in table.columns if name not in wanted)]].reset_index(drop=True)


def run(*given, **inputs):
    outputs = {returned}
    return {chosen}
"""
"""The outputs of the second solution as those of the function: their order, and the names and order of columns."""


def is_complete(small: SmallInput, plan: CodePlan) -> bool:
    """Whether every required input is one of its tables."""
    return all(spec.name in small.tables for spec in plan.inputs if spec.required)


def free_number(suite: TestSuite, prefix: str) -> int:
    """A number for a new test that no test of the suite has; a refined function keeps its earlier ones."""
    taken = {test.rpartition("::")[2] for module in suite.modules for test in module.ids}
    return next(number for number in itertools.count(1) if f"{prefix}{number}" not in taken)


async def objections(
    session: SandboxSession, comparison: SolutionComparison, matched: ColumnNames, suite: TestSuite, new: str
) -> str:
    """Why the function must not be changed for a new test; "" if nothing speaks against it."""
    program = _as_function(comparison, matched)
    if program is None:
        return "The second solution has other outputs, so no test of the difference could be tried on it."
    outcomes: list[TestOutcome] = []
    for module in suite.modules:
        spec = TestSpec(module.source, module.ids)
        try:
            run = await session.work_with_two(
                lambda worker, callee, spec=spec: worker.test(program, spec, callee=callee),  # type: ignore[misc]
                second=comparison.environment,
                without_data=True,
            )
        except SandboxError as error:
            return f"The tests could not be run on the second solution: {error.what}"
        outcomes += run.outcomes
    if not any(outcome.id == new and outcome.outcome == "passed" for outcome in outcomes):
        return "A test of the difference could not be shown to pass for the value that it asserts."
    against = [outcome.id for outcome in outcomes if outcome.outcome == "failed" and asserts(outcome)]
    return f"The test {against[0]} contradicts it." if against else ""


def asserts(outcome: TestOutcome) -> bool:
    """Whether an assertion failed. Other errors say nothing about the value."""
    return bool(_ASSERTION.match(last_line(outcome.message)))


def _as_function(comparison: SolutionComparison, matched: ColumnNames) -> Program | None:
    """The second solution with the outputs of the function, in their order; None if it lacks one."""
    ours, theirs = comparison.program.outputs, comparison.second.outputs
    pairs = matched_outputs(ours, theirs)
    if len(pairs) < len(ours):
        return None
    names = [spec.name for spec in theirs]
    places = [names.index(pairs[spec.name]) for spec in ours]
    second = comparison.second_program
    outputs = tuple(spec.model_copy(update={"columns": ()}) for spec in ours)
    orders = {spec.name: _in_order(spec, matched.get(spec.name, {})) for spec in ours}
    returned = "_all_outputs(*given, **inputs)" if len(names) > 1 else "(_all_outputs(*given, **inputs),)"
    chosen = ", ".join(
        f"_with_names(outputs[{place}], {orders[spec.name]!r})" for spec, place in zip(ours, places, strict=True)
    )
    return replace(second, code=second.code + _ADAPTER.format(returned=returned, chosen=chosen), outputs=outputs)


def _in_order(spec: OutputSpec, names: Mapping[str, str]) -> dict[str, str]:
    """The names of columns, in the order in which the plan has them."""
    order = {column.name: place for place, column in enumerate(spec.columns)}
    return dict(sorted(names.items(), key=lambda pair: order.get(pair[1], len(order))))
