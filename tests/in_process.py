"""NOT a sandbox: runs programs in this process, for tests of what the engine makes of values, errors and reports.

It has no isolation and no limits, and its workers share one interpreter. Only for code that a test itself wrote.
Requests and answers are handled by the code of every worker; `test_in_process.py` compares both with the embedded
sandbox.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import types
import warnings
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autocoder_jupyter import codec
from autocoder_jupyter.sandbox.choice import choose
from autocoder_jupyter.sandbox.host.channel import ChannelWorker
from autocoder_jupyter.sandbox.host.exchange import ExitReason
from autocoder_jupyter.sandbox.host.testing import Testing
from autocoder_jupyter.sandbox.protocol import (
    UNWATCHED,
    BuildWatch,
    Environment,
    EnvironmentSpec,
    Probe,
    WorkerLimits,
    WorkerSpec,
)
from autocoder_jupyter.settings.choices import SandboxName

sys.modules.setdefault("autocoder_codec", codec)  # its name inside a sandbox

from autocoder_jupyter.sandbox.worker import calls, frames, tester  # noqa: E402

_RUNNING = threading.RLock()
"""One program at a time: it has the folder, the streams and the module `solution` of this process."""

_NOT_HERE = re.compile(
    r"while True|while 1|itertools\.count|\bsleep\(|\bos\.(_exit|kill|abort|fork|getpid)|ctypes|subprocess"
    r"|signal|threading|socket|set_option|\bgc\.|\bid\(|\bhash\(|\bset\(|sys\.(stdout|stderr)|open\("
)
"""What harms this process, takes time, or depends on the process that it runs in."""

_OWN_MODULES = ("solution", "test_solution")


class _NoExit(types.ModuleType):
    """The module `os` of `tester`, whose process does not end: after its last frame, nothing more is taken."""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _exit(self, code: int) -> None:
        pass


tester.os = _NoExit("os")  # type: ignore[attr-defined]


class _NoProcess:
    """Streams that nobody writes to."""

    def __init__(self) -> None:
        pipes = [os.pipe() for _ in range(3)]
        self.requests, self.data, self.control = (
            os.fdopen(ends[kind == "wb"], kind, 0) for ends, kind in zip(pipes, ("wb", "rb", "rb"), strict=True)
        )
        self._other_ends = [
            os.fdopen(ends[kind == "wb"], kind, 0) for ends, kind in zip(pipes, ("rb", "wb", "wb"), strict=True)
        ]

    def watch(self, at_work: bool) -> None:
        pass

    def kill(self) -> None:
        for stream in self._other_ends:
            stream.close()

    def exit_reason(self) -> ExitReason:
        return ExitReason()


class InProcessWorker(ChannelWorker):
    """A worker that runs each request in this process, as a fresh or kept child would."""

    def __init__(self, limits: WorkerLimits) -> None:
        super().__init__(_NoProcess(), limits)
        self._program = calls.LoadedProgram(shares_folder=True)
        self._place = Path(tempfile.mkdtemp(prefix="in-process-"))
        weakref.finalize(self, shutil.rmtree, self._place, True)
        self.facts = {"folder": str(self._place)}

    def responds(self) -> bool:
        return self.alive

    def _dismiss(self) -> None:
        self._kept = b""

    def _requested(
        self, pieces: Sequence[Any], name: bytes, on_frame: Any, *, child: str, keep: bool, seconds: float
    ) -> dict[str, Any]:
        _refuse(pieces)
        with _RUNNING:
            if child == "fresh" or name != self._kept:
                self._program = calls.LoadedProgram(shares_folder=True)
            with _as_a_process(self._place) as printed:
                for answer in self._answers_to(*_parsed(pieces)):
                    on_frame(*_parsed(answer))
            self._kept = name if keep else b""
        return _report(printed, kept=keep)

    def _answers_to(self, header: dict[str, Any], payload: memoryview) -> Iterable[calls.Pieces]:
        if header["kind"] == "call":
            return [calls.answer(self._program, header, payload)]
        if header["kind"] == "batch":
            return calls.answers(self._program, header, payload)
        if header["kind"] == "arguments":
            return [calls.current_arguments(self._program)]
        raise NotImplementedError(f"{header['kind']} needs a real sandbox")

    def _run_tests(self, testing: Testing) -> dict[str, Any]:
        def tell(pieces: calls.Pieces) -> None:
            if testing.verdicts.exit_code is None:
                testing.take(*_parsed(pieces))

        def ask(pieces: calls.Pieces) -> tuple[dict[str, Any], memoryview]:
            testing.take(*_parsed(pieces))
            assert testing.advance()
            return _parsed(testing.request)

        _refuse(testing.request)
        header, _ = _parsed(testing.request)
        with _RUNNING, _as_a_process(self._place) as printed:
            tester.run(header, tester.TestsHost(tell, ask))
        return _report(printed, kept=False)


def _refuse(pieces: Sequence[Any]) -> None:
    header, _ = _parsed(pieces)
    for source in ("code", "tests"):
        if found := _NOT_HERE.search(str(header.get(source, ""))):
            raise NotImplementedError(f"{found[0]!r} in {source}: mark this test as real_sandbox")


def _parsed(pieces: Sequence[Any]) -> tuple[dict[str, Any], memoryview]:
    return frames.parse(b"".join(pieces))


def _report(printed: tuple[io.StringIO, io.StringIO], *, kept: bool) -> dict[str, Any]:
    stdout, stderr = (stream.getvalue() for stream in printed)
    ended = {"finished": True, "ended_before": False, "out_of_memory": False, "flooded": "", "kept": kept}
    return {**ended, "stdout": stdout, "stderr": stderr}


@contextlib.contextmanager
def _as_a_process(place: Path) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """What a program changes in this process, outside of its own objects, is as before when it has ended."""
    folder, environment = Path.cwd(), dict(os.environ)
    modules: Mapping[str, Any] = {name: sys.modules.get(name) for name in _OWN_MODULES}
    states = random.getstate(), np.random.get_state()
    out, err = io.StringIO(), io.StringIO()
    own = place / str(random.SystemRandom().randrange(10**16))
    own.mkdir()
    with warnings.catch_warnings():
        warnings.resetwarnings()
        os.chdir(own)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                yield out, err
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            for name, module in modules.items():
                sys.modules.pop(name, None)
                if module is not None:
                    sys.modules[name] = module
            random.setstate(states[0])
            np.random.set_state(states[1])
            shutil.rmtree(own, ignore_errors=True)


class InProcessSandbox:
    """Builds environments as the embedded sandbox does, and runs programs in this process."""

    name: SandboxName = "local"

    def probe(self) -> Probe:
        return choose("local").probe()

    def build(self, spec: EnvironmentSpec, *, watch: BuildWatch = UNWATCHED) -> Environment:
        return choose("local").build(spec, watch=watch)

    def examine(self, environment: Environment) -> str:
        return choose("local").examine(environment)

    def start(self, spec: WorkerSpec, *, unlike: Collection[str] = ()) -> InProcessWorker:
        return InProcessWorker(spec.limits)

    def affords_spare(self) -> bool:
        return False


IN_PROCESS = InProcessSandbox()
