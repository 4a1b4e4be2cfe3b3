"""An existing function as the answer to a request that demands more: what of it is changed, without a model.

Further demands change nothing of it. Another default of an input is changed in its signature, and its tests still get
the default that they were written for. Declared outputs that it returns already become a part of its plan.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from autocoder_jupyter.engine.interface import FUNCTION, interface_problem
from autocoder_jupyter.engine.kept_tests import with_earlier_defaults
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan, InputSpec, OutputSpec, Report
from autocoder_jupyter.untrusted.parsing import parse
from autocoder_jupyter.versions.field_changes import Change

_PLAIN = ("int", "float", "str", "bool")
"""The types of inputs whose default is changed here."""


@dataclass(frozen=True)
class Adapted:
    """An existing function for a request that demands more.

    Args:
        plan: its interface and assumptions.
        code: its module.
        tests: its tests.
        blind: its blind tests; "" if there are none.
    """

    plan: CodePlan
    code: str
    tests: str
    blind: str


def adapted(report: Report, request: Request, found: Sequence[Change]) -> Adapted | None:
    """The function of a report for a request; None if the request needs another one.

    Args:
        report: the report of a good version.
        request: the request.
        found: how the request differs from that of the version.
    """
    plan, solution, kinds = report.plan, report.solution, {change.what for change in found}
    if plan is None or solution is None or not kinds or not kinds <= {"demand", "default", "output"}:
        return None
    outputs = _outputs(plan.outputs, request.outputs) if "output" in kinds else plan.outputs
    if outputs is None:
        return None
    plan = plan.model_copy(update={"outputs": outputs})
    made = Adapted(plan, solution.code, report.tests, report.blind_tests)
    if "default" in kinds:
        with_them = _with_defaults(made, request.inputs)
        if with_them is None:
            return None
        made = with_them
    return None if interface_problem(made.code, made.plan) else made


def _outputs(returned: Sequence[OutputSpec], declared: Sequence[OutputSpec]) -> tuple[OutputSpec, ...] | None:
    """The outputs as they are declared now; None if the function returns others."""
    if [(spec.name, spec.type) for spec in returned] != [(spec.name, spec.type) for spec in declared]:
        return None
    pairs = list(zip(returned, declared, strict=True))
    for has, wants in pairs:
        columns = {column.name: column.dtype for column in wants.columns}
        if columns and columns != {column.name: column.dtype for column in has.columns}:
            return None
        if wants.elements not in ("", has.elements):
            return None
    return tuple(has.model_copy(update={"meaning": wants.meaning or has.meaning}) for has, wants in pairs)


def _with_defaults(made: Adapted, declared: Sequence[InputSpec]) -> Adapted | None:
    """With the declared defaults; None if they cannot be changed in the source."""
    before = {spec.name: spec for spec in made.plan.inputs}
    changed = {
        spec.name: spec for spec in declared if spec.name in before and spec.default != before[spec.name].default
    }
    code = made.code
    for name, spec in changed.items():
        if spec.type not in _PLAIN or before[name].type != spec.type or not KINDS[spec.type].takes_json(spec.default):
            return None
        written = _with_default(code, name, KINDS[spec.type].source(spec.default))
        if written is None:
            return None
        code = written
    inputs = [
        spec.model_copy(update={"default": changed[spec.name].default}) if spec.name in changed else spec
        for spec in made.plan.inputs
    ]
    try:
        tests, blind = (
            with_earlier_defaults(source, made.plan.inputs, changed) if source else ""
            for source in (made.tests, made.blind)
        )
    except SyntaxError:
        return None
    return Adapted(made.plan.model_copy(update={"inputs": tuple(inputs)}), code, tests, blind)


def _with_default(code: str, name: str, default: str) -> str | None:
    """A module with another default of one parameter; None if that parameter has no literal as its default."""
    try:
        functions = [node for node in parse(code).body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION]
    except SyntaxError:
        return None
    if not functions:
        return None
    given = functions[-1].args
    positional = dict(zip(reversed(given.args), reversed(given.defaults), strict=False))
    named = {**positional, **dict(zip(given.kwonlyargs, given.kw_defaults, strict=True))}
    old = next((value for argument, value in named.items() if argument.arg == name), None)
    place = old.operand if isinstance(old, ast.UnaryOp) else old
    if old is None or not isinstance(place, ast.Constant) or old.lineno != old.end_lineno:
        return None
    lines = [line.encode() for line in code.split("\n")]  # columns of a syntax tree count bytes
    line = lines[old.lineno - 1]
    lines[old.lineno - 1] = line[: old.col_offset] + default.encode() + line[old.end_col_offset :]
    return b"\n".join(lines).decode()
