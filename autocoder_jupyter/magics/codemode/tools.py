"""Find the functions of the notebook that `--tool` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.codemode.reading import ToolOption
from autocoder_jupyter.magics.notebook import is_result
from autocoder_jupyter.magics.suggestions import did_you_mean
from autocoder_jupyter.magics.variables import MOST_OTHERS

Tools = Mapping[str, Callable[..., Any]]
"""The tools, by their name in the code."""


_OF_PYTHON = frozenset({"builtins", "io", "_io", "_pyio"})
"""The modules of built-in functions such as `open`. They are not offered, because no code should get them by a typo."""


def find_tools(options: Sequence[ToolOption], namespace: Mapping[str, Any]) -> Tools:
    """The functions that the options name.

    Raises:
        InvalidRequest: a name does not exist, is not a function, or is a result that cannot be called.
    """
    return {option.alias: _found(option.name, namespace) for option in options}


def tool_names(namespace: Mapping[str, Any]) -> list[str]:
    """The variables of the notebook that can be tools: functions, and results that can be called."""
    names = [name for name, value in namespace.items() if not name.startswith("_") and is_tool(value)]
    return names[:MOST_OTHERS]


def is_tool(value: object) -> bool:
    """Whether a value can be a tool. Not classes, built-in functions, and names that IPython adds."""
    if isinstance(value, type) or not callable(value):
        return False
    home = str(getattr(value, "__module__", ""))
    return is_result(value) or not (home.startswith(("IPython.", "ipykernel.")) or home in _OF_PYTHON)


def _found(name: str, namespace: Mapping[str, Any]) -> Callable[..., Any]:
    first, *attributes = name.split(".")
    if first not in namespace:
        hint = did_you_mean(first, tool_names(namespace))
        raise InvalidRequest(f"--tool {name}: there is no {first!r} in the notebook.", hint=hint)
    value = namespace[first]
    for number, attribute in enumerate(attributes, 1):
        if not hasattr(value, attribute):
            owner = ".".join((first, *attributes[: number - 1]))
            public = [known for known in dir(value) if not known.startswith("_")]
            raise InvalidRequest(f"--tool {name}: {owner} has no {attribute!r}.", hint=did_you_mean(attribute, public))
        value = getattr(value, attribute)
    if isinstance(value, type) or not callable(value):
        kind = "a class" if isinstance(value, type) else f"of the type {type(value).__name__}"
        raise InvalidRequest(f"--tool {name}: it is {kind}, not a function.", hint=_instead(name, value))
    if is_result(value) and value.done and not value.can_be_called:
        raise InvalidRequest(
            f"--tool {name}: {name} cannot be called, because it {_ended(value.state)}.", hint="Run its cell again."
        )
    result: Callable[..., Any] = value
    return result


def _instead(name: str, value: object) -> str:
    if type(value).__name__ in ("DataFrame", "Series"):
        return f"Write @{name} in the request to pass it."
    return "Write a function that wraps it, with a docstring that describes it."


def _ended(state: str) -> str:
    return {"cancelled": "was cancelled", "over_budget": "went over its budget"}.get(state, "failed")
