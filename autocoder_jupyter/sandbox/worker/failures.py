"""Describe an exception: its type, its line in the solution, and the solution's frames of the traceback."""

from __future__ import annotations

import linecache
import traceback
from typing import Any

SOLUTION_FILE = "solution.py"
"""File name of the solution in tracebacks. The file does not exist; its lines are in `linecache`."""

_LONGEST_MESSAGE = 10_000
_LONGEST_TRACEBACK = 40_000


def keep_source(code: str) -> None:
    """Register the lines of the solution for tracebacks and `inspect`."""
    linecache.cache[SOLUTION_FILE] = (len(code), None, code.splitlines(keepends=True), SOLUTION_FILE)


def describe(error: BaseException) -> dict[str, Any]:
    """The exception as JSON values. The tests' process builds a builtin exception from `classes` and `args`."""
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
