"""Run tests: pytest in this process, the solution in another worker, and a frame for each report.

The host runs each call of a test in another worker, exactly like a call of the user, so the solution cannot notice that
it is tested. Only data is transferred. So a hostile object, such as one that equals everything, does not arrive, and a
solution can patch modules only in its own process.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
import io
import linecache
import os
import re
import sys
import types
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from . import calls, frames
from .codec import TypeMismatch, Unencodable
from .entries import Packed

Ask = Callable[[calls.Pieces], tuple[dict[str, Any], memoryview]]
"""Sends the frame of a call, and returns header and payload of the answer."""


@dataclass(frozen=True)
class TestsHost:
    """The connection to the host. `tell` sends a frame; `ask` sends one and waits for the answer."""

    tell: Callable[[calls.Pieces], None]
    ask: Ask


# The run

_TEST_FILE = "test_solution.py"
_OPTIONS = (
    "--noconftest",
    "-c/dev/null",
    "-pno:cacheprovider",
    "-pno:faulthandler",
    *("-pno:pastebin", "-pno:setuponly", "-pno:setupplan", "-pno:stepwise"),  # only options of the command line
    *("-pno:unraisableexception", "-pno:threadexception"),  # only warnings, for which all memory is searched five times
    *("-pno:junitxml", "-pno:doctest"),
    "--import-mode=importlib",
    "--capture=sys",
    "--color=no",
    "--no-header",
    "-q",
    "-rN",
)
_LONGEST_MESSAGE = 20_000
_LONGEST_REPORT = 64_000


def run(header: Mapping[str, Any], host: TestsHost) -> None:
    """Run the tests of a request, and send a frame for each step: collected, call, reported, finished.

    The output of pytest is also sent in a frame, and not on the standard output. The zygote reads that, and its memory
    must not have text of the tests, because later programs inherit it.
    """
    Path(_TEST_FILE).touch()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["COLUMNS"] = "120"
    stubs = [partial(_call_stub, calls.LoadedProgram(shares_folder=True), header, code) for code in header["stubs"]]
    reports = Reports(host, header["tests"], stubs)
    reports.ask = reports.call_stub if stubs else host.ask
    calls.provide(header["modules"])
    sys.modules["solution"] = solution_module(header["function"], header["inputs"], header["outputs"], reports.call)
    # Without confcutdir, pytest would use the folder of /dev/null and list all folders above, which is denied.
    folders = [f"--rootdir={Path.cwd()}", f"--confcutdir={Path.cwd()}"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        wanted = ["--tb=short" if header["traceback"] else "--tb=no", *["--exitfirst"] * header["until_failure"]]
        exit_code = pytest.main([*_OPTIONS, *wanted, *folders, _TEST_FILE], plugins=[reports])
    reports.send("finished", exit_code=int(exit_code), output=printed.getvalue()[-_LONGEST_REPORT:])


def register_module_files() -> None:
    """Register the file of each module in the caches of `inspect`, in the zygote.

    Otherwise `inspect` would resolve the paths of some 800 modules to show the lines of a failure. That needs thousands
    of system calls, which the local sandbox checks one by one. In a child it would copy 1,500 pages of memory.
    """
    files = {name: file for name, module in list(sys.modules.items()) if (file := getattr(module, "__file__", None))}
    inspect.modulesbyfile.update((file, name) for name, file in files.items())
    getattr(inspect, "_filesbymodname", {}).update(files)


def _call_stub(
    program: calls.LoadedProgram, header: Mapping[str, Any], code: str, request: calls.Pieces
) -> tuple[dict[str, Any], memoryview]:
    """Call a stub in this process. That is safe, because a stub is not generated code."""
    called, payload = frames.parse(b"".join(request))
    call = {**header, "code": code, "env": {}, "seed": 0, "arguments": called["arguments"]}
    reply, values = frames.parse(b"".join(calls.answer(program, call, payload)))
    return {**reply, "changed": []}, values


class Tests(pytest.Module):
    """The module of the tests. Its source is taken from memory, because a program could write to its file."""

    source = ""

    def _getobj(self) -> types.ModuleType:
        module = types.ModuleType(self.path.stem)
        module.__file__ = name = str(self.path)
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(keepends=True), name)
        sys.modules[module.__name__] = module
        try:
            tree = ast.parse(self.source, name)
            rewrite_asserts(tree, self.source.encode(), name, self.config)
            exec(compile(tree, name, "exec", dont_inherit=True), module.__dict__)
        except Exception as error:
            raise self.CollectError(calls.own_traceback(error, name)) from error
        return module


class Reports:
    """A pytest plugin that reports each test to the host when it ends.

    Args:
        stubs: call the stub, and another one, if the tests run on stubs.
    """

    def __init__(self, host: TestsHost, tests: str, stubs: Sequence[Ask]) -> None:
        self._host = host
        self._tests = tests
        self._stubs = stubs
        self.ask: Ask = host.ask
        self._is_second = False
        self._in_test = self._was_called = self._is_shared = False
        self._worst: dict[str, tuple[str, str]] = {}
        self._seconds: dict[str, float] = {}
        self._missing: dict[str, str] = {}
        self._not_called: set[str] = set()

    def send(self, kind: str, **facts: Any) -> None:
        """Send one frame to the host."""
        self._host.tell([frames.pack({"kind": kind, "payload": 0, **facts})])

    def not_collected(self, text: str, missing_module: object) -> None:
        """Report that the tests, or the solution, could not be loaded."""
        name = missing_module if isinstance(missing_module, str) else ""
        self.send("not_collected", text=text[-_LONGEST_MESSAGE:], missing_module=name)

    def pytest_pycollect_makemodule(self, module_path: Path, parent: Any) -> Tests:
        """Hook of pytest: collect the tests from memory."""
        tests = Tests.from_parent(parent, path=module_path)
        tests.source = self._tests
        return tests

    def pytest_collection_finish(self, session: Any) -> None:
        """Hook of pytest: report the ids of all tests."""
        self.send("collected", ids=[_id(item.nodeid) for item in session.items])

    def call(self, request: calls.Pieces) -> tuple[dict[str, Any], memoryview]:
        """Call the function, and note that this test did. What a fixture calls may be for several tests."""
        self._was_called = True
        self._is_shared |= not self._in_test
        return self.ask(request)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, object, object]:
        """Hook of pytest: the test itself runs, after its fixtures."""
        self._in_test, self._was_called = True, False
        try:
            return (yield)
        finally:
            self._in_test = False

    def call_stub(self, request: calls.Pieces) -> tuple[dict[str, Any], memoryview]:
        """Call the stub on which the tests run now."""
        return self._stubs[self._is_second](request)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: Any) -> Generator[None, object, object]:
        """Hook of pytest: run the tests; and on the other stub those that passed, for which pytest starts only once."""
        ended = yield
        if len(self._stubs) > 1:
            passed = [item for item in session.items if item.nodeid not in self._worst]
            self._is_second = True
            for item, following in zip(passed, [*passed[1:], None], strict=False):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return ended

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Hook of pytest: an exception was raised in a test, or while tests were collected."""
        error = call.excinfo.value
        if isinstance(error, SolutionUnloaded):
            self.not_collected(error.text, error.missing_module)
            self.send("finished", exit_code=int(pytest.ExitCode.INTERRUPTED))
            os._exit(0)
        is_its_own = call.when == "call" and not isinstance(error, ImportError)  # a package may be missing
        if is_its_own and not (self._was_called or self._is_shared):
            self._not_called.add(report.nodeid)
        if not isinstance(error, ModuleNotFoundError):
            error = error.__cause__  # `Tests` wraps what a test module raises
        if isinstance(error, ModuleNotFoundError) and error.name:
            self._missing[report.nodeid] = error.name
        if isinstance(report, pytest.CollectReport):
            self.not_collected(report.longreprtext, self._missing.get(report.nodeid))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Hook of pytest: a phase of a test ended. After the last phase the outcome is reported."""
        name = report.nodeid
        if self._is_second:
            self._note_second(name, report)
            return
        self._seconds[name] = self._seconds.get(name, 0.0) + report.duration
        outcome, message = _outcome(report)
        if outcome != "passed" and name not in self._worst:
            self._worst[name] = (outcome, message)
        if report.when == "teardown":
            outcome, message = self._worst.get(name, ("passed", ""))
            self.send(
                "reported",
                id=_id(name),
                outcome=outcome,
                message=message[-_LONGEST_MESSAGE:],
                seconds=self._seconds[name],
                missing_module=self._missing.get(name, ""),
                calls=name not in self._not_called,
            )

    def _note_second(self, name: str, report: Any) -> None:
        if _outcome(report)[0] != "passed":
            self._worst.setdefault(name, ("failed", ""))
        elif report.when == "teardown" and name not in self._worst:
            self.send("passed_again", id=_id(name))


def _outcome(report: Any) -> tuple[str, str]:
    """The outcome and the message of a phase of a test. Skipped and xfail tests do not count as passed."""
    if hasattr(report, "wasxfail"):
        return "failed", f"marked as expected to fail: {report.wasxfail}"
    if report.skipped:
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longreprtext
        return "failed", f"not run: {reason}"
    if report.failed:
        return ("failed" if report.when == "call" else "error"), report.longreprtext
    return "passed", ""


def _id(nodeid: str) -> str:
    return re.sub(r"^[^:]*::", "", nodeid, count=1)


# The module `solution` of the tests

_MOST_PRINTED = 64 * 1024
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


def solution_module(
    name: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], ask: Ask
) -> types.ModuleType:
    """Create the module `solution`. Its function `name` sends the arguments to the host and gets the values."""
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
        sys.stdout.write(str(reply.get("printed", ""))[:_MOST_PRINTED])
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
