"""The beginning of every question to the model: its role, the rules for all stages, the request, the plan, the data.

It is the same for code, tests, diagnosis and fixes, and the instruction of a stage is last, so a provider's prompt
cache can serve it. Nothing in it varies between two runs, so that answers can be replayed by the content of the
question.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.engine.conversation import Messages
from autocoder_jupyter.kinds.table import KINDS, written
from autocoder_jupyter.models.questions import SHARED
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.request import Contract, Earlier, HouseRule, Request
from autocoder_jupyter.types import CodePlan, Evidence, FigureKind, InputSpec, OutputSpec, TypeName
from autocoder_jupyter.types.interface import demand
from autocoder_jupyter.untrusted.parsing import complaint, parse

# Script parts
#
# What a module does only as a script would not be tested, so a solution must not have it.

_MAIN_NAMES = ("__name__", "__main__")


def without_entry(code: str) -> str:
    """The module without its `if __name__ == "__main__":` blocks, with which models often end a module."""
    try:
        module = parse(code)
    except SyntaxError:
        return code
    lines = re.split("\r\n|\r|\n", code)  # as Python counts them
    for node in reversed(module.body):
        if isinstance(node, ast.If) and not node.orelse and _is_main_test(node.test):
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines).rstrip("\n") + "\n"


def entry_problem(module: ast.Module) -> str:
    """Why a module could behave differently as a script than as a module, as text for the model."""
    for node in ast.walk(module):
        by_name = isinstance(node, ast.Name) and node.id in _MAIN_NAMES
        if by_name or (isinstance(node, ast.Constant) and node.value in _MAIN_NAMES):
            return (
                "it asks for its own `__name__`; it is only ever imported, so it must do the same under every name "
                'and have no `if __name__ == "__main__":` part'
            )
    return ""


def _is_main_test(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    names = [side.id if isinstance(side, ast.Name) else getattr(side, "value", None) for side in sides]
    return sorted(map(str, names)) == sorted(_MAIN_NAMES)


# Figures

_FIGURE_CLASSES: dict[FigureKind, str] = {
    "plotly": "plotly.graph_objects.Figure",
    "altair": "altair.TopLevelMixin",
    "matplotlib": "matplotlib.figure.Figure",
}


def figure_kind(plan: CodePlan) -> FigureKind:
    """The plotting library of the plan."""
    packages = {package.strip().lower() for package in plan.packages}
    return next((kind for kind in _FIGURE_CLASSES if kind in packages), "matplotlib")


def figure_class(plan: CodePlan) -> str:
    """The type of a Figure, as written in the solution."""
    return _FIGURE_CLASSES[figure_kind(plan)]


def how_to_draw(plan: CodePlan) -> str:
    """The rule for the writer of the code."""
    if figure_kind(plan) == "matplotlib":
        return prompt("shared.draw")
    return prompt("shared.draw interactive", type=figure_class(plan))


def how_it_comes_back(plan: CodePlan) -> str:
    """The rule for the writer of the tests."""
    return prompt(f"tests.{figure_kind(plan)} figure")


# Rules that depend on types


def code_rules(plan: CodePlan) -> str:
    """The rules that apply because of the types of inputs and outputs, besides the general ones."""
    used = {spec.type for spec in plan.inputs} | {spec.whole for spec in plan.outputs}
    rules = [prompt("shared.files")] if used & {"File", "Dir"} else []
    return "\n".join([*rules, how_to_draw(plan)] if "Figure" in used else rules)


# The interface of a solution

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


def given_signature(inputs: Iterable[InputSpec]) -> str:
    """The `def` line as far as the request gives it, without what it returns.

    The inputs of a refined version have the order of its calls, in which one with a default may come first.
    """
    parameters = ", ".join(
        f"{spec.name}: {annotated(spec)}" + ("" if spec.required else f" = {spec.default!r}")
        for spec in sorted(inputs, key=lambda spec: not spec.required)
    )
    return f"def {FUNCTION}({parameters}): ..."


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
    required = names[: len(arguments.args) - with_default] + [
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    extra = [name for name in required if name not in {spec.name for spec in plan.inputs}]
    if extra:
        return f"`{FUNCTION}` demands the parameter {', '.join(extra)}, which nobody passes"
    return entry_problem(module)


# The shared beginning


def question(request: Request, data_context: str, *parts: str) -> tuple[Mapping[str, Any], ...]:
    """A question about a request."""
    shared = request_text(request, data_context)
    content = "\n\n".join((shared, *filter(None, parts)))
    system = prompt("shared.system", data=prompt("shared.data"))
    return ({"role": "system", "content": system}, {"role": "user", "content": content, SHARED: len(shared)})


def rules_text(rules: Iterable[HouseRule], about: str) -> str:
    """House rules as the model sees them, below a text about them."""
    return block("house_rules", "\n\n".join((about, *(f"{rule.title or 'Always'}:\n{rule.text}" for rule in rules))))


def request_text(request: Request, data_context: str) -> str:
    """The request, its wishes and constraints, and the data, as the model sees them."""
    parts = [block("request", request.prompt.strip())]
    if request.wishes:
        parts.append(block("wishes", f"{prompt('shared.wishes')}\n{_bullets(request.wishes)}"))
    if request.answers:
        parts.append(block("answers", f"{prompt('shared.answers')}\n{_bullets(request.answers)}"))
    if request.constraints:
        parts.append(block("constraints", _bullets(request.constraints)))
    if request.rules:
        parts.append(rules_text(request.rules, prompt("shared.house rules")))
    if request.checks:
        parts.append(block("checks", f"{prompt('shared.checks')}\n{_bullets(request.checks)}"))
    if request.split:
        parts.append(block("split", _split_text(request.split)))
    if request.schema:
        parts.append(block("schema", request.schema.strip()))
    if request.contracts:
        parts.append(block("contracts", contracts_text(request.contracts)))
    if data_context:
        parts.append(data_context)  # has its own <data> blocks
    return "\n\n".join(parts)


def _split_text(text: str) -> str:
    """The demand that a function may be called for pieces, as the model sees it."""
    kind, keys = demand(text)
    pieces = "subsets of the rows of its largest table"
    if kind == "groups":
        pieces += f" that contain all rows with the same {' and '.join(map(repr, keys))}"
    if kind == "merge":
        pieces += ", and then once on the concatenation of these results"
    same = "The last result" if kind == "merge" else "The concatenation of the results"
    return prompt("shared.split", pieces=pieces, same=same)


def contracts_text(contracts: Mapping[str, Contract]) -> str:
    """The user's schemas, as the model sees them."""
    tables = (f"{name}, which must satisfy {contract.title}:\n{contract.text}" for name, contract in contracts.items())
    return "\n\n".join((prompt("shared.contracts"), *tables))


def plan_text(plan: CodePlan) -> str:
    """The plan as text: the interface and the assumptions."""
    lines = [f"    {signature(plan)}", "", plan.description.strip()]
    if any(spec.meaning.strip() for spec in plan.inputs):
        lines += [
            "",
            "Inputs:",
            *(f"- {spec.name} ({spec.written_type}){_meaning(spec.meaning)}" for spec in plan.inputs),
        ]
    lines += ["", "Outputs:", *(_output_line(spec) for spec in plan.outputs)]
    if plan.assumptions:
        lines += [
            "",
            prompt("shared.assumptions"),
            _bullets(plan.assumptions),
        ]
    return block("interface", "\n".join(lines))


def _output_line(spec: OutputSpec) -> str:
    lines = [f"- {spec.name} ({spec.written_type}){_meaning(spec.meaning)}"]
    lines += [f"    - column {column.name!r}: {column.dtype}{_meaning(column.meaning)}" for column in spec.columns]
    return "\n".join(lines)


def _meaning(text: str) -> str:
    return f": {text.strip()}" if text.strip() else ""


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line.strip()}" for line in lines)


def block(tag: str, text: str) -> str:
    """A part of a question in a tag, so that instructions can refer to it by name."""
    return f"<{tag}>\n{text}\n</{tag}>"


def extended(messages: Sequence[Mapping[str, Any]], text: str) -> tuple[Mapping[str, Any], ...]:
    """A question with more text at its end. Its beginning stays the same as in other questions. "" adds nothing."""
    if not text:
        return tuple(messages)
    *before, last = messages
    return (*before, {**last, "content": f"{last['content']}\n\n{text}"})


# The brief


@dataclass(frozen=True)
class Brief:
    """The request with its plan: what every stage after the plan gets.

    Args:
        request: the request, with the user's answers to the questions of the plan.
        context: the text about the data and the environment.
    """

    request: Request
    plan: CodePlan
    context: str

    def question(self, *parts: str) -> Messages:
        """The messages of a question: the shared beginning, the plan, then these parts. Empty parts are left out."""
        return question(self.request, self.context, plan_text(self.plan), *parts)


# The version that a refinement starts from


def plan_addition(earlier: Earlier) -> str:
    """The part of the first question about the function that is refined."""
    evidence = evidence_text(earlier.evidence)
    return prompt("first_answer.refinement", plan=plan_text(earlier.plan), evidence=evidence, code=earlier.code.strip())


def evidence_text(evidence: Evidence) -> str:
    """The evidence of a success, for the model: the sentences that tests check, and the checks that passed."""
    tested = [f"- {test.sentence or test.id} ({test.outcome})" for test in evidence.tests]
    checked = [f"- {check.name} ({'holds' if check.passed else 'does not hold'})" for check in evidence.checks]
    if not tested and not checked:
        return prompt("first_answer.no evidence")
    return "\n".join([prompt("first_answer.evidence"), *tested, *checked])
