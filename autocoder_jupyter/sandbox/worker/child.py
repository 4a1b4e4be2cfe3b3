"""One forked child: its handle in the zygote, and the code that it runs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from . import calls, commands, frames, lockdown, tester, warmup

_PIPE_BYTES = 1 << 20
_HIGH_NUMBER = 64
_SECONDS_TO_DIE = 60.0
"""A killed process needs CPU time once more before it ends, which takes a while on a busy machine."""

_IDLE_SECONDS, _IDLE_SHARE = 1.0, 0.001
"""A process that is ready to run gets more than this share of a core in each second, on any machine that is busy."""

_QUIET_SECONDS = 0.02
"""How long a child waits for its first request before it prepares for it (see `warmup.rehearsal`).

Between requests that follow each other at once, as in a run of tests, the preparation would take more processor time
than it saves.
"""


class ChildExits:
    """Wakes a waiting thread when a child of this process ends. It handles SIGCHLD, so there is one per process."""

    def __init__(self) -> None:
        self.fd, self._wake = os.pipe()
        for fd in self.descriptors:
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The open descriptors. `fd` is readable after a child has ended."""
        return self.fd, self._wake

    def clear(self) -> None:
        """Forget the exits so far. Call it before checking the children, so that no exit is missed."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.fd, 4096):
                pass

    def wait(self, seconds: float) -> None:
        """Wait until a child ends, at most `seconds`."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        poll.poll(max(seconds, 0.0) * 1000)


_OF_PROCESS = 2
"""The clock of the processor time of a process; see `MAKE_PROCESS_CPUCLOCK` of Linux."""


@dataclass
class Child:
    """The zygote's handle of a child process. Descriptors are the zygote's ends of pipes.

    Args:
        pid: its process id, and the id of its process group.
        folder: its working, home and temporary folder; it is removed with the child.
        boxes: for writing requests, and for reading its frames; None if it has a link to the host.
        done: for reading one byte after each answer.
        link: the name of its link; "" without one.
        program: digest of the program that it runs; empty before the first request.
        signal: the signal that ended it, if any.
        exit_code: its exit code, if it exited.
    """

    pid: int
    folder: Path
    boxes: tuple[int, int] | None
    done: int
    stdout: int
    stderr: int
    link: str = ""
    program: bytes = b""
    signal: int | None = None
    exit_code: int | None = None
    _reaped: bool = False
    _processor_seconds: float = 0.0

    @property
    def alive(self) -> bool:
        """Whether it is running. If it has ended, it is reaped."""
        if not self._reaped:
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self._keep_status(status)
                self._processor_seconds = used.ru_utime + used.ru_stime
        return not self._reaped

    @property
    def processor_seconds(self) -> float:
        """The processor time that it has taken so far, in all threads; on a system that cannot say it, the clock."""
        if not self._reaped:
            try:
                self._processor_seconds = time.clock_gettime(~self.pid << 3 | _OF_PROCESS)
            except OSError:
                self._processor_seconds = time.monotonic()
        return self._processor_seconds

    def kill(self) -> None:
        """Kill its process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            while not _killed(self.pid):
                pass

    def close(self) -> None:
        """Close the zygote's ends of its pipes."""
        for fd in (*(self.boxes or ()), self.done, self.stdout, self.stderr):
            os.close(fd)

    def wait_for_exit(self, exits: ChildExits, seconds: float) -> None:
        """Wait until it has ended, at most `seconds`."""
        deadline = time.monotonic() + seconds
        while self.alive and time.monotonic() < deadline:
            exits.wait(deadline - time.monotonic())
            exits.clear()

    def reap(self, exits: ChildExits) -> bool:
        """Reap the killed child and the processes that it started. False if one of them is still running."""
        if not self._reaped:
            self._keep_status(os.waitpid(self.pid, 0)[1])
        deadline = time.monotonic() + _SECONDS_TO_DIE
        while time.monotonic() < deadline:
            exits.clear()
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return True
            exits.wait(deadline - time.monotonic())
        return False

    def _keep_status(self, status: int) -> None:
        self._reaped = True
        if os.WIFSIGNALED(status):
            self.signal = os.WTERMSIG(status)
        else:
            self.exit_code = os.WEXITSTATUS(status)


class TimeTaken:
    """The seconds that a request takes in a child: of processor time, and those in which it waits for something else.

    So a function that sleeps comes to its limit as one that computes does, and one that gets no processor does not.
    """

    def __init__(self, child: Child) -> None:
        self._child = child
        self._begin = self._before = child.processor_seconds
        self._idle, self._looked = 0.0, time.monotonic()

    def seconds(self) -> float:
        """The seconds so far. Call it at least every few seconds."""
        used, elapsed = self._child.processor_seconds, time.monotonic() - self._looked
        if elapsed >= _IDLE_SECONDS:
            self._idle += elapsed if used - self._before < _IDLE_SHARE * elapsed else 0.0
            self._before, self._looked = used, self._looked + elapsed
        return used - self._begin + self._idle


def spawn(
    folder: Path,
    link: int | None,
    name: str,
    *,
    its_filter: bytes,
    not_for_child: Sequence[int],
    forget: Callable[[], None],
) -> Child:
    """Fork a child that waits for its first request."""
    inbox, outbox = ((link, -1), (-1, link)) if link is not None else (_pipe(), _pipe())
    done, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for fd in (*not_for_child, inbox[1], outbox[0], done[0], stdout[0], stderr[0]):
                if fd >= 0:
                    os.close(fd)
            forget()
            frames.keep_name(bytes.fromhex(name))
            _prepare_child(folder, stdout[1], stderr[1], its_filter)
            serve(*_renumbered(inbox[0], outbox[1], done[1]))
        finally:
            os._exit(1)
    for fd in {inbox[0], outbox[1], done[1], stdout[1], stderr[1]}:
        os.close(fd)
    boxes = None if link is not None else (inbox[1], outbox[0])
    for fd in (*(boxes or ()), stdout[0], stderr[0]):
        os.set_blocking(fd, False)
    with contextlib.suppress(OSError):  # the child does it, too; either may be first
        os.setpgid(pid, pid)
    return Child(pid, folder, boxes, done[0], stdout[0], stderr[0], link=name)


def serve(inbox: int, outbox: int, done: int) -> NoReturn:
    """Answer requests until the zygote closes the inbox or kills this process.

    The request of a call has no hint of its purpose: a test, the sample run, a check, or a call of the user. Additional
    data, such as the changed arguments, are requested after the function has returned.
    """
    program = calls.LoadedProgram()
    _rehearse_until_readable(inbox)
    while True:
        raw = frames.read_header(inbox)
        if raw is None:
            os._exit(0)
        header = json.loads(raw)
        if header["kind"] != "arguments":
            program.arguments = {}  # so that their memory can be that of the next ones
        payload = frames.read_payload(inbox, header["payload"])
        if header["kind"] == "test":
            tester.run(header, host_of_tests(inbox, outbox, done))
            if not header["stays"]:
                os._exit(0)
            answer = []
        elif header["kind"] == "call":
            answer = calls.answer(program, header, payload)
        elif header["kind"] == "batch":
            answer = []
            for pieces in calls.answers(program, header, payload):
                frames.write_all(outbox, pieces)
        elif header["kind"] == "command":
            answer = commands.answer(header, payload)
        elif header["kind"] == "arguments" and program.arguments:
            answer = calls.current_arguments(program)
        else:
            os._exit(1)  # it belongs to a call of an earlier child
        del payload
        send_answer(inbox, outbox, done, answer)
        del answer


def _rehearse_until_readable(inbox: int) -> None:
    """Prepare for the first request. It is a function, so that a program does not see in `serve` how far it came."""
    if not _is_readable(inbox, _QUIET_SECONDS):
        for _ in warmup.rehearsal():
            if _is_readable(inbox, 0):
                return


def _is_readable(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def send_answer(inbox: int, outbox: int, done: int, answer: calls.Pieces) -> None:
    """Hand over an answer, and signal that it is complete."""
    has_link = inbox == outbox
    if not (has_link and frames.handed_over(outbox, answer)):
        frames.write_all(outbox, answer)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os.write(done, b".")


def host_of_tests(inbox: int, outbox: int, done: int) -> tester.TestsHost:
    """The connection of tests to the host: frames without an answer, and calls that the next request answers."""

    def tell(pieces: calls.Pieces) -> None:
        frames.write_all(outbox, pieces)

    def ask(pieces: calls.Pieces) -> tuple[dict[str, Any], memoryview]:
        send_answer(inbox, outbox, done, pieces)
        reply = frames.read(inbox)
        if reply is None:
            os._exit(0)
        return reply

    return tester.TestsHost(tell, ask)


def _prepare_child(folder: Path, stdout: int, stderr: int, its_filter: bytes) -> None:
    """Prepare a fork of the zygote for a program: lockdown, standard streams, folders, environment variables."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    lockdown.lock_child(its_filter)
    lockdown.show_memory(True)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.close(stdout)
    os.close(stderr)
    os.chdir(folder)
    for name in ("HOME", "TMPDIR", "MPLCONFIGDIR"):
        os.environ[name] = str(folder)
    tempfile.tempdir = None
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )


def _renumbered(*descriptors: int) -> tuple[int, ...]:
    """Move descriptors to the lowest free numbers. Otherwise their numbers would say how many children there were."""
    moved = {fd: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_NUMBER) for fd in dict.fromkeys(descriptors)}
    for fd in moved:
        os.close(fd)
    for fd, high in moved.items():
        moved[fd] = fcntl.fcntl(high, fcntl.F_DUPFD_CLOEXEC, 0)
        os.close(high)
    return tuple(moved[fd] for fd in descriptors)


def _killed(group: int) -> bool:
    """Kill a process group. False if the end of a child interrupted it while the supervisor decided about it."""
    try:
        os.killpg(group, signal.SIGKILL)
    except InterruptedError:
        return False
    return True


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    with contextlib.suppress(OSError, AttributeError):  # the number of large pipes of a user is limited
        fcntl.fcntl(ends[0], fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return ends
