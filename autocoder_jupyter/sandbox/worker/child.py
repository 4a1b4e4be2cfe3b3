"""One forked child: its handle in the zygote, and the code that it runs."""

from __future__ import annotations

import contextlib
import fcntl
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
_SECONDS_TO_DIE = 60.0
"""A killed process needs the processor once more before it is gone, which takes a while on a busy machine."""


class ChildExits:
    """Wakes a waiting thread when a child of this process ends. One per process, because it handles the signal."""

    def __init__(self) -> None:
        self.fd, self._wake = os.pipe()
        for fd in self.descriptors:
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What is held open; `fd` is readable after a death."""
        return self.fd, self._wake

    def clear(self) -> None:
        """Forget the exits up to now. To be done before looking who died, so that none is missed."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.fd, 4096):
                pass

    def wait(self, seconds: float) -> None:
        """Return at the next death, or after `seconds`."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        poll.poll(max(seconds, 0.0) * 1000)


@dataclass
class Child:
    """A child as the zygote holds it.

    Args:
        pid: also the number of its process group.
        folder: its working folder, home and temporary folder, removed with it.
        inbox: written: requests.
        outbox: read: its frames.
        done: read: one byte when a request is answered.
        stdout: read: what it prints.
        stderr: read: what it prints.
        program: digest of the program that it has run, empty while it waits for its first.
    """

    pid: int
    folder: Path
    inbox: int
    outbox: int
    done: int
    stdout: int
    stderr: int
    program: bytes = b""
    signal: int | None = None
    exit_code: int | None = None
    _reaped: bool = False

    @property
    def runs(self) -> bool:
        """Whether it is alive; reaps it if it is not."""
        if not self._reaped:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._settle(status)
        return not self._reaped

    def kill(self) -> None:
        """Kill its whole group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close our ends of its pipes."""
        for fd in (self.inbox, self.outbox, self.done, self.stdout, self.stderr):
            os.close(fd)

    def await_end(self, exits: ChildExits, seconds: float) -> None:
        """Wait until it is no more; it may live on."""
        deadline = time.monotonic() + seconds
        while self.runs and time.monotonic() < deadline:
            exits.wait(deadline - time.monotonic())
            exits.clear()

    def reap(self, exits: ChildExits) -> bool:
        """Collect it and what it left to us. False when a process of it lives on, out of reach."""
        if not self._reaped:
            self._settle(os.waitpid(self.pid, 0)[1])
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

    def _settle(self, status: int) -> None:
        self._reaped = True
        if os.WIFSIGNALED(status):
            self.signal = os.WTERMSIG(status)
        else:
            self.exit_code = os.WEXITSTATUS(status)


def spawn(folder: Path, *, not_for_child: Sequence[int], forget: Callable[[], None]) -> Child:
    """Fork a child that waits for its first request.

    Args:
        folder: where it works.
        not_for_child: descriptors it must not have.
        forget: called in the child, so that nothing is left there of what the zygote knows about the request.
    """
    inbox = _pipe()
    outbox = _pipe()
    done, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for fd in (*not_for_child, inbox[1], outbox[0], done[0], stdout[0], stderr[0]):
                os.close(fd)
            forget()
            _become(folder, stdout[1], stderr[1])
            serve(inbox[0], outbox[1], done[1])
        finally:
            os._exit(1)
    for fd in (inbox[0], outbox[1], done[1], stdout[1], stderr[1]):
        os.close(fd)
    for fd in (inbox[1], outbox[0], stdout[0], stderr[0]):
        os.set_blocking(fd, False)
    with contextlib.suppress(OSError):  # the child does it too; either may be first
        os.setpgid(pid, pid)
    return Child(pid, folder, inbox[1], outbox[0], done[0], stdout[0], stderr[0])


def serve(inbox: int, outbox: int, done: int) -> NoReturn:
    """Answer requests until the zygote closes the inbox, or kills.

    A call looks the same from inside, whoever asked for it: a test, the sample, a check, a person. What only one of
    them wants to know, such as how the arguments are now, is asked after the function returned.
    """
    program = calls.Program()
    warmup.rehearse()
    while True:
        request = frames.read(inbox)
        if request is None:
            os._exit(0)
        header, payload = request
        if header["kind"] == "test":
            tester.run(header, conversation(inbox, outbox, done))
            os._exit(0)
        if header["kind"] == "call":
            answer = calls.answer(program, header, payload)
        elif header["kind"] == "command":
            answer = commands.answer(header, payload)
        elif header["kind"] == "arguments" and program.arguments:
            answer = calls.arguments_now(program)
        else:
            os._exit(1)  # what it belongs to is gone with the child before
        del payload
        hand_over(outbox, done, answer)


def hand_over(outbox: int, done: int, answer: calls.Pieces) -> None:
    """Write an answer and say that it is complete."""
    frames.write_all(outbox, answer)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os.write(done, b".")


def conversation(inbox: int, outbox: int, done: int) -> tester.Host:
    """The way from a test to the host: frames of news, and questions that are answered by the next request."""

    def tell(pieces: calls.Pieces) -> None:
        frames.write_all(outbox, pieces)

    def ask(pieces: calls.Pieces) -> tuple[dict[str, Any], memoryview]:
        hand_over(outbox, done, pieces)
        reply = frames.read(inbox)
        if reply is None:
            os._exit(0)
        return reply

    return tester.Host(tell, ask)


def _become(folder: Path, stdout: int, stderr: int) -> None:
    """Turn a fork of the zygote into a place for a program."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    lockdown.lock_child()
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


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    with contextlib.suppress(OSError, AttributeError):  # a user has only so many large pipes
        fcntl.fcntl(ends[0], fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return ends
