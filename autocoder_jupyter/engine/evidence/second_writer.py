"""The second solution: written only from the request and the data, and matched with the outputs of the function."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from pydantic import BaseModel, Field

from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.plan import meant_type
from autocoder_jupyter.engine.prompt import (
    FUNCTION,
    Brief,
    block,
    entry_problem,
    given_signature,
    question,
    without_entry,
)
from autocoder_jupyter.equality.leniency import INDEPENDENT
from autocoder_jupyter.equality.tables import flat, matched_columns
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import InputSpec, OutputSpec
from autocoder_jupyter.untrusted.parsing import complaint, parse

MOST_OUTPUTS = 100


@dataclass(frozen=True)
class SecondSolution:
    """The module, its outputs, how it reads the request, and what it says could be misunderstood."""

    code: str
    outputs: tuple[OutputSpec, ...]
    readings: tuple[str, ...]
    misunderstandings: tuple[str, ...] = ()


def second_messages(request: Request, inputs: Sequence[InputSpec], data_context: str) -> Messages:
    """The question. It has the declared interface, but nothing from the plan: it is asked at the same time."""
    declared = ", ".join(f'"{spec.name}": "{spec.written_type}"' for spec in request.outputs)
    outputs = f"OUTPUTS = {{{declared}}}" if declared else "OUTPUTS: none are declared, choose them"
    if declared and request.earlier is not None:
        outputs = f"OUTPUTS = {{{declared}, ...}}: these, and after them those that only the request adds, if any"
    interface = f"{outputs}\n\n{given_signature(inputs)}"
    return question(request, data_context, block("interface", interface), prompt("second_opinion.solve"))


async def write_second(
    conversation: Conversation, request: Request, inputs: Sequence[InputSpec], data_context: str
) -> SecondSolution:
    """Ask for the second solution, once. An unusable answer is not asked again."""
    code = without_entry(
        await conversation.code("second", second_messages(request, inputs, data_context), must_define=FUNCTION)
    )
    return read_second(code, request.outputs, may_add=request.earlier is not None)


def read_second(code: str, declared: Sequence[OutputSpec], *, may_add: bool = False) -> SecondSolution:
    """Read a module's docstring and its `OUTPUTS`."""
    try:
        module = parse(code)
    except SyntaxError as error:
        raise UnusableAnswer(f"The module does not parse: {complaint(error)}.") from None
    if problem := entry_problem(module):
        raise UnusableAnswer(f"The module cannot be used: {problem}.")
    outputs = tuple(declared)
    if may_add or not declared:
        exact = {spec.name: spec for spec in declared}  # also the types of elements
        outputs = tuple(exact.get(spec.name, spec) for spec in _outputs(module)) or outputs
    if not outputs:
        raise UnusableAnswer("The module does not say what it returns.")
    misunderstandings, readings = _notes(ast.get_docstring(module) or "")
    return SecondSolution(code, outputs, readings, misunderstandings)


def _notes(docstring: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What could be misunderstood, and how the request is read: the points below a heading that says so, and others."""
    found: tuple[list[str], list[str]] = [], []
    is_reading = True
    for line in map(str.strip, docstring.splitlines()):
        if line.startswith("- "):
            found[is_reading].append(line[2:].strip())
        elif line.endswith(":"):
            is_reading = "misunderst" not in line.casefold()
    return tuple(found[0]), tuple(found[1])


def _outputs(module: ast.Module) -> tuple[OutputSpec, ...]:
    """The outputs that `OUTPUTS` declares."""
    for node in module.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "OUTPUTS" for t in node.targets):
            try:
                if not isinstance(node.value, ast.Dict) or len(node.value.keys) > MOST_OUTPUTS:
                    return ()
                named = ast.literal_eval(node.value)
                return tuple(OutputSpec(name=name, type=meant_type(kind).name) for name, kind in named.items())
            except (ValueError, TypeError, AttributeError, SyntaxError, MemoryError, RecursionError):
                return ()
    return ()


# Matching outputs and columns
#
# Where neither names nor values show which columns of two results belong together, a model is asked. Only names that a
# model wrote are sent: those of the plan, and texts in the code of the second solution. Other names may be values of
# the data.

MOST_COLUMNS = 30
"""The maximum number of columns of each side that are asked about."""

Unmatched = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""Columns of the function and of the second solution without a counterpart, by output."""

ColumnNames = Mapping[str, Mapping[str, str]]
"""By output: columns of the second solution with the names of their counterparts."""


class _Pair(BaseModel):
    table: str
    first: str
    second: str


class _Pairs(BaseModel):
    """Which columns belong together."""

    pairs: list[_Pair] = Field(default_factory=list)


def matched_outputs(first: Sequence[OutputSpec], second: Sequence[OutputSpec]) -> dict[str, str]:
    """The outputs of the plan with their counterparts in the second solution: matched by name, then by type and order.

    Declared outputs have the same names. Other outputs of one type are matched in order, if both sides have the same
    number of them.
    """
    names = {spec.name for spec in second}
    pairs = {spec.name: spec.name for spec in first if spec.name in names}
    left = [spec for spec in first if spec.name not in pairs]
    right = [spec for spec in second if spec.name not in pairs]
    for kind in dict.fromkeys(spec.type for spec in left):
        ours = [spec.name for spec in left if spec.type == kind]
        theirs = [spec.name for spec in right if spec.type == kind]
        if len(ours) == len(theirs):
            pairs.update(zip(ours, theirs, strict=True))
    return {spec.name: pairs[spec.name] for spec in first if spec.name in pairs}


def unmatched(ours: Mapping[str, object], theirs: Mapping[str, object], pairs: Sequence[tuple[str, str]]) -> Unmatched:
    """The columns without a counterpart, of the outputs in which both sides have one."""
    found = {}
    for one, other in pairs:
        if isinstance(ours[one], pd.DataFrame) and isinstance(theirs[other], pd.DataFrame):
            left, right = flat(ours[one], one), flat(theirs[other], one)
            matched = matched_columns(left, right, INDEPENDENT)
            alone = [name for name in left.columns if name not in matched]
            others = [name for name in right.columns if name not in matched.values()]
            if alone and others:
                found[one] = alone, others
    return found


def matched(
    ours: Mapping[str, object], theirs: Mapping[str, object], pairs: Sequence[tuple[str, str]], names: ColumnNames
) -> ColumnNames:
    """The columns that belong together, of the outputs that are tables on both sides."""
    found = {}
    for one, other in pairs:
        if isinstance(ours[one], pd.DataFrame) and isinstance(theirs[other], pd.DataFrame):
            known = names.get(one, {})
            right = flat(theirs[other], one)
            renamed = right.rename(columns=dict(known))
            counterparts = matched_columns(flat(ours[one], one), renamed, INDEPENDENT)
            own = dict(zip(renamed.columns, right.columns, strict=True))
            found[one] = {own[name]: counterpart for counterpart, name in counterparts.items()}
    return found


def askable(alone: Unmatched, brief: Brief, code: str) -> Unmatched:
    """The part whose names may be sent."""
    declared = {spec.name: {column.name for column in spec.columns} for spec in brief.plan.outputs}
    texts = {node.value for node in ast.walk(parse(code)) if isinstance(node, ast.Constant)}
    found = {}
    for output, (ours, theirs) in alone.items():
        left = [name for name in ours if name in declared.get(output, ())][:MOST_COLUMNS]
        right = [name for name in theirs if name in texts][:MOST_COLUMNS]
        if left and right:
            found[output] = left, right
    return found


def matching_messages(brief: Brief, alone: Unmatched) -> Messages:
    """The question: names only."""
    first, second = (
        "\n".join(f"- {output}: {', '.join(names[side])}" for output, names in alone.items()) for side in (0, 1)
    )
    return brief.question(block("first", first), block("second", second), prompt("second_opinion.match columns"))


async def ask_names(conversation: Conversation, brief: Brief, alone: Unmatched) -> ColumnNames:
    """Ask which columns belong together. Names that were not asked about, or come twice, are left out."""
    answer = await conversation.structured("second", matching_messages(brief, alone), _Pairs)
    found: dict[str, dict[str, str]] = {}
    for pair in answer.pairs:
        ours, theirs = alone.get(pair.table, ((), ()))
        names = found.setdefault(pair.table, {})
        is_new = pair.second not in names and pair.first not in names.values()
        if pair.first in ours and pair.second in theirs and is_new:
            names[pair.second] = pair.first
    return {output: names for output, names in found.items() if names}
