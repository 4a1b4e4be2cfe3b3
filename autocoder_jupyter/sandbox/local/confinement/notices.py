"""Answer the kernel's questions about a worker's system calls: new processes, signals and scheduling."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.confinement.kernel_features import ARRIVAL, BIRTHS, BY_PROCESS, call_number

# Questions and answers (seccomp user notification)

_RECEIVE, _SEND, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40182103
_NOTICE, _ANSWER, _DESCRIPTOR = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI"), struct.Struct("=QIIII")
_CONTINUE = 1
_AT_THIS_NUMBER = 1


@dataclass(frozen=True)
class SystemCall:
    """A system call that waits for an answer.

    Args:
        caller: id of the calling thread, in the PID namespace of this process.
        arguments: the low 32 bits of its arguments, as signed numbers.
    """

    identity: int
    caller: int
    call: int
    arguments: tuple[int, ...]


class SystemCallListener:
    """Receives the kernel's questions and sends the answers. Not threadsafe; `close` closes the descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """The descriptor. It is readable when there is a question."""
        return self._descriptor

    def receive(self) -> SystemCall | None:
        """Receive the next question; None if the calling thread has ended."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self._descriptor, _RECEIVE, notice)
        except OSError:
            return None
        identity, caller, _, call, _, _, *arguments = _NOTICE.unpack(notice)
        return SystemCall(identity, caller, call, tuple(map(_signed, arguments)))

    def answer(self, question: SystemCall, error: int, *, continues: bool = False) -> bool:
        """Answer a question."""
        try:
            message = _ANSWER.pack(question.identity, 0, -error, _CONTINUE if continues else 0)
            fcntl.ioctl(self._descriptor, _SEND, message)
        except OSError:
            return False
        return True

    def give(self, question: SystemCall, descriptor: int, number: int) -> None:
        """Copy an open descriptor of this process to the caller."""
        fcntl.ioctl(
            self._descriptor,
            _ADD_DESCRIPTOR,
            _DESCRIPTOR.pack(question.identity, _AT_THIS_NUMBER, descriptor, number, 0),
        )

    def close(self) -> None:
        """Close the descriptor. System calls with a question then fail."""
        os.close(self._descriptor)


def _signed(value: int) -> int:
    return ctypes.c_int(value & 0xFFFFFFFF).value


# Decisions
#
# They depend only on numbers in the arguments, not on memory, so the program cannot change them after the check.

_VISIBLE_AFTER = 0.5
"""Seconds after which a new process is certainly visible in /proc."""

Verdict = tuple[int, bool]
"""An errno, and whether the kernel executes the call."""


class Judge:
    """Decides about the system calls of one worker.

    Args:
        worker: process id of the worker's first process.
        namespaced: whether the worker is in another PID namespace than this process.
        outside: processes that do not belong to the worker, but may be in its process group.
    """

    def __init__(self, worker: int, processes: int, *, namespaced: bool = False, outside: Sequence[int] = ()) -> None:
        self._worker = worker
        self._processes = processes
        self._namespaced = namespaced
        self._outside = (0, *outside)
        self._allowed: dict[int, float] = {}  # threads that were allowed to fork, and when
        self._births = numbers_of(BIRTHS)
        self._by_process = {call_number(name): argument for name, argument in BY_PROCESS.items()}
        self._kill, self._tkill, self._arrival = map(call_number, ("kill", "tkill", ARRIVAL))

    def verdict(self, question: SystemCall) -> Verdict:
        """The answer to a system call of a process of the worker."""
        number, arguments = question.call, question.arguments
        try:
            if number == self._arrival:
                return errno.ENOSYS, False
            if number in self._births:
                return self._birth(question.caller)
            if number in self._by_process:
                known = self._owns(process_of(self._seen_here(arguments[self._by_process[number]])))
                return (0, True) if known else (errno.EPERM, False)
            return self._signal(number, question.caller, arguments)
        except OSError as failure:
            return failure.errno or errno.EPERM, False

    def _birth(self, caller: int) -> Verdict:
        now = time.monotonic()
        # A new process may not be in /proc yet, so recent permissions are counted. A caller that asks again already has
        # its earlier process.
        others = self._allowed.items()
        self._allowed = {who: when for who, when in others if who != caller and now - when < _VISIBLE_AFTER}
        if process_tree.threads(self._own()) + len(self._allowed) >= self._processes:
            return errno.EAGAIN, False
        self._allowed[caller] = now
        return 0, True

    def _signal(self, number: int, caller: int, arguments: Sequence[int]) -> Verdict:
        """Allow signals only within the worker. A signal to another process is sent by this process."""
        target, own = arguments[0], process_of(caller)
        if target == 0 and number == self._kill:
            apart = os.getpgid(own) not in map(os.getpgid, self._outside)
            return (0, True) if apart else (errno.EPERM, False)
        if target < 0:
            return self._group_signal(number, -target, arguments[1])
        target = self._seen_here(target)
        if (process_of(target) if number == self._tkill else target) == own:
            return 0, True
        if number == self._kill:
            handle = os.pidfd_open(target)  # opened before the check, because a process id can be reused
            try:
                if not self._owns(target):
                    return errno.EPERM, False
                signal.pidfd_send_signal(handle, arguments[1])
                return 0, False
            finally:
                os.close(handle)
        return errno.EPERM, False

    def _group_signal(self, number: int, group: int, what: int) -> Verdict:
        if number == self._kill and group > 1:
            groups = {self._inside(pid, "NSpgid"): os.getpgid(pid) for pid in self._own() if _lives(pid)}
            if group in groups:
                os.killpg(groups[group], what)
                return 0, False
        return errno.EPERM, False

    def _own(self) -> list[int]:
        return [self._worker, *process_tree.descendants(self._worker)]

    def _owns(self, pid: int) -> bool:
        return pid in self._own()

    def _seen_here(self, number: int) -> int:
        """Translate the id of a process or thread from the worker's PID namespace to that of this process."""
        if not self._namespaced:
            return number
        for pid in self._own():
            for thread in process_tree.thread_ids(pid):
                if self._inside(thread, "NSpid") == number:
                    return thread
        raise ProcessLookupError(errno.ESRCH, "gone")

    def _inside(self, task: int, field: str) -> int:
        """An id of a task in the worker's namespace. The line has one for each namespace, the innermost last."""
        return int(status_of(task, field)[-1 if self._namespaced else 0])


def numbers_of(calls: Sequence[str]) -> set[int]:
    """The numbers of these system calls. Calls that this machine does not have are left out."""
    found = set()
    for name in calls:
        try:
            found.add(call_number(name))
        except OSError:
            continue
    return found


def process_of(task: int) -> int:
    """The process to which a thread belongs."""
    return int(status_of(task, "Tgid")[0])


def status_of(task: int, field: str) -> list[bytes]:
    """The values of one line of the status of a process or thread."""
    for line in process_tree.content(f"/proc/{task}/status").splitlines():
        name, _, values = line.partition(b":")
        if name == field.encode():
            return values.split()
    raise ProcessLookupError(errno.ESRCH, "gone")


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
