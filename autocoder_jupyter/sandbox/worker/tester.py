"""Running tests: pytest in this process, the solution in another worker, a frame for every report."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import linecache
import os
import re
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from . import calls, failures, frames, remote

_TEST_FILE = "test_solution.py"
_OPTIONS = (
    "--noconftest",
    "-c/dev/null",
    "-pno:cacheprovider",
    "-pno:faulthandler",
    "--import-mode=importlib",
    "--capture=sys",
    "--tb=short",
    "--color=no",
    "--no-header",
    "-q",
    "-rN",
)
_LONGEST_MESSAGE = 20_000
_LONGEST_REPORT = 64_000


@dataclass(frozen=True)
class Host:
    """The way to the host: `tell` writes a frame of news, `ask` one that is answered."""

    tell: Callable[[calls.Pieces], None]
    ask: remote.Ask


def run(header: Mapping[str, Any], host: Host) -> None:
    """Run the tests of a request and write a frame for each step: collected, calls, reported, then the end.

    What pytest prints is told by a frame too: standard output is read by the zygote, in whose memory nothing of a test
    may be left to the programs of later calls.
    """
    know_files_of_modules()
    Path(_TEST_FILE).touch()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["COLUMNS"] = "120"
    reports = Reports(host, header["tests"])
    ask = host.ask if header["stub"] is None else partial(_ask_here, calls.Program(shares_folder=True), header)
    sys.modules["solution"] = remote.module(header["function"], header["inputs"], header["outputs"], ask)
    # Without the second, pytest takes /dev/null's folder for it and lists every folder above, which is forbidden.
    here_only = [f"--rootdir={Path.cwd()}", f"--confcutdir={Path.cwd()}"]
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        exit_code = pytest.main([*_OPTIONS, *here_only, _TEST_FILE], plugins=[reports])
    reports.send("finished", exit_code=int(exit_code), output=told.getvalue()[-_LONGEST_REPORT:])


def know_files_of_modules() -> None:
    """Tell `inspect` which file belongs to which module.

    To show the lines of a failure it would find that out itself, by resolving the path of each of some 800 modules:
    thousands of system calls, each of which the local sandbox looks at.
    """
    files = {name: file for name, module in list(sys.modules.items()) if (file := getattr(module, "__file__", None))}
    inspect.modulesbyfile.update((file, name) for name, file in files.items())
    getattr(inspect, "_filesbymodname", {}).update(files)


def _ask_here(
    program: calls.Program, header: Mapping[str, Any], request: calls.Pieces
) -> tuple[dict[str, Any], memoryview]:
    """Call a stub of ours in this process: there is nothing that it could find out, or would want to."""
    called, payload = frames.parse(b"".join(request))
    call = {**header, "code": header["stub"], "env": {}, "seed": 0, "arguments": called["arguments"]}
    reply, values = frames.parse(b"".join(calls.answer(program, call, payload)))
    return {**reply, "changed": []}, values


class Tests(pytest.Module):
    """The tests, taken from memory: their file lies where the solution could write."""

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
            raise self.CollectError(failures.own_traceback(error, name)) from error
        return module


class Reports:
    """A plugin of pytest that tells the host about every test, as it ends."""

    def __init__(self, host: Host, tests: str) -> None:
        self._host = host
        self._tests = tests
        self._worst: dict[str, tuple[str, str]] = {}
        self._seconds: dict[str, float] = {}
        self._missing: dict[str, str] = {}

    def send(self, kind: str, **facts: Any) -> None:
        """Write one frame."""
        self._host.tell([frames.pack({"kind": kind, "payload": 0, **facts})])

    def not_collected(self, text: str, missing_module: object) -> None:
        """The tests, or the solution they import, could not be loaded."""
        name = missing_module if isinstance(missing_module, str) else ""
        self.send("not_collected", text=text[-_LONGEST_MESSAGE:], missing_module=name)

    def pytest_pycollect_makemodule(self, module_path: Path, parent: Any) -> Tests:
        """Collect from memory."""
        tests = Tests.from_parent(parent, path=module_path)
        tests.source = self._tests
        return tests

    def pytest_collection_finish(self, session: Any) -> None:
        """All tests are known."""
        self.send("collected", ids=[_id(item.nodeid) for item in session.items])

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Something raised, in a test or while tests were collected."""
        error = call.excinfo.value
        if isinstance(error, remote.SolutionUnloaded):
            self.not_collected(error.text, error.missing_module)
            self.send("finished", exit_code=int(pytest.ExitCode.INTERRUPTED))
            os._exit(0)
        if not isinstance(error, ModuleNotFoundError):
            error = error.__cause__  # `Tests` wraps what a test module raises
        if isinstance(error, ModuleNotFoundError) and error.name:
            self._missing[report.nodeid] = error.name
        if isinstance(report, pytest.CollectReport):
            self.not_collected(report.longreprtext, self._missing.get(report.nodeid))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase of a test ended; its last one settles the outcome."""
        name = report.nodeid
        self._seconds[name] = self._seconds.get(name, 0.0) + report.duration
        outcome, message = _judge(report)
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
            )


def _judge(report: Any) -> tuple[str, str]:
    """What a phase of a test says. Skipped and expected to fail are not passed: they have shown nothing."""
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
