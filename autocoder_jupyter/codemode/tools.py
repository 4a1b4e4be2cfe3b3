"""The user's functions as tools: their marks, their signatures as text, and generated functions behind `call`."""

from __future__ import annotations

import builtins
import collections.abc
import contextvars
import datetime
import decimal
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

from autocoder_jupyter.codemode import programs
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.settings.parameters import suggestion

# Tools

Kind = Literal["function", "async", "generated", "flyte"]
"""A plain function, an async one, a generated function, or a Flyte task."""

T = TypeVar("T", bound=Callable[..., Any])

CALL = "call"
"""The function with which the program calls a generated function."""

OWN_NAMES = frozenset({CALL, "to_thread", "asyncio", "Frame"})
"""Names that code mode defines in the program."""

_MARKS = "__code_mode_marks__"


@dataclass(frozen=True)
class Marks:
    """The marks of a function by `tool`. None means the function's own name or docstring."""

    ask: bool = False
    effects: bool = False
    name: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class Tool:
    """One tool.

    Args:
        signature: the signature of `target`.
        description: its docstring, or the description that was given to `tool`.
        ask: whether the user is asked before each call.
        effects: whether a call changes something outside, so that it is never repeated in a replay.
    """

    name: str
    target: Callable[..., Any]
    signature: inspect.Signature
    description: str
    kind: Kind
    ask: bool = False
    effects: bool = False

    @property
    def is_awaited(self) -> bool:
        """Whether the program awaits it."""
        return self.kind == "async" or (self.kind == "flyte" and inspect.iscoroutinefunction(_function(self.target)))

    async def require_sandbox(self) -> None:
        """Check that a generated function can be called, before a model is paid."""
        if self.kind == "generated" and getattr(
            self.target, "done", True
        ):  # a pending result is awaited when it is called
            called: Any = getattr(self.target, "run", self.target)
            await called.require_sandbox()

    async def answer(self, arguments: inspect.BoundArguments) -> Any:
        """Make a call. A blocking function runs in its own thread; a cancel does not wait for it."""
        args, kwargs = arguments.args, arguments.kwargs
        if self.kind == "generated":
            return await (_aio(self.target) or self.target)(*args, **kwargs)
        if self.kind == "async":
            return await self.target(*args, **kwargs)
        if self.kind == "flyte" and _in_flyte_task():
            return await self.target.aio(*args, **kwargs)  # type: ignore[attr-defined]
        context = contextvars.copy_context()
        answer = await background.call_blocking(lambda: context.run(self.target, *args, **kwargs))
        return await answer if inspect.isawaitable(answer) else answer


@overload
def tool(target: T, /) -> T: ...
@overload
def tool(
    *, ask: bool = False, effects: bool = False, name: str | None = None, description: str | None = None
) -> Callable[[T], T]: ...
def tool(
    target: Any = None,
    /,
    *,
    ask: bool = False,
    effects: bool = False,
    name: str | None = None,
    description: str | None = None,
) -> Any:
    """Mark a function as a tool for code mode. The function itself does not change.

    ::

        @tool(ask=True, effects=True)
        def send_mail(to: str, text: str) -> None: ...

    Args:
        target: the function, if no other argument is given.
        ask: the user is asked before each call.
        effects: a call changes something outside. It is never repeated when a recorded run is replayed.
        name: the name that the program uses; the function's own by default.
        description: sent to the model instead of the docstring.

    Raises:
        InvalidRequest: `target` cannot be marked.
    """
    marks = Marks(
        ask=check.flag("tool: ask", ask),
        effects=check.flag("tool: effects", effects),
        name=None if name is None else check.identifier("tool: name", name),
        description=None if description is None else check.text("tool: description", description),
    )

    def mark(given: Any) -> Any:
        if not callable(given):
            raise InvalidRequest(f"tool marks a function, not a {type(given).__name__}.")
        try:
            setattr(given, _MARKS, marks)
        except (AttributeError, TypeError):
            raise InvalidRequest(
                f"A {type(given).__name__} cannot be marked.", hint="Mark your own function that calls it."
            ) from None
        return given

    return mark if target is None else mark(target)


def toolbox(tools: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]]) -> dict[str, Tool]:
    """The tools by the name that the program uses, in the given order."""
    if isinstance(tools, Mapping):
        pairs: list[tuple[Any, Any]] = list(tools.items())
    elif not isinstance(tools, Iterable):
        raise InvalidRequest("tools must be a list of functions, or a dict of functions by name.")
    else:
        pairs = [(None, target) for target in tools]
    box: dict[str, Tool] = {}
    for given, target in pairs:
        made = _tool(given, target)
        if made.name in box:
            raise InvalidRequest(
                f"Two tools have the name {made.name!r}.",
                hint='Give them names: tools={"name": function, "other_name": function}.',
            )
        box[made.name] = made
    return box


def require_free_name(what: str, name: Any) -> str:
    """Check a name that the program will use."""
    check.identifier(what, name)
    if name.startswith("_"):
        raise InvalidRequest(f"{what}: {name!r} begins with an underscore.", hint=f"Call it {name.strip('_')!r}.")
    if hasattr(builtins, name) or name in OWN_NAMES:
        raise InvalidRequest(
            f"{what}: {name!r} is already a name of {'Python' if hasattr(builtins, name) else 'code mode'}.",
            why="Code that uses the built-in would call yours.",
            hint=f'Give it another name: {{"{name}_tool": …}}.',
        )
    return str(name)


def _tool(given: Any, target: Any) -> Tool:
    if not callable(target) or isinstance(target, type):
        shown = f"{given}: " if given is not None else ""
        raise InvalidRequest(
            f"tools: {shown}{type(target).__name__} {target!r:.80} is not a function.",
            hint="Give functions, results of as_task(), results of %%autocode or Flyte tasks.",
        )
    marks: Marks = getattr(target, _MARKS, None) or Marks()
    kind, described = _kind(target)
    name = given if given is not None else marks.name or getattr(described, "__name__", None) or _own_name(target)
    require_free_name("tools", name)
    try:
        signature = inspect.signature(described)
    except (TypeError, ValueError):
        raise InvalidRequest(
            f"tools: the signature of {name} cannot be read.",
            why="The model needs the signature to call it.",
            hint="Give your own function that calls it.",
        ) from None
    description = marks.description or _documentation(described, kind)
    return Tool(name, target, signature, description.strip(), kind, marks.ask, marks.effects)


def _documentation(described: Any, kind: Kind) -> str:
    """The docstring; for a generated function without the paragraphs for a user in a notebook."""
    text = inspect.getdoc(described) or ""
    if kind != "generated":
        return text
    paragraphs = text.split("\n\n")
    return "\n\n".join(one for one in paragraphs if not one.startswith(("Options of a call", "What else there is")))


def _kind(target: Any) -> tuple[Kind, Any]:
    """How it is called, and the object that has its signature and docstring."""
    if type(target).__module__.split(".")[0] == "flyte" and callable(getattr(target, "func", None)):
        return "flyte", target.func
    if hasattr(target, "interface") and _aio(target) is not None:
        return "generated", target
    plain = _function(target)
    if inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(getattr(plain, "__call__", None)):  # noqa: B004
        return "async", target
    return "function", target


def _aio(target: Any) -> Any:
    """The async function of a task or a result; None for anything else."""
    return getattr(target, "aio", None) or getattr(getattr(target, "run", None), "aio", None)


def _function(target: Any) -> Any:
    """The function of a partial or a Flyte task; else the object itself."""
    return getattr(target, "func", target)


def _in_flyte_task() -> bool:
    """Whether this runs inside a Flyte task. Then the tasks that it calls run as Flyte tasks, too."""
    flyte = sys.modules.get("flyte")
    return flyte is not None and bool(getattr(flyte, "ctx", lambda: None)())


def _own_name(target: Any) -> Any:
    return getattr(target, "name", None) or getattr(getattr(target, "func", None), "__name__", None)


# Signatures
#
# The model and the type checker of the sandbox get the same text. Types that the sandbox does not have are written as
# `Any`; a DataFrame or Series as `Frame`.

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
    """Stubs for the type checker of the sandbox: everything that the program can use."""
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


# Generated functions
#
# The program calls them with `call("growth", frame)`; each runs in its own sandbox.


class Functions:
    """Generated functions by name.

    Args:
        functions: results of `%%autocode` or `generate()`, or of their `as_task()`.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]] | None) -> None:
        if functions is not None and not isinstance(functions, Mapping):
            raise InvalidRequest("functions must be a dict of generated functions by name.")
        self._tools = toolbox(functions or {})
        for name, tool in self._tools.items():
            if tool.kind != "generated":
                raise InvalidRequest(
                    f"functions: {name} is not a generated function.",
                    why="call(…) runs only generated and tested functions, each in its own sandbox.",
                    hint="Pass your own functions as tools.",
                )

    def tools(self) -> dict[str, Tool]:
        """`call` as a tool; empty if there are no functions."""
        if not self._tools:
            return {}
        signature = inspect.signature(self._call)
        return {CALL: Tool(CALL, self._call, signature, "Run a generated function.", "generated")}

    @property
    def generated(self) -> tuple[Tool, ...]:
        """The functions themselves."""
        return tuple(self._tools.values())

    def about(self) -> str:
        """The text about the functions for the model; "" if there are none."""
        if not self._tools:
            return ""
        return "\n".join([prompt("code_mode.functions"), *map(_line, self._tools.values())])

    async def _call(self, function: str, /, *arguments: Any, **named: Any) -> Any:
        tool = self._tools.get(function)
        if tool is None:
            known = ", ".join(self._tools)
            raise LookupError(
                f"there is no function {function!r}. {suggestion(str(function), self._tools)} It has: {known}"
            )
        try:
            given = tool.signature.bind(*arguments, **named)
        except TypeError as error:
            raise TypeError(f"{function}: {error}") from None
        return await tool.answer(given)


def _line(tool: Tool) -> str:
    """`- call("growth", sales: Frame) -> Frame: what it does`."""
    parameters = declaration(tool).removeprefix(f"def {tool.name}(")
    words = tool.description.partition("\n\n")[0].replace("\n", " ")
    return f'- call("{tool.name}", {parameters}: {words}'
