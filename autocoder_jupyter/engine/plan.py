"""The plan: the interface is fixed and the assumptions are named, before code and tests are written side by side."""

from __future__ import annotations

import keyword
from typing import Any

from pydantic import BaseModel, Field

from autocoder_jupyter.engine.brief import DATA_RULE, request_text
from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan, ColumnSpec, InputSpec, OutputSpec, TypeName, type_name

_SYSTEM = f"""\
You are a careful data engineer. You plan one Python function, `run`, that answers a data scientist's request.
You write no code. Another engineer writes the function from your plan, and a third one, who never sees that code,
writes its tests from your plan. So the plan must leave nothing to guess that both need to know.

{DATA_RULE}

Decide:
- the outputs: for each its name, type and exact meaning (unit, rounding, order, what is counted); for a DataFrame its
  columns in order, each with its dtype as pandas writes it (int64, float64, str, bool, datetime64[us], category) and
  its meaning, and how rows are sorted. A frame must come back with exactly these columns and kinds of dtype; give no
  columns where they depend on the data. Keep declared outputs as they are. Where none are declared, propose the
  fewest that answer the request.
- parameters: optional scalars only, for a number or word in the request that a person will want to vary, each with
  the value of the request as its default. Usually none. Inputs that are declared or shown as data are given already.
- the assumptions: how you read what the request leaves open and a reader could take otherwise (which date counts,
  what becomes of nulls, duplicates, ties, unmatched keys and empty input, which standard deviation, inclusive or
  exclusive bounds, time zones, rounding). Decide each; ask nothing. Short sentences, the important ones first.
- the approach in a few sentences, with the pandas operations that matter.
- the packages beyond the standard library, as named on the Python package index; pandas and numpy need no mention.
  Take well-known ones, and only when they earn it. System packages (apt) almost never.

Types: str, int, float, bool, datetime, date, timedelta, DataFrame, Series, dict, list (JSON-like), File and Dir (the
function sees and returns pathlib.Path), Figure (a matplotlib Figure)."""


class _Parameter(BaseModel):
    name: str
    type: str
    default: Any = None
    meaning: str = ""


class _Column(BaseModel):
    name: str
    dtype: str
    meaning: str = ""


class _Output(BaseModel):
    name: str
    type: str
    meaning: str = ""
    columns: list[_Column] = Field(default_factory=list)


class PlanAnswer(BaseModel):
    """The plan of one function."""

    description: str
    approach: str
    outputs: list[_Output]
    parameters: list[_Parameter] = Field(default_factory=list)
    assumptions: list[str] = Field(default_factory=list)
    packages: list[str] = Field(default_factory=list)
    system_packages: list[str] = Field(default_factory=list)


def plan_messages(request: Request, inputs: tuple[InputSpec, ...], data_context: str) -> Messages:
    """The question for a plan: also what a preview shows, since every later question begins with the same text."""
    given = "\n".join(
        f"- {spec.name}: {spec.type}" + ("" if spec.required else f" = {spec.default!r}") for spec in inputs
    )
    declared = "\n".join(f"- {spec.name}: {spec.type}" for spec in request.outputs)
    return (
        {"role": "system", "content": _SYSTEM},
        {
            "role": "user",
            "content": f"{request_text(request, data_context)}\n\nInputs that are given:\n{given or '- none'}\n\n"
            f"Outputs that are declared:\n{declared or '- none: propose them'}\n\nPlan the function.",
        },
    )


async def make_plan(talk: Conversation, request: Request, inputs: tuple[InputSpec, ...], data_context: str) -> CodePlan:
    """Ask for a plan, and bring it in line with what the person declared."""
    answer = await talk.structured("plan", plan_messages(request, inputs, data_context), PlanAnswer)
    return merge(answer, inputs, request.outputs)


def merge(answer: PlanAnswer, inputs: tuple[InputSpec, ...], outputs: tuple[OutputSpec, ...]) -> CodePlan:
    """The plan, with what the person declared taking precedence over what the model answered.

    Raises:
        UnusableAnswer: nothing was declared and the model proposed no usable output.
    """
    proposed = {output.name: output for output in answer.outputs}
    if outputs:
        merged = tuple(_declared(spec, proposed.get(spec.name)) for spec in outputs)
    else:
        merged = tuple(output for item in proposed.values() if (output := _proposed(item)) is not None)
    if not merged:
        raise UnusableAnswer(
            "The plan names no output that the function could return.",
            hint="Declare one, for instance -o 'result: DataFrame'.",
        )
    taken = {spec.name for spec in inputs}
    candidates = {item.name: item for item in answer.parameters}.values()
    parameters = tuple(spec for item in candidates if (spec := _parameter(item, taken)) is not None)
    required = tuple(spec for spec in inputs if spec.required)
    optional = tuple(spec for spec in inputs if not spec.required)
    return CodePlan(
        description=answer.description.strip(),
        approach=answer.approach.strip(),
        inputs=(*required, *optional, *parameters),
        outputs=merged,
        assumptions=tuple(line.strip() for line in answer.assumptions if line.strip()),
        packages=tuple(dict.fromkeys(name.strip() for name in answer.packages if name.strip())),
        system_packages=tuple(dict.fromkeys(name.strip() for name in answer.system_packages if name.strip())),
    )


def _columns(output: _Output) -> tuple[ColumnSpec, ...]:
    return tuple(ColumnSpec(name=c.name, dtype=c.dtype, meaning=c.meaning) for c in output.columns)


def _declared(spec: OutputSpec, proposed: _Output | None) -> OutputSpec:
    if proposed is None:
        return spec
    columns = spec.columns or (_columns(proposed) if spec.type == "DataFrame" else ())
    return spec.model_copy(update={"meaning": spec.meaning or proposed.meaning, "columns": columns})


def _proposed(output: _Output) -> OutputSpec | None:
    kind = _known_type(output.type)
    if kind is None or not output.name.isidentifier():
        return None
    columns = _columns(output) if kind == "DataFrame" else ()
    return OutputSpec(name=output.name, type=kind, meaning=output.meaning, columns=columns)


def _parameter(item: _Parameter, taken: set[str]) -> InputSpec | None:
    """A proposed parameter as an optional input; None when it is not a plain scalar with a fitting default."""
    kind = _known_type(item.type)
    scalars: dict[TypeName, type | tuple[type, ...]] = {"str": str, "int": int, "float": (int, float), "bool": bool}
    if kind not in scalars or item.name in taken or not item.name.isidentifier() or keyword.iskeyword(item.name):
        return None
    if not isinstance(item.default, scalars[kind]) or (kind != "bool" and isinstance(item.default, bool)):
        return None
    default: object = item.default
    if kind == "float" and isinstance(item.default, int):
        default = float(item.default)
    return InputSpec(name=item.name, type=kind, required=False, default=default, meaning=item.meaning)


def _known_type(text: str) -> TypeName | None:
    """The type that the model means: `pd.DataFrame`, `matplotlib.figure.Figure` and `pathlib.Path` are understood."""
    try:
        return type_name(text.strip().rsplit(".", 1)[-1])
    except ValueError:
        return None
