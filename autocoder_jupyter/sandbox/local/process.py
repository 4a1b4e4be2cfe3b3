"""The notebook's side of a sandboxed process tree on this machine: three streams, a kill, the reason of its end."""

from __future__ import annotations

import abc
import contextlib
import fcntl
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import IO, Any

from autocoder_jupyter import errors
from autocoder_jupyter.concurrency.threads import start_thread
from autocoder_jupyter.sandbox.host.process import ExitReason
from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.supervisor import AT_REST, AT_WORK, Policy, TreeEnding
from autocoder_jupyter.sandbox.programs import program_text

END_SECONDS = 3 * process_tree.SECONDS_TO_DIE
"""Seconds in which the supervisor must kill its tree. After that the notebook kills it.

The supervisor first completes a check of the tree, then waits for the worker's descendants, then for the worker.
"""

_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031


def start_supervisor(
    module: str, descriptors: Sequence[int], output: int, requests: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start a supervisor in an isolated interpreter and its own session.

    Args:
        module: name of a module of `sandbox.local`; its `main` gets the descriptors.
        descriptors: the supervisor inherits them.
        output: `subprocess.PIPE`, or `subprocess.DEVNULL` if its output is not read.
        requests: descriptor of its standard input; `subprocess.PIPE` for a new pipe.
    """
    import_path = str(Path(errors.__file__).parent.parent)
    return subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            "-B",
            "-c",
            program_text("start_supervisor"),
            import_path,
            module,
            *map(str, descriptors),
        ],
        stdin=requests,
        stdout=output,
        stderr=output,
        bufsize=0,
        pass_fds=descriptors,
        env={"LANG": "C.UTF-8"},
        cwd="/",
        start_new_session=True,  # a Ctrl-C for the kernel must not reach the worker
    )


class SupervisedProcess(abc.ABC):
    """A worker with a supervisor: the common part of the local implementations of `sandbox.host.process.Process`.

    Args:
        lifeline: descriptor that the supervisor reads. Closing it ends the worker.
        report: descriptor on which the supervisor reports, as one line, that the worker has ended.
    """

    def __init__(self, lifeline: int, report: int) -> None:
        self._lifeline, self._report = lifeline, report
        self._lock = threading.Lock()
        self._reason: ExitReason | None = None
        self._killed = False

    def watch(self, at_work: bool) -> None:
        """Tell the supervisor whether a program may run, so that it checks limits more often."""
        with self._lock, contextlib.suppress(BrokenPipeError):  # if the supervisor has ended, the streams show it
            if not self._killed:
                os.write(self._lifeline, AT_WORK if at_work else AT_REST)

    def kill(self) -> None:
        """Kill the whole tree, and wait for its end. May be called repeatedly and from any thread."""
        with self._lock:
            if not self._killed:
                self._killed = True
                os.close(self._lifeline)
                self._reason = self._reason or self._read_reason()
                self._reap()

    def exit_reason(self) -> ExitReason:
        """Why the tree ended."""
        with self._lock:
            self._reason = self._reason or self._read_reason()
            return self._reason

    def _read_reason(self) -> ExitReason:
        line = read_line(self._report, END_SECONDS)
        os.close(self._report)
        if line:
            return reason_of(TreeEnding(**json.loads(line)))
        self._end_without_report()
        return ExitReason(engine_gone=True, text="The supervisor of the worker ended or does not answer.")

    @abc.abstractmethod
    def _end_without_report(self) -> None:
        """Kill the whole tree, because its supervisor has ended or does not answer."""

    @abc.abstractmethod
    def _reap(self) -> None:
        """Reap the processes that were started for this worker alone. Returns at once."""


class LocalProcess(SupervisedProcess):
    """A supervisor and its worker; satisfies `sandbox.host.process.Process`."""

    def __init__(self, policy: Policy, lock: int) -> None:
        """Start the supervisor.

        Args:
            policy: of the worker.
            lock: descriptor of the lock on the worker's folder. It is closed here; the supervisor has a copy.

        Raises:
            OSError: the supervisor cannot be started, for instance because too many files are open.
        """
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            theirs.callback(os.close, lock)
            their_lifeline, lifeline = os.pipe()
            theirs.callback(os.close, their_lifeline)
            ours.callback(os.close, lifeline)
            report, their_report = os.pipe()
            theirs.callback(os.close, their_report)
            ours.callback(os.close, report)
            theirs_of_requests, requests = request_sockets()
            theirs.callback(os.close, theirs_of_requests)
            ours.callback(os.close, requests)
            given = [their_lifeline, their_report, lock]
            self._supervisor = start_supervisor("supervisor", given, subprocess.PIPE, theirs_of_requests)
            ours.pop_all()  # it has started; they are open until the worker has ended
            self._requests = FileIO(requests, "wb")
        super().__init__(lifeline, report)
        self.folder = policy.folder
        self._group = policy.control_group()
        widen(self.data)
        with contextlib.suppress(BrokenPipeError):
            os.write(self._lifeline, json.dumps(asdict(policy)).encode() + b"\n")

    @property
    def requests(self) -> FileIO:
        """The worker's standard input."""
        return self._requests

    @property
    def data(self) -> FileIO:
        """The worker's standard output."""
        return _raw(self._supervisor.stdout)

    @property
    def control(self) -> FileIO:
        """The worker's standard error."""
        return _raw(self._supervisor.stderr)

    def _reap(self) -> None:
        # The supervisor may still be removing files.
        start_thread(self._supervisor.wait, "autocode-reap")

    def _end_without_report(self) -> None:
        process_tree.kill_descendants(self._supervisor.pid)
        self._supervisor.kill()
        if self._group is not None:
            self._group.end()


def reason_of(ending: TreeEnding) -> ExitReason:
    """The reason for the channel, from the last report of a supervisor."""
    return ExitReason(
        out_of_memory=ending.limit == "memory",
        signal=ending.signal,
        exit_code=ending.exit_code,
        text=ending.text,
        engine_gone=ending.failed,
        limit="" if ending.limit == "memory" else ending.limit,
    )


def read_line(descriptor: int, seconds: float) -> bytes:
    """Read a line; b"" at the end of the stream or of the time limit."""
    deadline = time.monotonic() + seconds
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    line = b""
    while not line.endswith(b"\n"):
        readable = poll.poll(max(deadline - time.monotonic(), 0.0) * 1000)
        piece = os.read(descriptor, 65536) if readable else b""
        if not piece:
            return b""
        line += piece
    return line


def _raw(stream: IO[Any] | None) -> FileIO:
    assert isinstance(stream, FileIO)
    return stream


def request_sockets() -> tuple[int, int]:
    """A pair of sockets for requests: the worker's end and the notebook's. It can also carry descriptors."""
    theirs, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return theirs.detach(), ours.detach()


def widen(stream: FileIO) -> None:
    """Request a larger buffer for a pipe, so that large frames need fewer context switches. The system may refuse."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(stream.fileno(), _F_SETPIPE_SZ, _PIPE_BYTES)
