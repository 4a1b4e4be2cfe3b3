"""Running tests: pytest in this process, the solution in another, a frame for every report."""

from __future__ import annotations

import ast
import linecache
import os
import re
import signal
import socket
import sys
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from . import failures, frames, lockdown, remote

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


def run(header: Mapping[str, Any], outbox: int, *, close_in_solution: Sequence[int]) -> None:
    """Run the tests of a request and write a frame for each step: collected, reported, then the end."""
    Path(_TEST_FILE).touch()
    os.environ.update(header["env"])
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["COLUMNS"] = "120"
    here, there = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        here.close()
        _serve_solution(there.detach(), header, close_in_solution)
    there.close()
    reports = Reports(outbox, header["tests"])
    unloaded = remote.await_loaded(here.fileno())
    if unloaded is not None:
        text = str(unloaded.get("traceback") or unloaded.get("message") or "")
        reports.not_collected(text, unloaded.get("missing_module"))
        reports.send("finished", exit_code=int(pytest.ExitCode.INTERRUPTED))
    else:
        sys.modules["solution"] = remote.module(here.fileno(), header)
        # Without the second, pytest takes /dev/null's folder for it and lists every folder above, which is forbidden.
        here_only = [f"--rootdir={Path.cwd()}", f"--confcutdir={Path.cwd()}"]
        exit_code = pytest.main([*_OPTIONS, *here_only, _TEST_FILE], plugins=[reports])
        reports.send("finished", exit_code=int(exit_code))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


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

    def __init__(self, outbox: int, tests: str) -> None:
        self._outbox = outbox
        self._tests = tests
        self._worst: dict[str, tuple[str, str]] = {}
        self._seconds: dict[str, float] = {}
        self._missing: dict[str, str] = {}

    def send(self, kind: str, **facts: Any) -> None:
        """Write one frame."""
        frames.write_all(self._outbox, [frames.pack({"kind": kind, "payload": 0, **facts})])

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


def _serve_solution(fd: int, header: Mapping[str, Any], close: Sequence[int]) -> None:
    """Become the process of the solution: no descriptor but the socket and the pipe for standard error."""
    try:
        lockdown.die_with_parent()
        lockdown.show_memory(True)
        for other in close:
            os.close(other)
        os.dup2(2, 1)
        Path("program").mkdir(exist_ok=True)
        os.chdir("program")
        remote.serve(fd, header)
    finally:
        os._exit(1)
