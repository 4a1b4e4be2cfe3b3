"""The module `solution` in the process of the tests: its function sends the arguments to the host and gets the values.

The solution is never in the process or the worker of the tests. The host runs each call in another worker, exactly like
a call of the user, so the solution cannot notice that it is tested. Only data is transferred. So a hostile object, such
as one that equals everything, does not arrive, and a solution can patch modules only in its own process.
"""

from __future__ import annotations

import builtins
import contextlib
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import calls, frames
from .codec import TypeMismatch, Unencodable
from .entries import Packed

_PRINTED = 64 * 1024

Ask = Callable[[calls.Pieces], tuple[dict[str, Any], memoryview]]
"""Sends the frame of a call, and returns header and payload of the answer."""


_ENDS_A_LOOP = (StopIteration, StopAsyncIteration)
"""A test that calls the solution in `map` or `filter` would take these for the end of its data, and check nothing."""


class SolutionGone(RuntimeError):
    """The function did not return: it ended its process, or it was stopped."""


class SolutionUnloaded(BaseException):
    """The solution cannot be imported. It is a BaseException, so that no test can catch it by accident."""

    def __init__(self, text: str, missing_module: object) -> None:
        super().__init__(text)
        self.text = text
        self.missing_module = missing_module


class InSolution(Exception):
    """The traceback of an exception of the solution, in the solution's process."""


def module(name: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], ask: Ask) -> types.ModuleType:
    """Create the module `solution` with the function `name`.

    Args:
        name: of the function.
        inputs: its declared inputs.
        outputs: its declared outputs.
        ask: sends a call to the host.
    """
    stand_in = types.ModuleType("solution")
    setattr(stand_in, name, _proxy(name, inputs, outputs, ask))
    stand_in.__dict__["__all__"] = [name]
    return stand_in


def _proxy(name: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], ask: Ask) -> Callable[..., Any]:
    kinds = {spec["name"]: spec["type"] for spec in inputs}
    optional = {spec["name"] for spec in inputs if not spec["required"]}

    def function(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        arguments = _bind(name, list(kinds), optional, args, kwargs)
        reply, payload = ask(_request(name, arguments, kinds))
        sys.stdout.write(str(reply.get("printed", ""))[:_PRINTED])
        _raise_for_failure(name, reply)
        if reply["changed"]:
            raise AssertionError(f"{name}() changed its argument {', '.join(map(repr, reply['changed']))} in place")
        values = calls.decode_all(_checked(reply["outputs"], outputs), payload, Path.cwd() / "outputs", trusted=False)
        results = tuple(values[spec["name"]] for spec in outputs)
        return results if len(results) > 1 else results[0] if results else None

    function.__name__ = function.__qualname__ = name
    return function


def _bind(
    name: str, names: list[str], optional: set[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments by name. Raises the TypeErrors of a function with this signature."""
    if len(args) > len(names):
        raise TypeError(f"{name}() takes {len(names)} positional arguments but {len(args)} were given")
    bound = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key not in names:
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
        if key in bound:
            raise TypeError(f"{name}() got multiple values for argument {key!r}")
        bound[key] = value
    missing = [key for key in names if key not in bound and key not in optional]
    if missing:
        raise TypeError(f"{name}() missing required arguments: {', '.join(map(repr, missing))}")
    return bound


def _request(name: str, arguments: dict[str, Any], kinds: Mapping[str, str]) -> calls.Pieces:
    packed = Packed()
    for key, value in arguments.items():
        try:
            packed.add(key, kinds[key], calls.encoded(value, kinds[key]))
        except (TypeMismatch, Unencodable) as error:
            raise TypeError(f"{name}() argument {key!r}: {error}") from None
    return [frames.pack({"kind": "call", "arguments": packed.entries, "payload": packed.size}), *packed.pieces]


def _raise_for_failure(name: str, reply: Mapping[str, Any]) -> None:
    """Raise an exception if the answer has no values."""
    __tracebackhide__ = True
    kind = reply["kind"]
    if kind == "gone":
        raise SolutionGone(f"{name}() did not return: {reply['message']}")
    if kind != "error":
        return
    error = reply["error"]
    if error == "OutOfMemory":
        raise MemoryError(f"{name}() ran out of memory")
    if error == "WrongType":
        raise TypeError(f"{name}() does not return what it declares: {reply['message']}")
    if not reply.get("loaded"):
        raise SolutionUnloaded(str(reply.get("traceback") or reply.get("message")), reply.get("missing_module"))
    raise _exception_of(reply)


def _checked(entries: Any, outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Check that the entries of a reply are those of the declared outputs, and return them."""
    for entry, spec in zip(entries, outputs, strict=True):
        if entry["name"] != spec["name"] or entry["header"] is None or entry["header"]["type"] != spec["type"]:
            raise TypeError(f"output {spec['name']!r} did not come back as declared")
    return list(entries)


def _exception_of(reply: Mapping[str, Any]) -> Exception:
    """The builtin exception that is nearest to the one of the solution.

    Its cause has the traceback. A note would be wrong, because `pytest.raises(match=...)` also searches in notes.
    """
    error: Exception | None = None
    for name in reply["classes"]:
        kind = getattr(builtins, str(name), None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            with contextlib.suppress(Exception):
                error = kind(*reply["args"])
                break
    if error is None or isinstance(error, _ENDS_A_LOOP):  # or such as SystemExit, which would end the tests
        error = RuntimeError(f"{reply['exception_type']}: {reply['message']}")
    if isinstance(error, ModuleNotFoundError):
        error.name = reply["missing_module"]
    error.__cause__ = InSolution(str(reply["traceback"]))
    return error
