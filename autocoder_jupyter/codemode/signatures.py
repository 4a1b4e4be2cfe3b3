"""Signatures of tools: the same text for the model and for the type checker of the sandbox.

Types that the sandbox does not have are written as `Any`; a DataFrame or Series as `Frame`.
"""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import inspect
import types
import typing
from collections.abc import Iterable
from typing import Any

from autocoder_jupyter.codemode import programs
from autocoder_jupyter.codemode.tools import Tool

_NAMED: dict[Any, str] = {
    Any: "Any",
    None: "None",
    type(None): "None",
    inspect.Signature.empty: "Any",
    datetime.date: "datetime.date",
    datetime.datetime: "datetime.datetime",
    datetime.timedelta: "datetime.timedelta",
    datetime.time: "datetime.time",
    decimal.Decimal: "decimal.Decimal",
} | {kind: kind.__name__ for kind in (str, int, float, bool, bytes, list, dict, tuple, set, frozenset)}

_GENERIC: dict[Any, str] = {
    collections.abc.Sequence: "Sequence",
    collections.abc.Iterable: "Iterable",
    collections.abc.Mapping: "Mapping",
}


def declaration(tool: Tool) -> str:
    """A `def` line such as `def latest_fx(currency: str, day: datetime.date | None = None) -> float`."""
    hints = _hints(tool)
    parameters = [_parameter(parameter, hints[parameter.name]) for parameter in tool.signature.parameters.values()]
    returned = hints["return"]
    prefix = "async def" if tool.is_awaited else "def"
    return f"{prefix} {tool.name}({', '.join(_with_marks(tool, parameters))}) -> {type_text(returned)}"


def stubs(tools: Iterable[Tool], names: Iterable[str]) -> str:
    """Stubs for the type checker of the sandbox: everything that the program can use.

    Args:
        tools: the tools that it may call.
        names: the names of its frames.
    """
    parts = [programs.text("names.pyi")]
    parts += [f"{name}: Frame" for name in names]
    parts += [f"{declaration(tool)}: ..." for tool in tools]
    return "\n".join(parts)


def type_text(annotation: Any) -> str:
    """A type as code; `Any` for a type that the sandbox does not have."""
    try:
        if annotation in _NAMED:
            return _NAMED[annotation]
    except TypeError:  # an annotation can be any object, also one without a hash
        return "Any"
    if _is_table(annotation):
        return "Frame"
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(type_text, arguments)))
    if origin is typing.Annotated:
        return type_text(arguments[0])
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    name = _NAMED.get(origin) or _GENERIC.get(origin) if origin is not None else None
    if name and arguments:
        return f"{name}[{', '.join('...' if one is ... else type_text(one) for one in arguments)}]"
    return name or "Any"


def _hints(tool: Tool) -> dict[str, Any]:
    """The annotations; those that are texts are resolved if possible."""
    target = inspect.unwrap(getattr(tool.target, "func", tool.target))
    known = getattr(inspect.unwrap(getattr(target, "__func__", target)), "__globals__", {})
    annotations = {name: parameter.annotation for name, parameter in tool.signature.parameters.items()}
    annotations["return"] = tool.signature.return_annotation
    return {name: _resolved(annotation, known) for name, annotation in annotations.items()}


def _resolved(annotation: Any, known: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return typing.get_type_hints(types.SimpleNamespace(__annotations__={"it": annotation}), known)["it"]
    except Exception:  # an annotation can name a missing object, or not be a type
        return Any


def _is_table(annotation: Any) -> bool:
    name, module = getattr(annotation, "__name__", ""), getattr(annotation, "__module__", "") or ""
    return name in ("DataFrame", "Series") and module.split(".")[0] == "pandas"


_STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def _parameter(parameter: inspect.Parameter, annotation: Any) -> str:
    text = f"{_STARS.get(parameter.kind, '')}{parameter.name}: {type_text(annotation)}"
    if parameter.default is inspect.Parameter.empty:
        return text
    return f"{text} = {_default(parameter.default)}"


def _default(value: Any) -> str:
    """A plain value as code; `...` for a long value, or one whose `repr` contains an address."""
    plain = value is None or isinstance(value, bool | int | float | str)
    return repr(value) if plain and len(repr(value)) <= 60 else "..."


def _with_marks(tool: Tool, written: list[str]) -> list[str]:
    """The parameters with `*` and `/` where needed."""
    kinds = [parameter.kind for parameter in tool.signature.parameters.values()]
    marked = list(written)
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        marked.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    positional = kinds.count(inspect.Parameter.POSITIONAL_ONLY)
    if positional:
        marked.insert(positional, "/")
    return marked
