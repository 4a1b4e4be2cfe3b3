"""`call("growth", frame)`: lets the program call generated and tested functions, each in its own sandbox."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from autocoder_jupyter.codemode.signatures import declaration
from autocoder_jupyter.codemode.tools import CALL, Tool, toolbox
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.settings.parameters import did_you_mean

ABOUT = """\
# Generated functions
What a Frame cannot do, these may: tested functions, which run in a sandbox of their own. They take and give Frames."""


class Functions:
    """Generated functions by name.

    Args:
        functions: results of `%%autocode` or `generate()`, or of their `as_task()`.

    Raises:
        InvalidRequest: an invalid name, or a value that is not such a function.
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
        return "\n".join([ABOUT, *map(_line, self._tools.values())])

    async def _call(self, function: str, /, *arguments: Any, **named: Any) -> Any:
        tool = self._tools.get(function)
        if tool is None:
            known = ", ".join(self._tools)
            raise LookupError(
                f"there is no function {function!r}. {did_you_mean(str(function), self._tools)} It has: {known}"
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
