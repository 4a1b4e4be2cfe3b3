"""The plan: it fixes the interface and names the assumptions, before code and tests are written concurrently."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import KINDS, WHOLE, elements_of
from autocoder_jupyter.models.answers import Unreadable
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import TYPE_NAMES, CodePlan, ColumnSpec, Conclusion, InputSpec, OutputSpec, TypeName
from autocoder_jupyter.types.interface import ORDERLESS, TWICE, demand_text

# Types in a model's answer
#
# Such as `list[str]`, `number`, `Optional[float]`, `np.ndarray`, `a table`.

LONGEST = 200
"""The maximum number of characters of a type."""

_TYPE_OF_WORD: dict[str, TypeName] = {word: name for name, kind in KINDS.items() for word in kind.words.split()}

_WRAPPERS = ("annotated", "final", "required", "nullable")
_NONES = ("none", "null", "nonetype")


@dataclass(frozen=True)
class MeantType:
    """A type, whether it may also be None, and the element type of a list or dict, if given."""

    name: TypeName
    optional: bool = False
    elements: str = ""


def meant_type(words: str) -> MeantType:
    """The type that a text names."""
    text = " ".join(words[: LONGEST + 1].strip().strip("`'\"").split())
    if len(text) > LONGEST:
        raise ValueError(f"the type is longer than {LONGEST} characters")
    found = _union(_split(re.sub(r"(?<=\S) or (?=\S)", " | ", text), "|"))
    if found is None:
        raise ValueError(f"{text!r} is not one of the types {', '.join(TYPE_NAMES)}")
    return found


def names_type(words: str) -> bool:
    """Whether a text names a type."""
    try:
        meant_type(words)
    except ValueError:
        return False
    return True


def _union(texts: Iterable[str]) -> MeantType | None:
    """The type of `A | B`: None makes it optional, int and float make float, equal types make one."""
    given = list(texts)
    present = [text for text in given if text.casefold() not in _NONES]
    found = [_alternative(text) for text in present]
    names = {meant.name for meant in found if meant is not None}
    held = {meant.elements for meant in found if meant is not None}
    if names == {"int", "float"}:
        names = {"float"}
    if None in found or len(names) != 1:
        return None
    optional = len(present) < len(given) or any(meant is not None and meant.optional for meant in found)
    return MeantType(names.pop(), optional, held.pop() if len(held) == 1 else "")


def _alternative(text: str) -> MeantType | None:
    """One type without alternatives; None if it is not known."""
    name, arguments = _name_and_arguments(text)
    word = re.sub(r"[\s_\-]+", "", name.rpartition(".")[2]).casefold()
    if word in ("optional", "union", "literal", *_WRAPPERS) and arguments:
        return _generic(word, arguments)
    found = _TYPE_OF_WORD.get(word)
    if found in ("list", "dict"):
        _require_parts_that_cross(text, arguments)
    return None if found is None else MeantType(found, elements=elements_of(text) if arguments else "")


def _generic(word: str, arguments: str) -> MeantType | None:
    match word:
        case "optional":
            return _union((*_split(arguments, "|"), "None"))
        case "union":
            return _union(_split(arguments, ","))
        case "literal":
            return _type_of_values(arguments)
        case _:
            return _union(_split(next(_split(arguments, ",")), "|"))


def _name_and_arguments(text: str) -> tuple[str, str]:
    """`list[str]` as `list` and `str`; also for `datetime64[ns]`, `array of numbers` and `number (euros)`."""
    for pattern in (r"([^\[]*)\[(.*)\]", r"([^(]*)\((.*)\)", r"(?:an? )?(.+?) (?:of|with) (.+)"):
        match = re.fullmatch(pattern, text)
        if match:
            return match[1].strip(), match[2].strip()
    return re.sub(r"^an? ", "", text), ""


def _split(text: str, sign: str) -> Iterator[str]:
    """The parts of the text between separators that are outside of brackets."""
    depth, start = 0, 0
    for place, character in enumerate(text):
        depth += (character in "[(") - (character in "])")
        if character == sign and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _type_of_values(arguments: str) -> MeantType | None:
    """The type of the values of `Literal["up", "down"]`."""
    return _union([_type_of_value(value) for value in _split(arguments, ",")])


def _type_of_value(text: str) -> str:
    if text[:1] in "'\"":
        return "str"
    if text in ("True", "False"):
        return "bool"
    return "int" if re.fullmatch(r"-?\d+", text) else text


def _require_parts_that_cross(text: str, arguments: str) -> None:
    if elements_of(text) in WHOLE:
        return
    held = {_TYPE_OF_WORD.get(word.casefold()) for word in re.findall(r"\w+", arguments)}
    whole = [name for name, kind in KINDS.items() if kind.stands_alone and name in held]
    if whole:
        raise ValueError(f"{text!r} holds a {whole[0]}, which must be an output of its own")


# The answer, merged with the user's declarations
#
# No part is dropped silently, except properties in `holds`, and a conclusion, that cannot be tested.


class PlannedParameter(BaseModel):
    """A proposed parameter."""

    name: str
    type: str
    default: Any = None
    meaning: str = ""


class PlannedColumn(BaseModel):
    """A column of a proposed table."""

    name: str
    dtype: str
    meaning: str = ""


class PlannedOutput(BaseModel):
    """A proposed output."""

    name: str
    type: str
    meaning: str = ""
    columns: list[PlannedColumn] = Field(default_factory=list)


class PlannedQuestion(BaseModel):
    """A question to the user. `assumed` is the option that the plan takes meanwhile."""

    text: str
    options: list[str] = Field(default_factory=list)
    assumed: str = ""


class PlanAnswer(BaseModel):
    """The plan of one function, as the model gave it."""

    description: str = ""
    approach: str = ""
    outputs: list[PlannedOutput] = Field(default_factory=list)
    parameters: list[PlannedParameter] = Field(default_factory=list)
    assumptions: list[str] = Field(default_factory=list)
    packages: list[str] = Field(default_factory=list)
    system_packages: list[str] = Field(default_factory=list)
    holds: list[str] = Field(default_factory=list)
    conclusion: str = ""
    questions: list[PlannedQuestion] = Field(default_factory=list)


Item = TypeVar("Item", PlannedOutput, PlannedParameter)


def merge(answer: PlanAnswer, inputs: tuple[InputSpec, ...], outputs: tuple[OutputSpec, ...]) -> CodePlan:
    """The plan. The user's declarations take precedence over the model's answer."""
    problems: list[str] = []
    if outputs:
        proposed = {output.name: output for output in answer.outputs}
        merged = [_declared(spec, proposed.get(spec.name)) for spec in outputs]
    else:
        merged = [spec for item in _once(answer.outputs, problems) if (spec := _output(item, problems)) is not None]
        if not merged and not problems:
            problems.append("It names no output. Give at least one.")
    given = {spec.name.casefold() for spec in inputs}
    further = [item for item in answer.parameters if _python_name(item.name).casefold() not in given]
    parameters = [
        parameter for item in _once(further, problems) if (parameter := _parameter(item, problems)) is not None
    ]
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
        conclusion=_conclusion(answer.conclusion, merged),
    )


def _property(text: str) -> str:
    """A property that the function can be tested for; "" if the text names none."""
    try:
        return text.strip() if text.strip() in (ORDERLESS, TWICE) else demand_text(text)
    except InvalidRequest:
        return ""


def _conclusion(text: str, outputs: Sequence[OutputSpec]) -> Conclusion | None:
    """What the function concludes; None if the text names no output of it."""
    try:
        return Conclusion.read(text, outputs) if text else None
    except InvalidRequest:
        return None


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


def _declared(spec: OutputSpec, proposed: PlannedOutput | None) -> OutputSpec:
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


def _columns(output: PlannedOutput) -> tuple[ColumnSpec, ...]:
    return tuple(ColumnSpec(name=c.name, dtype=c.dtype, meaning=c.meaning) for c in output.columns)


def _output(item: PlannedOutput, problems: list[str]) -> OutputSpec | None:
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


def _parameter(item: PlannedParameter, problems: list[str]) -> InputSpec | None:
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
    """The default of a parameter."""
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


def reading(request: Request, inputs: tuple[InputSpec, ...]) -> Callable[[PlanAnswer], CodePlan]:
    """A function that makes a plan from an answer and the user's declarations; it raises `Unreadable` if it cannot.

    In a refinement the plan may have more outputs than were declared, because the new wish may ask for them.
    """

    def read(answer: PlanAnswer) -> CodePlan:
        plan = merge(answer, inputs, request.outputs)
        if request.earlier is None or not request.outputs or not answer.outputs:
            return plan
        declared = {output.name for output in plan.outputs}
        further = tuple(output for output in merge(answer, inputs, ()).outputs if output.name not in declared)
        return plan.model_copy(update={"outputs": (*plan.outputs, *further)})

    return read
