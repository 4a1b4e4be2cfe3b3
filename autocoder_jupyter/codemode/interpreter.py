"""The sandbox of code mode as the kernel sees it: two processes, one of Monty and a small one that drives it.

Monty's library builds the values of a program without releasing the GIL, and a few thousand numbers of the same hash
take it seconds. It therefore runs in its own process (`interpreter_process`), and the kernel gets checked JSON.

All functions here block and must run on one thread that is not the loop's.
"""

from __future__ import annotations

import ast
import concurrent.futures
import contextlib
import datetime as dt
import functools
import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Protocol

from autocoder_jupyter.codemode import interpreter_process, programs
from autocoder_jupyter.codemode.calls import IN_THREAD
from autocoder_jupyter.codemode.limits import Limits
from autocoder_jupyter.codemode.monty_session import BlockOutcome
from autocoder_jupyter.codemode.tables import METHODS, Frame
from autocoder_jupyter.codemode.values import VALUES, decode, encode
from autocoder_jupyter.errors import AutocodeError, BudgetSpent
from autocoder_jupyter.untrusted.parsing import parse

Operate = Callable[[Frame, str, Sequence[Any], Mapping[str, Any]], Any]

_PLAIN_MESSAGE = 1 << 20
"""Bytes of a message that is parsed at once."""

_EXIT_SECONDS = 0.5
"""Seconds that the process has to end by itself."""

_KEPT_VARIABLES = ("PATH", "MONTY_BIN", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")

# Packages without their `__init__`, which would import half of the product.
_START = """
import json, sys, types
root, sys.path[:] = json.loads(sys.argv[1])
for name in ("", ".codemode", ".codec"):
    module = sys.modules["autocoder_jupyter" + name] = types.ModuleType("autocoder_jupyter" + name)
    module.__path__ = [root + name.replace(".", "/")]
from autocoder_jupyter.codemode.interpreter_process import main
main()
"""


class _Broken(Exception):
    """The process has ended, or sent an invalid message."""


class InterpreterHost(Protocol):
    """Answers the program's calls."""

    @property
    def names(self) -> Mapping[str, bool]:
        """The functions that the program may call, and whether each is awaited."""
        ...

    def call(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], line: int
    ) -> concurrent.futures.Future[Any]:
        """Start a call. An exception of the future is raised in the program."""
        ...


class CodeInterpreter:
    """The sandbox of one conversation. A context manager.

    Args:
        stubs: declarations of everything that the host offers.
        clock: the constant time in the sandbox. It does not change, so that a replayed block does the same.
        inputs: global names that exist from the beginning.
    """

    def __init__(
        self, limits: Limits, stubs: str, clock: dt.datetime, inputs: Mapping[str, Any], operate: Operate
    ) -> None:
        self._limits = limits
        self._stubs = stubs
        self._clock = clock
        self._inputs = dict(inputs)
        self._operate = operate
        self._frames: dict[int, Frame] = {}
        self._arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._input: IO[bytes] | None = None
        self._pid: int | None = None
        self._killed = False

    def __enter__(self) -> CodeInterpreter:
        if importlib.util.find_spec("pydantic_monty") is None:
            raise AutocodeError(
                "Code mode needs the package pydantic-monty, which is not installed.",
                hint='pip install "autocoder-jupyter[codemode]"',
            )
        try:
            ready = self._started()
        except BaseException as error:
            self.__exit__()
            if not isinstance(error, Exception):
                raise
            raise AutocodeError("The sandbox of code mode could not be started.", why=f"{error}.") from error
        self._pid = ready
        if self._killed:
            self.kill()
        return self

    def _started(self) -> int:
        package = Path(__file__).parents[1]
        paths = [str(package), [folder for folder in sys.path if folder]]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, json.dumps(paths)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            start_new_session=True,  # an interrupt of the notebook is not for it
        )
        self._input = self._process.stdin
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()
        self._send(
            {
                "in_thread": IN_THREAD,
                "methods": sorted(METHODS),
                "options": encode(self._options()),
                "prelude": programs.text("prelude.py"),
                "inputs": self._encoded(self._inputs),
            }
        )
        answer = self._arrived.get()
        if answer is None or "ready" not in answer:
            raise OSError(answer["failed"] if answer else "its process ended")
        return int(answer["ready"])

    def __exit__(self, *_: object) -> None:
        self.kill()
        if self._process is not None:
            if self._input is not None:
                with contextlib.suppress(OSError):
                    self._input.close()
            try:
                self._process.wait(_EXIT_SECONDS)  # it waits for the process of Monty, which would else be a zombie
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._pid = None

    def kill(self) -> None:
        """Kill the process of the program at once, from any thread; a running block ends with it."""
        self._killed = True
        if self._pid is not None:
            with contextlib.suppress(OSError):
                os.kill(self._pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        self._arrived.put(None)

    def _options(self) -> dict[str, Any]:
        return {
            "limits": {
                "max_feed_duration_secs": self._limits.seconds,
                "max_memory": self._limits.bytes,
                "max_recursion_depth": self._limits.depth,
                "max_suspensions": self._limits.steps,
            },
            "os_policy": {
                "datetime": self._clock,
                "sleep": "zero",
                "random_start": {"seed": 0},
            },
            "type_check": True,
            "type_check_stubs": self._stubs,
            "type_check_format": "json",
        }

    def run(self, code: str, host: InterpreterHost) -> BlockOutcome:
        """Run a block to its end. It can use earlier definitions, and its definitions stay."""
        pending: dict[int, concurrent.futures.Future[Any]] = {}
        try:
            self._send({"run": code, "names": dict(host.names)})
            return self._served(host, pending)
        except _Broken:
            self.kill()
            return _ENDED
        finally:
            for future in pending.values():
                future.cancel()

    def _served(self, host: InterpreterHost, pending: dict[int, concurrent.futures.Future[Any]]) -> BlockOutcome:
        """Answer the process until the block has ended."""
        leaving = False
        while True:
            try:
                message = self._arrived.get(timeout=self._limits.seconds if leaving else None)
            except queue.Empty:
                self.kill()
                return BlockOutcome(error=_stalled(self._limits.seconds), lost=True)
            if message is None:
                return _ENDED
            if isinstance(message, int):
                if message in pending:
                    self._settle(message, pending.pop(message).result)
                continue
            leaving = bool(message.get("leaving"))
            if "call" in message:
                self._call(message, host, pending)
            elif "operate" in message:
                frame, name = self._frames[message["frame"]], message["name"]
                args, kwargs = self._decoded(message["given"])
                self._settle(message["operate"], functools.partial(self._operate, frame, name, args, kwargs))
            elif "ran" in message:
                ran = BlockOutcome(**message["ran"])
                return replace(ran, value=self._decoded(ran.value))

    def _call(
        self, message: dict[str, Any], host: InterpreterHost, pending: dict[int, concurrent.futures.Future[Any]]
    ) -> None:
        number, name = message["call"], message["name"]
        args, kwargs = self._decoded(message["given"])
        pending[number] = future = host.call(name, tuple(args), kwargs, message["line"])
        future.add_done_callback(lambda _: self._arrived.put(number))

    def _settle(self, number: int, result: Callable[[], Any]) -> None:
        """Send the outcome of a call. `kind` of an error is the built-in type that the program sees."""
        try:
            outcome = {"return_value": result()}
        except (concurrent.futures.CancelledError, BudgetSpent):
            raise
        except Exception as error:
            kind = getattr(error, "kind", type(error).__name__ if type(error).__module__ == "builtins" else "")
            outcome = {"exc_type": kind or "RuntimeError", "message": str(error.args[0] if error.args else error)}
        self._send({"settle": number, "outcome": self._encoded(outcome)})

    # The pipe

    def _send(self, message: dict[str, Any]) -> None:
        if self._input is None:
            raise _Broken("its process has not started")
        try:
            interpreter_process.send(self._input, message)
        except (OSError, ValueError) as error:  # ValueError: the pipe is closed
            raise _Broken(str(error)) from error

    def _listen(self, stream: Any) -> None:
        with stream, contextlib.suppress(Exception):
            while (message := interpreter_process.receive(stream, _parsed)) is not None:
                self._arrived.put(message)
        self._arrived.put(None)

    def _encoded(self, value: Any) -> Any:
        def reference(frame: Frame) -> Any:
            number = len(self._frames)
            self._frames[number] = frame
            return {"$type": "frame", "value": [number, list(frame.columns), dict(frame.dtypes)]}

        return encode(value, reference)

    def _decoded(self, record: Any) -> Any:
        try:
            return decode(record, lambda form: self._frames[form["value"]])
        except ValueError as error:  # the process checks its values, so this is not the program's fault
            raise _Broken(str(error)) from error


def _parsed(text: bytes) -> Any:
    if len(text) <= _PLAIN_MESSAGE:
        return json.loads(text)
    from autocoder_jupyter.codec import bounded_json  # imports pandas

    return bounded_json.parse(text, bounded_json.Allowance(4 * VALUES, 8 * VALUES))


def _stalled(seconds: float) -> str:
    return (
        f"TimeoutError: a value takes more than {seconds:g} seconds to leave the sandbox. It is too large, or a dict "
        "or set has too many keys with the same hash. Give a list instead."
    )


_ENDED = BlockOutcome(
    error="MemoryError: the values of the program were too large for the sandbox, which has ended.", lost=True
)

Start = Callable[[], CodeInterpreter]


# Code before it runs
#
# A model wrote it now, or it comes from a record. The names of tools and frames always mean what the user passed.
# Otherwise earlier code, which may come from somebody else, could replace a harmless tool, and later code would call
# the replacement.

_RUN_TEXT = frozenset({"exec", "eval", "compile", "globals", "locals", "__builtins__", "__import__"})
"""Built-ins that could bind a name without naming it in the syntax tree."""

_BINDS_NOTHING = {
    (ast.Attribute, "attr"),
    (ast.Constant, "kind"),
    (ast.Constant, "value"),
    (ast.ImportFrom, "module"),
    (ast.MatchClass, "kwd_attrs"),
    (ast.keyword, "arg"),
}
"""Fields that contain names without binding them. A field that is not here counts as one that does, also a field of a
later version of Python."""


def runnable(source: str, reserved: Iterable[str]) -> str:
    """The code as it is run. Line numbers do not change."""
    tree = parse(source)
    _require_names_unbound(tree, {unicodedata.normalize("NFKC", name) for name in reserved})
    return _with_own_to_thread(source, tree)


def _require_names_unbound(tree: ast.Module, reserved: set[str]) -> None:
    for node in ast.walk(tree):
        for name in _bound_by(node):
            if name in reserved:
                raise _error(
                    node,
                    f"{name!r} is the name of a tool or a frame. It cannot be assigned, defined, deleted or used for a "
                    "parameter; choose another name",
                )
        if isinstance(node, ast.alias) and node.name == "*":
            raise _error(node, "import the names that you need, not *")
        if isinstance(node, ast.Name) and node.id in _RUN_TEXT:
            raise _error(node, f"{node.id} is not available")


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a node may bind, without its children; of a change of an attribute or item the changed name."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        yield from _root(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
        yield from _root(*node.args[:1])
    for field, value in ast.iter_fields(node):
        if (type(node), field) not in _BINDS_NOTHING:
            for text in value if isinstance(value, list) else (value,):
                if isinstance(text, str):
                    yield text.partition(".")[0]  # `import a.b` binds `a`


def _root(*nodes: ast.expr) -> Iterator[str]:
    """`a` of `a.b[0].c`."""
    for node in nodes:
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            yield node.id


def _error(node: ast.AST, message: str) -> SyntaxError:
    return SyntaxError(message, ("", getattr(node, "lineno", None), None, None))


def _with_own_to_thread(source: str, tree: ast.Module) -> str:
    """The code with our `to_thread` instead of asyncio's, which the sandbox lacks."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "to_thread" and ast.unparse(node.value) == "asyncio"
    ]
    lines = source.encode().splitlines(keepends=True)
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        if node.lineno == node.end_lineno:
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line[: node.col_offset] + b"to_thread" + line[node.end_col_offset :]
    return b"".join(lines).decode()
