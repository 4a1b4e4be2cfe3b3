"""The interface of a solution: its signature as Python text, and whether a module has it."""

from __future__ import annotations

import ast

from autocoder_jupyter.engine.entry import entry_problem
from autocoder_jupyter.engine.figures import figure_class
from autocoder_jupyter.kinds.table import KINDS, written
from autocoder_jupyter.types import CodePlan, InputSpec, OutputSpec, TypeName
from autocoder_jupyter.untrusted.parsing import complaint, parse

FUNCTION = "run"
"""The name of the one function that every solution defines."""


def annotation(name: TypeName) -> str:
    """A type as it is written in the solution."""
    return KINDS[name].annotation


def annotated(spec: InputSpec | OutputSpec) -> str:
    """The type of an input or output as it is written in the solution, with the type of its elements."""
    held = annotation(spec.whole) if isinstance(spec, OutputSpec) and spec.whole != spec.type else spec.elements
    return written(spec.type, held) if held else annotation(spec.type)


def signature(plan: CodePlan) -> str:
    """The `def` line of the solution, as Python text."""
    parameters = ", ".join(_parameter(spec) for spec in plan.inputs)
    returned = _returned(plan.outputs).replace(annotation("Figure"), figure_class(plan))
    return f"def {FUNCTION}({parameters}) -> {returned}: ..."


def _parameter(spec: InputSpec) -> str:
    text = f"{spec.name}: {annotated(spec)}"
    if spec.required:
        return text
    if spec.default is None:
        return f"{text} | None = None"
    return f"{text} = {KINDS[spec.type].source(spec.default)}"


def _returned(outputs: tuple[OutputSpec, ...]) -> str:
    names = [annotated(output) for output in outputs]
    return names[0] if len(names) == 1 else f"tuple[{', '.join(names)}]"


def interface_problem(code: str, plan: CodePlan) -> str:
    """Why a module lacks the planned interface, as text for the model; "" if it has it.

    Saves a run in the sandbox: with a wrong parameter name every test would fail.
    """
    try:
        module = parse(code)
    except SyntaxError as error:
        return f"the module does not parse: {complaint(error)}"
    found = [
        node
        for node in module.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == FUNCTION
    ]
    if not found:
        return f"the module defines no function `{FUNCTION}` at its top level"
    function = found[-1]
    if isinstance(function, ast.AsyncFunctionDef):
        return f"`{FUNCTION}` must be a plain function, not `async def`"
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    if arguments.posonlyargs:
        return f"the parameters of `{FUNCTION}` must be usable by keyword"
    missing = [spec.name for spec in plan.inputs if spec.name not in names]
    if missing and arguments.kwarg is None:
        return f"`{FUNCTION}` lacks the parameter {', '.join(missing)}"
    with_default = len(arguments.defaults)
    demanding = names[: len(arguments.args) - with_default] + [
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    extra = [name for name in demanding if name not in {spec.name for spec in plan.inputs}]
    if extra:
        return f"`{FUNCTION}` demands the parameter {', '.join(extra)}, which nobody passes"
    return entry_problem(module)
