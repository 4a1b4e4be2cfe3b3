"""Reads a model's answer for a plan and merges it with the user's declarations.

No part is dropped silently, except what `holds` has that cannot be tested.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from autocoder_jupyter.engine.type_words import meant_type
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import KINDS, WHOLE
from autocoder_jupyter.models.answers import Unreadable
from autocoder_jupyter.types import CodePlan, ColumnSpec, InputSpec, OutputSpec, TypeName
from autocoder_jupyter.types.interface import ORDERLESS, TWICE, demand_text


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
    holds: list[str] = Field(default_factory=list)


Item = TypeVar("Item", _Output, _Parameter)


def merge(answer: PlanAnswer, inputs: tuple[InputSpec, ...], outputs: tuple[OutputSpec, ...]) -> CodePlan:
    """The plan. The user's declarations take precedence over the model's answer.

    Raises:
        Unreadable: a proposed output or parameter cannot be read, or there is no output.
    """
    problems: list[str] = []
    if outputs:
        proposed = {output.name: output for output in answer.outputs}
        merged = [_declared(spec, proposed.get(spec.name)) for spec in outputs]
    else:
        merged = [spec for item in _once(answer.outputs, problems) if (spec := _output(item, problems)) is not None]
        if not merged and not problems:
            problems.append("It names no output. Give at least one.")
    given = {spec.name for spec in inputs}
    further = [item for item in _once(answer.parameters, problems) if _python_name(item.name) not in given]
    parameters = [parameter for item in further if (parameter := _parameter(item, problems)) is not None]
    if problems:
        raise Unreadable("\n".join(problems))
    required = (spec for spec in inputs if spec.required)
    optional = (spec for spec in inputs if not spec.required)
    return CodePlan(
        description=answer.description.strip(),
        approach=answer.approach.strip(),
        inputs=(*required, *optional, *parameters),
        outputs=tuple(merged),
        assumptions=_lines(answer.assumptions),
        packages=tuple(dict.fromkeys(_lines(answer.packages))),
        system_packages=tuple(dict.fromkeys(_lines(answer.system_packages))),
        holds=tuple(dict.fromkeys(filter(None, map(_property, answer.holds)))),
    )


def _property(text: str) -> str:
    """A property that the answer must have; "" if it is none. The function is then only not tested for it."""
    try:
        return text.strip() if text.strip() in (ORDERLESS, TWICE) else demand_text(text)
    except InvalidRequest:
        return ""


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts if text.strip())


def _once(items: Sequence[Item], problems: list[str]) -> list[Item]:
    """The items without duplicates: of equal names the last one. Names that are equal only in Python are a problem."""
    by_name = {item.name: item for item in items}
    names: dict[str, str] = {}
    for name in by_name:
        first = names.setdefault(_python_name(name), name)
        if first != name:
            problems.append(f"{first!r} and {name!r} would be the same name in Python. Give them different names.")
    return list(by_name.values())


def _declared(spec: OutputSpec, proposed: _Output | None) -> OutputSpec:
    if proposed is None:
        return spec
    columns = spec.columns or (_columns(proposed) if spec.type == "DataFrame" else ())
    meaning, elements = spec.meaning or proposed.meaning, spec.elements or _elements(spec.type, proposed.type)
    return spec.model_copy(update={"meaning": meaning, "columns": columns, "elements": elements})


def _elements(declared: TypeName, proposed: str) -> str:
    """The element type of a declared list or dict, if the plan gives one."""
    try:
        meant = meant_type(proposed)
    except ValueError:
        return ""
    return meant.elements if meant.name == declared else ""


def _columns(output: _Output) -> tuple[ColumnSpec, ...]:
    return tuple(ColumnSpec(name=c.name, dtype=c.dtype, meaning=c.meaning) for c in output.columns)


def _output(item: _Output, problems: list[str]) -> OutputSpec | None:
    """A proposed output. If it cannot be read: None, and the reason is added to the problems."""
    try:
        name, meant = _required_name(item.name), meant_type(item.type)
    except ValueError as error:
        problems.append(f"Output {_shown(item.name)}: {error}.")
        return None
    meaning = item.meaning
    if meant.optional:
        empty = KINDS[meant.name].empty
        if not empty:
            problems.append(
                f"Output {_shown(item.name)}: `run` cannot return None for it. Say which {meant.name} stands for none,"
                " or make it a float, str, list or DataFrame."
            )
            return None
        meaning = f"{meaning.strip()} (where there is none: {empty}, never None)".strip()
    columns = _columns(item) if meant.name == "DataFrame" else ()
    return OutputSpec(name=name, type=meant.name, meaning=meaning, columns=columns, elements=meant.elements)


def _parameter(item: _Parameter, problems: list[str]) -> InputSpec | None:
    """A proposed parameter as an optional input. If it cannot be one: None, and the reason is added to the problems."""
    try:
        name, meant = _required_name(item.name), meant_type(item.type)
        if meant.elements in WHOLE:
            raise ValueError(f"a {item.type} can only be an output")
        default = None if meant.optional and item.default is None else _default(item.default, meant.name)
        kind: dict[str, Any] = {"type": meant.name, "elements": meant.elements}
        spec = InputSpec(name=name, **kind, required=False, default=default, meaning=item.meaning)
        if default is not None:
            spec.default_value()
    except (ValueError, TypeError) as error:
        problems.append(f"Parameter {_shown(item.name)}: {str(error).partition(chr(10))[0].rstrip('.')}.")
        return None
    return spec


def _default(value: Any, kind: TypeName) -> Any:
    """The default of a parameter.

    Raises:
        ValueError: it is missing or has another type, or a parameter cannot have this type.
    """
    if not KINDS[kind].json:
        raise ValueError(f"a {kind} can be no parameter. The inputs are given already; parameters are single values")
    if value is None:
        raise ValueError("it has no default. Give the value that the request means")
    if not KINDS[kind].takes_json(value):
        raise ValueError(f"the default {_shown(str(value))} is no {kind}")
    return float(value) if kind == "float" else value


def _python_name(text: str) -> str:
    """`total revenue` as `total_revenue`; "" if nothing is left."""
    name = re.sub(r"\W+", "_", text.strip()).strip("_")
    return f"{name}_" if keyword.iskeyword(name) else name


def _required_name(text: str) -> str:
    name = _python_name(text)
    if not name.isidentifier():
        raise ValueError("it must be a name in Python: letters, digits and _, no digit first")
    return name


def _shown(text: str) -> str:
    return repr(text[:80])
