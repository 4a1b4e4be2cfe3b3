"""The solution in a process of its own, for tests: what it patches, it patches for itself only.

One end serves the function over a socket; the other end, in the process of the tests, is a module `solution` whose
function sends its arguments and gets values back. Only data crosses, so an object that claims to equal everything does
not arrive, and the tests' interpreter runs nothing of the solution's.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import json
import os
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from . import calls, failures, frames
from .codec import TypeMismatch, Unencodable, encode
from .outputs import OutputMismatch, by_name

_PRINTED = 64 * 1024


class SolutionGone(RuntimeError):
    """The process of the solution has ended."""


class InSolution(Exception):
    """The traceback of what the solution raised, in its own process."""


def serve(fd: int, header: Mapping[str, Any]) -> NoReturn:
    """Load the solution, say how that went, and answer calls until the other end closes."""
    try:
        os.environ.update(header["env"])
        calls.seed(0)
        function = calls.load(header["code"], header["function"])
    except BaseException as error:
        _send(fd, {"kind": "unloaded", **_described(error)})
        os._exit(0)
    _send(fd, {"kind": "loaded"})
    while True:
        raw = frames.read_header(fd)
        if raw is None:
            os._exit(0)
        request = json.loads(raw)
        payload = frames.read_payload(fd, request["payload"])
        reply, pieces = _call(function, request, payload, header)
        size = sum(len(memoryview(piece).cast("B")) for piece in pieces)
        frames.write_all(fd, [frames.pack({**reply, "payload": size}), *pieces])


def module(fd: int, header: Mapping[str, Any]) -> types.ModuleType:
    """The module `solution` as the tests see it: the function and nothing else."""
    stand_in = types.ModuleType("solution")
    name = header["function"]
    setattr(stand_in, name, _proxy(fd, name, header["inputs"], header["outputs"]))
    stand_in.__dict__["__all__"] = [name]
    return stand_in


def await_loaded(fd: int) -> dict[str, Any] | None:
    """What kept the solution from loading, or None."""
    raw = frames.read_header(fd)
    if raw is None:
        return {"message": "the solution ended the interpreter while it was imported", "traceback": ""}
    reply: dict[str, Any] = json.loads(raw)
    return None if reply["kind"] == "loaded" else reply


def _call(
    function: Callable[..., Any], request: Mapping[str, Any], payload: memoryview, header: Mapping[str, Any]
) -> tuple[dict[str, Any], calls.Pieces]:
    printed = io.StringIO()
    reply: dict[str, Any]
    pieces: calls.Pieces = []
    try:
        arguments = calls.decode_all(request["arguments"], payload, Path.cwd() / "inputs")
        kinds = {entry["name"]: entry["type"] for entry in request["arguments"]}
        before = calls.digests(arguments, kinds)
        calls.seed(0)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            value = function(**arguments, **calls.defaults(function, arguments, header["inputs"]))
        entries, pieces = calls.encode_all(by_name(value, header["outputs"]), header["outputs"])
        reply = {"kind": "result", "outputs": entries, "mutated": calls.changed(before, arguments, kinds)}
    except OutputMismatch as error:
        reply = {"kind": "mismatch", "message": f"{header['function']}() does not return what it declares: {error}"}
    except BaseException as error:
        reply = {"kind": "raised", **_described(error)}
    return {**reply, "printed": printed.getvalue()[:_PRINTED]}, pieces


def _described(error: BaseException) -> dict[str, Any]:
    arguments = [value for value in error.args if isinstance(value, str | int | float | bool)]
    return {
        **failures.describe(error),
        "classes": [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"],
        "args": arguments if len(arguments) == len(error.args) else [failures.message_of(error)],
        "payload": 0,
    }


def _proxy(fd: int, name: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]]) -> Callable[..., Any]:
    kinds = {spec["name"]: spec["type"] for spec in inputs}
    optional = {spec["name"] for spec in inputs if not spec["required"]}

    def function(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        arguments = _bind(name, list(kinds), optional, args, kwargs)
        entries, pieces = _encode_arguments(name, arguments, kinds)
        size = sum(len(memoryview(piece).cast("B")) for piece in pieces)
        request = {"kind": "call", "arguments": entries, "payload": size}
        try:
            frames.write_all(fd, [frames.pack(request), *pieces])
            raw = frames.read_header(fd)
            reply = None if raw is None else json.loads(raw)
            payload = None if reply is None else frames.read_payload(fd, int(reply["payload"]))
        except (OSError, EOFError, ValueError):
            reply = payload = None
        if reply is None or payload is None:
            raise SolutionGone(f"{name}() ended the interpreter instead of returning")
        sys.stdout.write(str(reply.get("printed", ""))[:_PRINTED])
        if reply["kind"] == "mismatch":
            raise TypeError(reply["message"])
        if reply["kind"] != "result":
            raise _as_raised(reply)
        if reply["mutated"]:
            raise AssertionError(f"{name}() changed its argument {', '.join(map(repr, reply['mutated']))} in place")
        values = calls.decode_all(_checked(reply["outputs"], outputs), payload, Path.cwd() / "outputs", trusted=False)
        results = tuple(values[spec["name"]] for spec in outputs)
        return results if len(results) > 1 else results[0] if results else None

    function.__name__ = function.__qualname__ = name
    return function


def _bind(
    name: str, names: list[str], optional: set[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments by name, with the complaints that a function of that signature would make."""
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


def _encode_arguments(name: str, arguments: dict[str, Any], kinds: Mapping[str, str]) -> tuple[list[Any], calls.Pieces]:
    entries, pieces = [], []
    for key, value in arguments.items():
        entry: dict[str, Any] = {"name": key, "type": kinds[key], "header": None, "size": 0}
        if value is not None:
            try:
                encoded = encode(value, kinds[key])
            except (TypeMismatch, Unencodable) as error:
                raise TypeError(f"{name}() argument {key!r}: {error}") from None
            entry.update(header=encoded.header, size=encoded.size)
            pieces += [*encoded.buffers, bytes(frames.padded(encoded.size) - encoded.size)]
        entries.append(entry)
    return entries, pieces


def _checked(entries: Any, outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of a reply, if they are those of the declared outputs."""
    for entry, spec in zip(entries, outputs, strict=True):
        if entry["name"] != spec["name"] or entry["header"] is None or entry["header"]["type"] != spec["type"]:
            raise TypeError(f"output {spec['name']!r} did not come back as declared")
    return list(entries)


def _as_raised(reply: Mapping[str, Any]) -> Exception:
    """The nearest builtin exception to what the solution raised.

    Its traceback hangs on as the cause and not as a note, which `pytest.raises(match=...)` would look at.
    """
    error: Exception | None = None
    for name in reply["classes"]:
        kind = getattr(builtins, str(name), None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            with contextlib.suppress(Exception):
                error = kind(*reply["args"])
                break
    if error is None:  # SystemExit and its like would end the tests
        error = RuntimeError(f"{reply['exception_type']}: {reply['message']}")
    if isinstance(error, ModuleNotFoundError):
        error.name = reply["missing_module"]
    error.__cause__ = InSolution(str(reply["traceback"]))
    return error


def _send(fd: int, header: Mapping[str, Any]) -> None:
    frames.write_all(fd, [frames.pack({**header, "payload": 0})])
