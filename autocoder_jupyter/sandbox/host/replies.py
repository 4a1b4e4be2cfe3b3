"""Decode the answer of a program into values or a typed error. The answer is not trusted."""

from __future__ import annotations

import atexit
import contextlib
import functools
import math
import shutil
import signal
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autocoder_jupyter import codec
from autocoder_jupyter.errors import OutOfMemory, OutputRefused, SandboxCrash, SandboxError, SolutionError, WrongType
from autocoder_jupyter.kinds.table import misfit
from autocoder_jupyter.sandbox.host.messages import boundary_hint, stable
from autocoder_jupyter.sandbox.temporary_folder import TemporaryFolder, make_folder
from autocoder_jupyter.sandbox.worker.entries import OutOfBounds, unpacked
from autocoder_jupyter.types import Dir, Figure, File, OutputSpec
from autocoder_jupyter.untrusted.visible import visible

# Answers

_LONGEST_TEXT = 40_000
"""Most characters that are read of a text in an error frame. The worker sends no longer traceback."""

MEMORY_HINT = "Give the sandbox more memory, or let the function work on less at a time."

_SIGNALS = {
    signal.SIGSEGV: "a segmentation fault",
    signal.SIGABRT: "an abort",
    signal.SIGBUS: "a bus error",
    signal.SIGFPE: "an arithmetic fault",
    signal.SIGILL: "an illegal instruction",
    signal.SIGKILL: "a kill",
    signal.SIGTERM: "a termination signal",
    signal.SIGSYS: "a forbidden system call",
}


@dataclass(frozen=True)
class CallAnswer:
    """The undecoded answer to a call: a result frame or an error frame. It is not trusted.

    Args:
        stdout: the cleaned standard output of the call.
        stderr: the cleaned standard error of the call.
        changed: names of the arguments that were changed in place; () if this was not watched.
    """

    header: dict[str, Any]
    payload: memoryview
    stdout: str
    stderr: str
    folder: str
    changed: tuple[str, ...] = ()


class Digests(Mapping[str, str]):
    """Content hashes of outputs by name. They are computed on first use, because large frames take long.

    Read a digest before you change the value: it is computed from the present value.
    """

    def __init__(self, makers: Mapping[str, Callable[[], str]]) -> None:
        self._makers = makers
        self._known: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._known:
            self._known[name] = self._makers[name]()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def read_outputs(
    header: Mapping[str, Any], payload: memoryview, specs: Sequence[OutputSpec]
) -> tuple[dict[str, Any], Digests]:
    """The validated values of a result frame by name, and their digests."""
    entries = header.get("outputs")
    if not isinstance(entries, list) or len(entries) != len(specs):
        raise refused("another number of outputs than declared")
    for entry, spec in zip(entries, specs, strict=True):
        own = entry.get("header") if isinstance(entry, dict) else None
        if not isinstance(own, dict) or entry.get("name") != spec.name or own.get("type") != spec.type:
            raise refused(f"output {spec.name!r} is not the one that was declared")
    try:
        parts = list(unpacked(entries, payload))
    except OutOfBounds as error:
        raise refused(f"output {error} reaches beyond its payload") from None
    values: dict[str, Any] = {}
    makers: dict[str, Callable[[], str]] = {}
    for (entry, part), spec in zip(parts, specs, strict=True):
        own = entry["header"]
        try:
            value = values[spec.name] = receive(own, part, trusted=False)
        except codec.Corrupt as error:
            raise refused(f"output {spec.name!r}: {error}") from None
        if problem := misfit(value, spec.elements):
            why = f"Output {spec.name!r} is declared as {spec.written_type}: {problem}."
            raise WrongType("The function does not return what it declares.", why=why)
        makers[spec.name] = _digest_of(value, own, part)
    return values, Digests(makers)


class EarlyOutputs:
    """The outputs of an answer, which are read as soon as it has come: meanwhile the worker ends the call."""

    def __init__(self, specs: Sequence[OutputSpec]) -> None:
        self._specs = specs
        self._read: tuple[dict[str, Any], Digests] | None = None
        self._error: Exception | None = None

    def read(self, header: Mapping[str, Any], payload: memoryview) -> None:
        """Read the outputs of a frame, if it is a result."""
        if header["kind"] == "result":
            try:
                self._read = read_outputs(header, payload, self._specs)
            except Exception as error:  # what the worker reports of the program comes first
                self._error = error

    def outputs(self) -> tuple[dict[str, Any], Digests]:
        """What `read_outputs` has returned of the frame, or its error."""
        if self._read is None:
            raise self._error or refused("an answer that is not a result")
        return self._read


def seconds_of(value: object) -> float | None:
    """The duration in a header; None if the value is not a number of seconds, or too large."""
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e9 else None


def refused(why: str) -> OutputRefused:
    """The error for an answer that violates the protocol."""
    return OutputRefused("What the program sent back is not acceptable.", why=stable(why, "", 2_000))


def program_error(header: Mapping[str, Any], *, stderr: str, folder: str) -> SandboxError:
    """The typed error that an error frame describes."""
    kind = header.get("error")
    message = _text(header.get("message"), folder)
    if kind == "OutOfMemory":
        return OutOfMemory("The function ran out of memory.", hint=MEMORY_HINT)
    if kind == "WrongType":
        return WrongType("The function does not return what it declares.", why=message)
    if kind == "SystemExit":
        return SandboxCrash(
            "The function ended the interpreter instead of returning.",
            why=f"sys.exit({_text(header.get('code'), folder)}) at {_place(header)}",
        )
    if kind != "SolutionError":
        return refused("an error of an unknown kind")
    exception = visible(_text(header.get("exception_type"), folder)[:200])
    line, traceback = header.get("line"), _text(header.get("traceback"), folder)
    return SolutionError(
        f"The function raised {exception}: {message}" if message else f"The function raised {exception}.",
        why=_place(header),
        hint=boundary_hint(exception, message, traceback),
        exception_type=exception,
        line=line if type(line) is int else None,
        source=_text(header.get("source"), folder),
        stderr=stderr,
        traceback=traceback,
    )


def crash(report: Mapping[str, Any], *, stderr: str) -> SandboxError:
    """The error for a program that ended without an answer."""
    number = report.get("signal")
    if report.get("out_of_memory"):
        return OutOfMemory("The program was killed because it needed more memory than allowed.", hint=MEMORY_HINT)
    if report.get("disk_full"):
        return SandboxCrash(
            "The program went over its limit of disk.", why="It wrote more into mapped files than fits.", signal=number
        )
    last = stderr.strip().rsplit("\n", 1)[-1][:300]
    if number is None:
        code = report.get("exit_code")
        how = f"with exit code {code}" if code is not None else "by closing its channel"
        return SandboxCrash(f"The program ended the interpreter in the middle of the call, {how}.", why=last)
    return SandboxCrash(f"The interpreter died of {signal_words(number)}.", why=last, signal=number)


def signal_words(number: int) -> str:
    """A signal in words: `a segmentation fault (SIGSEGV)`."""
    try:
        known = signal.Signals(number)
    except ValueError:
        return f"signal {number}"
    words = _SIGNALS.get(known)
    return f"{words} ({known.name})" if words else known.name


def _place(header: Mapping[str, Any]) -> str:
    line, source = header.get("line"), header.get("source")
    return f"line {line}: {visible(_text(source, '')[:300])}" if type(line) is int else ""


def _text(value: Any, folder: str) -> str:
    return stable(value, folder, _LONGEST_TEXT) if isinstance(value, str) else ""


def _digest_of(value: Any, header: dict[str, Any], part: memoryview) -> Callable[[], str]:
    kind = header["type"]
    if kind in ("DataFrame", "Series"):  # equal values can have different bytes
        return lambda: codec.encode(value, kind).digest()
    digest = codec.Encoded(header, (part,)).digest()
    return lambda: digest


# Values


def receive(header: Mapping[str, Any], payload: memoryview, *, trusted: bool) -> Any:
    """Decode the value that was encoded as `header` and `payload`.

    A `File` or `Dir` is in a temporary folder that belongs to the value, as with `tempfile.TemporaryDirectory`. The
    folder is removed with the value, at the latest when the interpreter ends. Move or copy the file to keep it.

    Raises:
        codec.Corrupt: the value is invalid. No file is left on disk.
    """
    if header.get("type") not in ("File", "Dir"):
        with decoding_turn(payload):
            value = codec.decode(header, payload, folder=Path(), trusted=trusted)
        return _with_figures(value) if header.get("type") == "Figure" or "of" in header else value
    folder = tempfile.mkdtemp(dir=_outputs())
    try:
        path = codec.decode(header, payload, folder=Path(folder), wrap_path=_wrap, trusted=trusted)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(path, shutil.rmtree, folder, ignore_errors=True)
    return path


def _with_figures(value: Any) -> Any:
    """The pictures as figures, also in a list or dict."""
    if isinstance(value, list):
        return list(map(_with_figures, value))
    if isinstance(value, dict):
        return {key: _with_figures(item) for key, item in value.items()}
    return Figure(**vars(value)) if isinstance(value, codec.Picture) else value


def _outputs() -> Path:
    """The folder of all files that functions returned to this process. A later process removes it after a crash."""
    folder = _made_once(tempfile.gettempdir()).path
    folder.mkdir(mode=0o700, exist_ok=True)  # a system may clean up its temporary files meanwhile
    return folder


@functools.cache
def _made_once(place: str) -> TemporaryFolder:
    """The folder in this place, which is the system's temporary folder."""
    folder = make_folder("output")
    atexit.register(folder.remove)
    return folder


def _wrap(kind: str, path: Path) -> File | Dir:
    return File(path) if kind == "File" else Dir(path)


# Turns
#
# Small values are encoded and decoded one at a time, whatever the number of threads. This is many short steps of Arrow
# and pandas, most of which let another thread run. If several threads do it at once, they wake each other at each step:
# two then take twice as long as one that does the work of both (measured for tables of 1,000 rows and 10 columns: 0.65
# instead of 0.29 ms each, and four times the processor time). Large values let the other threads run for long, and take
# no turn. The wait for a turn is short, because nothing is wrong without it: a user's object in a table may itself call
# a function, on another thread, while the table is encoded.

_SMALL_CELLS = 100_000
_SMALL_BYTES = 1 << 20
_LONGEST_WAIT = 0.1

_turn = threading.RLock()  # a user's object in a table may itself call a function


def encoding_turn(value: Any) -> AbstractContextManager[None]:
    """The turn of a table or an array, if it is small. Other values may be files of any size, and take none."""
    shape = getattr(value, "shape", None)
    return _in_turn() if isinstance(shape, tuple) and math.prod(shape) <= _SMALL_CELLS else contextlib.nullcontext()


def decoding_turn(payload: memoryview) -> AbstractContextManager[None]:
    """The turn of these encoded bytes, if they are few."""
    return _in_turn() if payload.nbytes <= _SMALL_BYTES else contextlib.nullcontext()


@contextlib.contextmanager
def _in_turn() -> Iterator[None]:
    has_turn = _turn.acquire(timeout=_LONGEST_WAIT)
    try:
        yield
    finally:
        if has_turn:
            _turn.release()
