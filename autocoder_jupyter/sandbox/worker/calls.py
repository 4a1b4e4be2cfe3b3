"""Call the function of a program: decode its arguments, run it, and encode its outputs or its exception."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import inspect
import linecache
import math
import os
import random
import re
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from . import frames, removal
from .codec import TypeMismatch, Unencodable, decode, encode
from .entries import Packed, unpacked

# Calls

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
        self._loaded: tuple[str, str, Mapping[str, str]] | None = None
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

    def function(self, code: str, name: str, modules: Mapping[str, str]) -> Callable[..., Any]:
        """The function `name` of the module `code`, which may import `modules`. It is executed on first use."""
        if self._function is None or self._loaded != (code, name, modules):
            self._function = None
            provide(modules)
            self._function = load(code, name)
            self._loaded = (code, name, modules)
            self._own_files = frozenset(self._folder.iterdir()) if self._folder.is_dir() else frozenset()
        return self._function


class NoFunction(Exception):
    """The module does not define the requested function."""


def load(code: str, name: str) -> Callable[..., Any]:
    """Execute the module `code` under the name `solution` and return its function `name`."""
    keep_source(code)
    module = types.ModuleType("solution")
    module.__file__ = SOLUTION_FILE
    sys.modules["solution"] = module
    exec(compile(code, SOLUTION_FILE, "exec", dont_inherit=True), module.__dict__)
    function: Callable[..., Any] | None = module.__dict__.get(name)
    if not callable(function):
        raise NoFunction(f"the module defines no function {name!r}")
    return function


class ModulesInMemory(importlib.abc.Loader):
    """Imports modules from their sources, before any that is installed."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = sources

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Protocol of `sys.meta_path`."""
        if name not in self.sources:
            return None
        is_package = any(other.startswith(f"{name}.") for other in self.sources)
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Protocol of a loader: an ordinary module."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Protocol of a loader."""
        source, file = self.sources[module.__name__], f"{module.__name__}.py"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)


def provide(modules: Mapping[str, str]) -> None:
    """Let these modules be imported, and no longer those of the program before."""
    for finder in [one for one in sys.meta_path if isinstance(one, ModulesInMemory)]:
        sys.meta_path.remove(finder)
        for name in finder.sources:
            sys.modules.pop(name, None)
    if modules:
        sys.meta_path.insert(0, ModulesInMemory(modules))


def answer(program: LoadedProgram, header: Mapping[str, Any], payload: memoryview) -> Pieces:
    """Call the function and return the frame of the answer. It never raises."""
    program.arguments = {}
    try:
        program.clean_folder()
        return _outcome(program, header, payload)
    except MemoryError:
        return failure("OutOfMemory")
    except OutputMismatch as error:
        return failure("WrongType", message=str(error))
    except SystemExit as error:
        return failure("SystemExit", code=repr(error.code)[:100], loaded=program.loaded, **describe_exception(error))
    except BaseException as error:
        return failure("SolutionError", loaded=program.loaded, **describe_exception(error))


def answers(program: LoadedProgram, header: Mapping[str, Any], payload: memoryview) -> Iterator[Pieces]:
    """The frames of the answers of a batch, one call after the other. At least the first call is made."""
    until, position = time.monotonic() + header["seconds"], 0
    most = time.process_time() + (header["processor_seconds"] or math.inf)
    for number, call in enumerate(header["calls"]):
        if number and (time.monotonic() > until or time.process_time() > most):
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
    function = program.function(header["code"], header["function"], header["modules"])
    arguments = decode_all(header["arguments"], payload, Path.cwd() / "inputs")
    kinds = {entry["name"]: entry["type"] for entry in header["arguments"]}
    given = arguments | defaults(function, arguments, header["inputs"])
    started = time.perf_counter()
    value = function(**given)
    seconds = time.perf_counter() - started
    program.arguments = {name: (arguments[name], kind) for name, kind in kinds.items()}
    packed = encode_all(outputs_by_name(value, header["outputs"]), header["outputs"])
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
    """Decode the values of a frame, by name."""
    values: dict[str, Any] = {}
    for entry, part in unpacked(entries, payload):
        header = entry["header"]
        values[entry["name"]] = None if header is None else decode(header, part, folder=folder, trusted=trusted)
    return values


def encode_all(values: Mapping[str, Any], specs: list[dict[str, Any]]) -> Packed:
    """Encode the outputs `specs`, whose values are in `values`."""
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
    """Encode a value with the codec. None is not encoded."""
    return None if value is None else encode(value, kind, is_output=is_output)


# Return values
#
# They must be what the interface declares. Nothing is converted.


class OutputMismatch(Exception):
    """The return value is not what the function declares. The text says how it differs."""


def outputs_by_name(value: Any, specs: list[dict[str, Any]]) -> dict[str, Any]:
    """The outputs of a function by name.

    The number of outputs, missing values (None) and declared columns are checked. The codec checks the types.
    """
    names = [spec["name"] for spec in specs]
    if not specs:
        values: tuple[Any, ...] = ()
        if value is not None:
            raise OutputMismatch(f"no output is declared, but the function returned a {_type_name(value)}")
    elif len(specs) == 1:
        values = (value,)
    elif not isinstance(value, tuple):
        raise OutputMismatch(f"declared are {len(specs)} outputs ({', '.join(names)}) as a tuple, got {_a(value)}")
    elif len(value) != len(specs):
        raise OutputMismatch(f"declared are {len(specs)} outputs ({', '.join(names)}), the tuple has {len(value)}")
    else:
        values = value
    for spec, one in zip(specs, values, strict=True):
        if one is None:
            raise OutputMismatch(f"{spec['name']!r} is declared {spec['type']} and came back as None")
        if spec["type"] == "DataFrame" and spec["columns"] and isinstance(one, pd.DataFrame):
            _check_columns(spec["name"], one, spec["columns"])
    return dict(zip(names, values, strict=True))


def _check_columns(name: str, frame: pd.DataFrame, declared: list[Mapping[str, str]]) -> None:
    wanted = {column["name"]: column["dtype"] for column in declared}
    present = [str(label) for label in frame.columns]
    missing = [column for column in wanted if column not in present]
    extra = [column for column in present if column not in wanted]
    faults = []
    if missing:
        index = [str(level) for level in frame.index.names if level is not None]
        note = "; the index has that name, reset it" if any(column in index for column in missing) else ""
        faults.append(f"missing columns {', '.join(map(repr, missing))}{note}")
    if extra:
        dtypes = [str(dtype) for label, dtype in zip(present, frame.dtypes, strict=True) if label not in wanted]
        count = f"({len(extra)} in all, of {', '.join(dict.fromkeys(dtypes[:20]))})"
        faults.append(f"columns that are not declared: {', '.join(map(repr, extra[:20]))} {count}")
    for label, dtype in zip(present, frame.dtypes, strict=True):
        if label in wanted and not dtype_fits(str(dtype), wanted[label], rows=len(frame)):
            faults.append(f"column {label!r} is declared {wanted[label]} and is {dtype}")
    if faults:
        raise OutputMismatch(f"{name!r}: {'; '.join(faults)}")


def dtype_fits(dtype: str, declared: str, *, rows: int) -> bool:
    """Whether the dtype of a column belongs to the declared kind.

    Width, unit and nullability may differ. Integers and floats, text and categories, and times with and without a zone
    are different kinds. In an empty frame `object` is accepted, because pandas cannot infer a dtype there.
    """
    if rows == 0 and dtype == "object":
        return True
    wanted = _family(declared)
    return wanted is None or _family(dtype) == wanted


_FAMILIES = (
    (r"u?int\d*|u?int\d*\[pyarrow\]|integer", "integer"),
    (r"float\d*|float\d*\[pyarrow\]|double(\[pyarrow\])?", "float"),
    (r"bool(ean)?(\[pyarrow\])?", "bool"),
    (r"object|str(ing)?(\[.*\])?|large_string(\[.*\])?|text", "text"),
    (r"datetime64(\[[a-z]+\])?|datetime|timestamp(\[[a-z]+\])?(\[pyarrow\])?", "datetime"),
    (r"datetime64\[[a-z]+, .*\]|datetimetz|timestamp\[[a-z]+, tz=.*\]\[pyarrow\]", "datetime with a time zone"),
    (r"timedelta64(\[[a-z]+\])?|timedelta|duration\[[a-z]+\](\[pyarrow\])?", "timedelta"),
    (r"category", "category"),
    (r"period(\[.*\])?", "period"),
    (r"interval(\[.*\])?", "interval"),
    (r"complex\d*", "complex"),
)


@functools.lru_cache(maxsize=1000)
def _family(dtype: str) -> str | None:
    """The kind of values of a dtype; None for an unknown name."""
    name = dtype.strip().lower()
    return next((family for pattern, family in _FAMILIES if re.fullmatch(pattern, name)), None)


def _type_name(value: Any) -> str:
    return type(value).__name__


def _a(value: Any) -> str:
    return "None" if value is None else f"one {_type_name(value)}"


# Exceptions

SOLUTION_FILE = "solution.py"
"""File name of the solution in tracebacks. The file does not exist; its lines are in `linecache`."""

_LONGEST_MESSAGE = 10_000
_LONGEST_TRACEBACK = 40_000


def keep_source(code: str) -> None:
    """Register the lines of the solution for tracebacks and `inspect`."""
    linecache.cache[SOLUTION_FILE] = (len(code), None, code.splitlines(keepends=True), SOLUTION_FILE)


def describe_exception(error: BaseException) -> dict[str, Any]:
    """The exception as JSON values. The process of the tests builds a builtin exception from `classes` and `args`."""
    line, source = _location(error)
    plain = [value for value in error.args if isinstance(value, str | int | float | bool)]
    return {
        "exception_type": _qualified_name(type(error)),
        "classes": [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"],
        "args": plain if len(plain) == len(error.args) and len(str(plain)) < _LONGEST_MESSAGE else [message_of(error)],
        "message": message_of(error),
        "line": line,
        "source": source,
        "traceback": solution_traceback(error),
        "missing_module": error.name if isinstance(error, ModuleNotFoundError) else None,
    }


def message_of(error: BaseException) -> str:
    """The text of the exception, limited in length. Its `__str__` may be hostile."""
    try:
        return str(error)[:_LONGEST_MESSAGE]
    except BaseException:
        return "(its message cannot be shown)"


def solution_traceback(error: BaseException) -> str:
    """The traceback of the exception and its causes, with the frames of the solution only."""
    return own_traceback(error, SOLUTION_FILE)


def own_traceback(error: BaseException, file: str) -> str:
    """The traceback of the exception and its causes, with the frames of one file only; "" if it cannot be formatted."""
    try:
        report = traceback.TracebackException.from_exception(error)
        _filter_frames(report, file, set())
        return "".join(report.format())[-_LONGEST_TRACEBACK:]
    except BaseException:
        return ""


def _filter_frames(report: traceback.TracebackException, file: str, seen: set[int]) -> None:
    if id(report) in seen:
        return
    seen.add(id(report))
    report.stack = traceback.StackSummary.from_list([entry for entry in report.stack if entry.filename == file])
    for other in (report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())):
        if other is not None:
            _filter_frames(other, file, seen)


def _location(error: BaseException) -> tuple[int | None, str]:
    if isinstance(error, SyntaxError) and error.filename == SOLUTION_FILE:
        line = error.lineno
    else:
        lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if _is_solution(frame)]
        line = lines[-1] if lines else None
    return line, linecache.getline(SOLUTION_FILE, line).strip() if line else ""


def _is_solution(frame: Any) -> bool:
    return bool(frame.f_code.co_filename == SOLUTION_FILE)


def _qualified_name(kind: type) -> str:
    module = getattr(kind, "__module__", "builtins")
    name = getattr(kind, "__qualname__", str(kind))
    return name if module in ("builtins", "__main__", "solution") else f"{module}.{name}"
