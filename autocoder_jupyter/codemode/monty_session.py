"""Runs programs in Monty, an interpreter without files, network and our modules.

This is done in a small process (`interpreter_process`), not in the kernel: Monty's library builds the program's values
without releasing the GIL, and a dict of colliding keys takes it minutes. The program is suspended at each tool call and
resumed with the outcome. A plain tool blocks the program; awaited tools run concurrently.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Protocol

from autocoder_jupyter.errors import UnsupportedData

PRINTED = 1_000_000
"""The maximum number of printed characters of a block. Further output is dropped with a note."""

_LIMIT_ERRORS = ("TimeoutError: feed time limit", "MemoryError: memory limit")
_CALL_SHAPES = {
    "missing-argument",
    "unknown-argument",
    "too-many-positional-arguments",
    "positional-only-parameter-as-kwarg",
}


class ProgramHost(Protocol):
    """Answers the program's calls."""

    @property
    def names(self) -> Mapping[str, bool]:
        """The functions that the program may call, and whether each is awaited."""
        ...

    def begin_leaving(self) -> None:
        """Called before a value of the program is built, which may take long."""
        ...

    def call(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], line: int
    ) -> concurrent.futures.Future[Any]:
        """Start a call. The future's result is the outcome as Monty takes it."""
        ...

    def outward(self, value: Any) -> Any:
        """The final value with references instead of handles.

        Raises:
            UnsupportedData: it cannot leave.
        """
        ...


@dataclass(frozen=True)
class BlockOutcome:
    """The outcome of a block.

    Args:
        value: the value of its last expression, as it came from the sandbox.
        printed: its output, at most `PRINTED` characters.
        error: type and message of the error with its lines; "" if there was none.
        lost: whether the sandbox is lost, so that all variables must be defined again.
        began: whether any part of the block ran.
    """

    value: Any = None
    printed: str = ""
    error: str = ""
    lost: bool = False
    began: bool = True


class MontySession:
    """One process of Monty for one conversation.

    Args:
        options: of `Monty.checkout`.
        inputs: global names that exist from the beginning.
    """

    def __init__(self, options: Mapping[str, Any], prelude: str, inputs: Mapping[str, Any]) -> None:
        self._seconds = options["limits"]["max_feed_duration_secs"]
        held = contextlib.ExitStack()
        pool = held.enter_context(_monty().Monty(max_processes=1, request_timeout=None))
        self._session: Any = held.enter_context(pool.checkout(**options))
        self.pid: int | None = self._session.worker_pid
        self._session.feed_run(prelude, inputs=dict(inputs), skip_type_check=True)
        self._feeds = 1
        self.close = held.close

    def run(self, code: str, host: ProgramHost) -> BlockOutcome:
        """Run a block to its end. It can use earlier definitions, and its definitions stay."""
        monty = _monty()
        printed = _Printed()
        try:
            snapshot = self._begun(code, host, printed)
        except monty.MontyTypingError as error:
            return BlockOutcome(error=_type_errors(error.display(), host.names), began=False)
        except monty.MontySyntaxError as error:
            return BlockOutcome(error=str(error), began=False)
        except monty.MontyError as error:
            return self._failed(error, printed)
        pending: dict[int, _Awaited] = {}
        try:
            while not isinstance(snapshot, monty.MontyComplete):
                snapshot = self._step(snapshot, code, host, pending)
            host.begin_leaving()
            value = host.outward(snapshot.output)
        except monty.MontyError as error:
            return self._failed(error, printed)
        except UnsupportedData as error:
            return BlockOutcome(printed=printed.text, error=str(error))
        except (TypeError, ValueError, RecursionError) as error:  # the library has no Python value for it
            return BlockOutcome(printed=printed.text, error=f"{type(error).__name__}: {error}", lost=True)
        finally:
            for awaited in pending.values():
                awaited.future.cancel()
        if pending:
            return BlockOutcome(printed=printed.text, error=_forgotten(pending.values()))
        return BlockOutcome(value, printed.text)

    def _begun(self, code: str, host: ProgramHost, printed: _Printed) -> Any:
        """Check types and run to the first suspension. Only certain errors of the checker count."""
        monty = _monty()
        self._feeds += 1
        try:
            snapshot = self._session.feed_start(code, print_callback=printed)
            while getattr(snapshot, "function_name", "") == _STUBS:  # the checker asks for the stubs of a module
                snapshot = snapshot.resume_auto()
            return snapshot
        except monty.MontyTypingError as error:
            if _type_errors(error.display(), host.names):
                self._feeds -= 1
                raise
        return self._session.feed_start(code, print_callback=printed, skip_type_check=True)

    def _step(self, snapshot: Any, code: str, host: ProgramHost, pending: dict[int, _Awaited]) -> Any:
        monty = _monty()
        if isinstance(snapshot, monty.NameLookupSnapshot):
            if snapshot.object_id is not None:
                return snapshot.resume_auto()
            name = snapshot.variable_name
            return snapshot.resume(value=_function(name)) if name in host.names else snapshot.resume()
        if isinstance(snapshot, monty.FutureSnapshot):
            return self._settled(snapshot, pending)
        if snapshot.is_os_function:
            return snapshot.resume_auto()
        if snapshot.object_id is not None:
            host.begin_leaving()
            return snapshot.resume_auto()
        name, line = snapshot.function_name, _line(code, snapshot.position)
        if name not in host.names:
            return snapshot.resume({"exc_type": "NameError", "message": f"name {name!r} is not defined"})
        host.begin_leaving()
        future = host.call(name, snapshot.args, snapshot.kwargs, line)
        if host.names.get(name):
            pending[snapshot.call_id] = _Awaited(name, line, future)
            return snapshot.resume({"future": ...})
        return snapshot.resume(future.result())

    @staticmethod
    def _settled(snapshot: Any, pending: dict[int, _Awaited]) -> Any:
        """Wait until one of the awaited calls has ended, and resume the program with all that have."""
        waited = {call: pending[call].future for call in snapshot.pending_call_ids}
        concurrent.futures.wait(waited.values(), return_when=concurrent.futures.FIRST_COMPLETED)
        done = [call for call, future in waited.items() if future.done()]
        return snapshot.resume({call: pending.pop(call).future.result() for call in done})

    def _failed(self, error: Exception, printed: _Printed) -> BlockOutcome:
        monty = _monty()
        if isinstance(error, monty.MontyCrashedError):
            text = "MemoryError: the values of the program were too large for the sandbox, which has ended."
            if error.timed_out:
                text = f"TimeoutError: the block computed for more than {self._seconds:g} seconds."
            return BlockOutcome(printed=printed.text, error=text, lost=True)
        text = str(error)
        shown = error.display() if hasattr(error, "display") else text
        return BlockOutcome(
            printed=printed.text, error=_explained(_own_lines(shown)), lost=text.startswith(_LIMIT_ERRORS)
        )


@dataclass(frozen=True)
class _Awaited:
    name: str
    line: int
    future: concurrent.futures.Future[Any]


class _Printed:
    """Collects the program's output, up to a limit."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._room = PRINTED
        self._dropped = 0

    def __call__(self, stream: str, text: str) -> None:
        kept = text[: self._room]
        self._pieces.append(kept)
        self._room -= len(kept)
        self._dropped += len(text) - len(kept)

    @property
    def text(self) -> str:
        # `…(+12)` tells the masker that the text was truncated, perhaps inside a secret.
        more = f"…(+{self._dropped})\n[so many further characters were dropped]" if self._dropped else ""
        return "".join(self._pieces) + more


def _function(name: str) -> Any:
    """A function with this name. The sandbox only needs the name; the function itself is never called."""

    def offered() -> None:
        raise NotImplementedError

    return FunctionType(offered.__code__, {}, name)


def _line(code: str, position: Any) -> int:
    """The line of a call, from 1; 0 if it is in an earlier block."""
    encoded = code.encode()
    return encoded[: position.start].count(b"\n") + 1 if position.end <= len(encoded) else 0


def _type_errors(diagnostics: str, tools: Iterable[str]) -> str:
    """The certain errors of the type checker: syntax, a missing `await`, wrong arguments of a tool, wrong use of a
    Frame. A variable whose type changes is not an error.
    """
    found = []
    for remark in json.loads(diagnostics):
        code, message, line = remark["code"], remark["message"], remark["location"]["row"]
        about_tool = code in _CALL_SHAPES and any(f"function `{name}`" in message for name in tools)
        if code == "invalid-syntax":
            found.append(f"line {line}: SyntaxError: {message}")
        elif "CoroutineType[" in message and code != "invalid-assignment":
            found.append(f"line {line}: this call must be awaited: {_without_coroutine(message)}")
        elif about_tool:
            found.append(f"line {line}: TypeError: {message}")
    return "\n".join(found)


def _without_coroutine(message: str) -> str:
    return re.sub(r"CoroutineType\[Any, Any, (.*?)\](?=`)", r"coroutine that gives \1", message)


def _forgotten(awaited: Iterable[_Awaited]) -> str:
    calls = ", ".join(f"{one.name}(…) in line {one.line}" for one in awaited)
    return f"RuntimeError: the result of {calls} was never awaited. Write `await` before the call."


def _own_lines(shown: str) -> str:
    """A traceback without the frames of the prelude."""
    return re.sub(r'  File "<python-input-0>", line \d+, in \w+\n(?:    .*\n)*', "", shown)


def _explained(shown: str) -> str:
    if "cannot suspend in this synchronous context" in shown:
        return f"{shown}\nA tool cannot be called from inside a method such as list.sort; call it in a loop before."
    return _MISSING.sub(r"\1: no packages are here, only parts of the standard library; a frame needs no import", shown)


def _monty() -> Any:
    import pydantic_monty

    return pydantic_monty


_STUBS = "import_stubs"

_MISSING = re.compile(r"^(ModuleNotFoundError: No module named '.*')$", re.MULTILINE)
