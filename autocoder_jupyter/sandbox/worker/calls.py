"""Call a function once: decode its arguments from a request, run it, check and encode its outputs."""

from __future__ import annotations

import inspect
import os
import random
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import failures, frames, removal
from .codec import TypeMismatch, Unencodable, decode, encode
from .entries import Packed, unpacked
from .outputs import OutputMismatch, by_name

Pieces = list[Any]
"""A frame as pieces to be written one after the other."""


class LoadedProgram:
    """The program of a child process. It is loaded once and may be called several times.

    Args:
        shares_folder: the working folder is also used by others, so it is not cleaned between calls.

    Attributes:
        arguments: the arguments of the last call that returned, by name, each with its declared type.
    """

    def __init__(self, *, shares_folder: bool = False) -> None:
        self.arguments: dict[str, tuple[Any, str]] = {}
        self._shares_folder = shares_folder
        self._loaded: tuple[str, str] | None = None
        self._function: Callable[..., Any] | None = None
        self._folder = Path.cwd()
        self._own_files: frozenset[Path] = frozenset()

    def clean_folder(self) -> None:
        """Change to the program's folder, and remove the files that earlier calls left in it.

        Files that were there when the module had been loaded are kept.
        """
        if self._shares_folder:
            return
        try:
            os.chdir(self._folder)
        except FileNotFoundError:
            self._folder.mkdir(parents=True, exist_ok=True)
            os.chdir(self._folder)
        for path in frozenset(self._folder.iterdir()) - self._own_files:
            removal.discard(path)

    @property
    def loaded(self) -> bool:
        """Whether the module was executed without an error, and has the function."""
        return self._function is not None

    def function(self, code: str, name: str) -> Callable[..., Any]:
        """The function `name` of the module `code`. The module is executed on first use.

        Raises:
            NoFunction: it has no such function.
            BaseException: the exception of the module.
        """
        if self._function is None or self._loaded != (code, name):
            self._function = None
            self._function = load(code, name)
            self._loaded = (code, name)
            self._own_files = frozenset(self._folder.iterdir()) if self._folder.is_dir() else frozenset()
        return self._function


class NoFunction(Exception):
    """The module does not define the requested function."""


def load(code: str, name: str) -> Callable[..., Any]:
    """Execute the module `code` under the name `solution` and return its function `name`.

    Raises:
        NoFunction: it has no such function.
        BaseException: the exception of the module, or a SyntaxError.
    """
    failures.keep_source(code)
    module = types.ModuleType("solution")
    module.__file__ = failures.SOLUTION_FILE
    sys.modules["solution"] = module
    exec(compile(code, failures.SOLUTION_FILE, "exec", dont_inherit=True), module.__dict__)
    function: Callable[..., Any] | None = module.__dict__.get(name)
    if not callable(function):
        raise NoFunction(f"the module defines no function {name!r}")
    return function


def answer(program: LoadedProgram, header: Mapping[str, Any], payload: memoryview) -> Pieces:
    """Call the function and return the frame of the answer. It never raises.

    Args:
        program: of this process.
        header: of the request.
        payload: the encoded arguments.
    """
    program.arguments = {}
    try:
        program.clean_folder()
        return _outcome(program, header, payload)
    except MemoryError:
        return failure("OutOfMemory")
    except OutputMismatch as error:
        return failure("WrongType", message=str(error))
    except SystemExit as error:
        return failure("SystemExit", code=repr(error.code)[:100], loaded=program.loaded, **failures.describe(error))
    except BaseException as error:
        return failure("SolutionError", loaded=program.loaded, **failures.describe(error))


def answers(program: LoadedProgram, header: Mapping[str, Any], payload: memoryview) -> Iterator[Pieces]:
    """The frames of the answers of a batch, one call after the other. At least the first call is made.

    Args:
        program: of this process.
        header: of the request: as for `answer`, with `calls` (their `arguments`, `seed` and `size`), and `seconds`
            after which no further call is begun.
        payload: the encoded arguments of all calls.
    """
    until, position = time.monotonic() + header["seconds"], 0
    for number, call in enumerate(header["calls"]):
        if number and time.monotonic() > until:
            return
        yield answer(program, {**header, **call}, payload[position : position + call["size"]])
        position += call["size"]


def failure(error: str, **facts: Any) -> Pieces:
    """A frame for a failure: its kind, and facts about it."""
    return [frames.pack({"kind": "error", "error": error, "payload": 0, **facts})]


def current_arguments(program: LoadedProgram) -> Pieces:
    """A frame with the present values of the arguments of the last call.

    A value that the function has changed so that it cannot be encoded has no header.
    """
    packed = Packed()
    for name, (value, kind) in program.arguments.items():
        try:
            packed.add(name, kind, encoded(value, kind))
        except (TypeMismatch, Unencodable):
            packed.add(name, kind, None)
    return [frames.pack({"kind": "arguments", "arguments": packed.entries, "payload": packed.size}), *packed.pieces]


def _outcome(program: LoadedProgram, header: Mapping[str, Any], payload: memoryview) -> Pieces:
    os.environ.update(header["env"])
    seed(header["seed"])
    function = program.function(header["code"], header["function"])
    arguments = decode_all(header["arguments"], payload, Path.cwd() / "inputs")
    kinds = {entry["name"]: entry["type"] for entry in header["arguments"]}
    given = arguments | defaults(function, arguments, header["inputs"])
    started = time.perf_counter()
    value = function(**given)
    seconds = time.perf_counter() - started
    program.arguments = {name: (arguments[name], kind) for name, kind in kinds.items()}
    packed = encode_all(by_name(value, header["outputs"]), header["outputs"])
    reply = {"kind": "result", "outputs": packed.entries, "seconds": seconds, "payload": packed.size}
    return [frames.pack(reply), *packed.pieces]


def defaults(
    function: Callable[..., Any], arguments: Mapping[str, Any], inputs: list[dict[str, Any]]
) -> dict[str, Any]:
    """The declared defaults of missing arguments for which the function itself has no default."""
    missing = [spec for spec in inputs if spec["name"] not in arguments and not spec["required"]]
    parameters = inspect.signature(function).parameters if missing else {}
    return {
        spec["name"]: spec["default"]
        for spec in missing
        if spec["name"] in parameters and parameters[spec["name"]].default is inspect.Parameter.empty
    }


def seed(number: int) -> None:
    """Seed the global generators of `random` and numpy."""
    random.seed(number)
    np.random.seed(number % 2**32)


def decode_all(
    entries: list[dict[str, Any]], payload: memoryview, folder: Path, *, trusted: bool = True
) -> dict[str, Any]:
    """Decode the values of a frame, by name.

    Args:
        entries: from the header; see `entries.Packed`.
        payload: the bytes of the frame.
        folder: files are written below it.
        trusted: False if the writer may be hostile; see `codec.decode`.
    """
    values: dict[str, Any] = {}
    for entry, part in unpacked(entries, payload):
        header = entry["header"]
        values[entry["name"]] = None if header is None else decode(header, part, folder=folder, trusted=trusted)
    return values


def encode_all(values: Mapping[str, Any], specs: list[dict[str, Any]]) -> Packed:
    """Encode the outputs `specs`, whose values are in `values`.

    Raises:
        OutputMismatch: a value does not have its declared type, or cannot be encoded.
    """
    packed = Packed()
    for spec in specs:
        name = spec["name"]
        try:
            packed.add(name, spec["type"], encoded(values[name], spec["type"], is_output=True))
        except TypeMismatch as error:
            raise OutputMismatch(f"{name!r} is declared {error.wanted} and came back as {error.got}") from None
        except Unencodable as error:
            raise OutputMismatch(f"{name!r} cannot be handed over: {error}") from None
    return packed


def encoded(value: Any, kind: str, *, is_output: bool = False) -> Any:
    """Encode a value with the codec. None is not encoded.

    Raises:
        TypeMismatch, Unencodable: it cannot be encoded as `kind`.
    """
    return None if value is None else encode(value, kind, is_output=is_output)
