"""What the kernel asks about a worker's system calls: may it have another process, signal this one, slow that one down.

What is looked at are numbers and nothing in memory, so nothing can change between the look and the act.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import struct
import time
from pathlib import Path

from autocoder_jupyter.sandbox import process_tree
from autocoder_jupyter.sandbox.confinement.filters import BIRTHS, BY_PROCESS
from autocoder_jupyter.sandbox.confinement.kernel import call_number

_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NOTICE, _ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_CONTINUE = 1
_SEEN_AFTER = 0.5
"""Seconds after which a new process is surely to be seen in /proc."""

_Verdict = tuple[int, int]
"""An errno, and whether the kernel goes on with the call."""


class Notices:
    """Answers them. Not threadsafe.

    Args:
        listener: the descriptor of the filter; closed by `close`.
        worker: process id of the worker's first process.
        processes: processes and threads at most.
    """

    def __init__(self, listener: int, worker: int, processes: int) -> None:
        self._listener = listener
        self._worker = worker
        self._processes = processes
        self._allowed: dict[int, float] = {}  # who asked for a process, and when
        self._births = {call_number(name) for name in BIRTHS if _exists(name)}
        self._by_process = {call_number(name): argument for name, argument in BY_PROCESS.items()}
        self._kill, self._tkill = call_number("kill"), call_number("tkill")

    def fileno(self) -> int:
        """The descriptor; readable when something is asked."""
        return self._listener

    def answer(self) -> None:
        """Answer one question. Returns at once when who asked is gone."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, notice)
            identity, caller, _, number, _, _, *arguments = _NOTICE.unpack(notice)
            error, goes_on = self._judged(number, caller, [_signed(value) for value in arguments])
            fcntl.ioctl(self._listener, _SEND, _ANSWER.pack(identity, 0, -error, goes_on))
        except OSError:
            return

    def _judged(self, number: int, caller: int, arguments: list[int]) -> _Verdict:
        try:
            if number in self._births:
                return self._birth(caller)
            if number in self._by_process:
                known = self._owns(_process_of(arguments[self._by_process[number]]))
                return (0, _CONTINUE) if known else (errno.EPERM, 0)
            return self._signal(number, caller, arguments)
        except OSError as failure:
            return failure.errno or errno.EPERM, 0

    def _birth(self, caller: int) -> _Verdict:
        now = time.monotonic()
        # Who asks again has the one before; of the others the newest may not be in /proc yet.
        others = self._allowed.items()
        self._allowed = {who: when for who, when in others if who != caller and now - when < _SEEN_AFTER}
        pids = [self._worker, *process_tree.descendants(self._worker)]
        if process_tree.threads(pids) + len(self._allowed) >= self._processes:
            return errno.EAGAIN, 0
        self._allowed[caller] = now
        return 0, _CONTINUE

    def _signal(self, number: int, caller: int, arguments: list[int]) -> _Verdict:
        """Signals stay within the worker's processes. Those to another process are sent from here."""
        target, own = arguments[0], _process_of(caller)
        if number == self._tkill:
            target = _process_of(target)
        if target == own or (target == 0 and number == self._kill and os.getpgid(own) != os.getpgid(0)):
            return 0, _CONTINUE
        if number == self._kill and target > 0:
            handle = os.pidfd_open(target)  # before the look: a number may be given to another process
            try:
                if not self._owns(target):
                    return errno.EPERM, 0
                signal.pidfd_send_signal(handle, arguments[1])
                return 0, 0
            finally:
                os.close(handle)
        if number == self._kill and target < -1 and self._owns_group(-target):
            os.killpg(-target, arguments[1])
            return 0, 0
        return errno.EPERM, 0

    def _owns(self, pid: int) -> bool:
        return pid == self._worker or pid in process_tree.descendants(self._worker)

    def _owns_group(self, group: int) -> bool:
        members = (self._worker, *process_tree.descendants(self._worker))
        return any(os.getpgid(pid) == group for pid in members if Path(f"/proc/{pid}").exists())

    def close(self) -> None:
        """Answer no more; whoever asks then gets an error."""
        os.close(self._listener)


def _exists(call: str) -> bool:
    try:
        call_number(call)
    except OSError:
        return False
    return True


def _signed(value: int) -> int:
    return ctypes.c_int(value & 0xFFFFFFFF).value


def _process_of(task: int) -> int:
    """The process that a thread belongs to.

    Raises:
        OSError: there is no such thread.
    """
    for line in Path(f"/proc/{task}/status").read_text("utf-8", "replace").splitlines():
        if line.startswith("Tgid:"):
            return int(line.split()[1])
    raise ProcessLookupError(errno.ESRCH, "gone")
