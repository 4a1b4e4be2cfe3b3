"""Answer the kernel's questions about a worker's system calls: new processes, signals and scheduling.

What is looked at are numbers and nothing in memory, so nothing can change between the look and the act.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.confinement.filters import ARRIVAL, BIRTHS, BY_PROCESS
from autocoder_jupyter.sandbox.local.confinement.kernel import call_number
from autocoder_jupyter.sandbox.local.confinement.listener import Listener, Question

_SEEN_AFTER = 0.5
"""Seconds after which a new process is certainly visible in /proc."""

Verdict = tuple[int, bool]
"""An errno, and whether the kernel goes on with the call."""


class Judge:
    """Decides for one worker.

    Args:
        worker: process id of the worker's first process.
        processes: processes and threads at most.
        namespaced: whether the worker knows processes by other numbers than this process does.
        outside: processes that share nothing with the worker, though it may be in a group with them.
    """

    def __init__(self, worker: int, processes: int, *, namespaced: bool = False, outside: Sequence[int] = ()) -> None:
        self._worker = worker
        self._processes = processes
        self._namespaced = namespaced
        self._outside = (0, *outside)
        self._allowed: dict[int, float] = {}  # who asked for a process, and when
        self._births = numbers_of(BIRTHS)
        self._by_process = {call_number(name): argument for name, argument in BY_PROCESS.items()}
        self._kill, self._tkill, self._arrival = map(call_number, ("kill", "tkill", ARRIVAL))

    def verdict(self, question: Question) -> Verdict:
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
        # Who asks again has the one before; of the others the newest may not be in /proc yet.
        others = self._allowed.items()
        self._allowed = {who: when for who, when in others if who != caller and now - when < _SEEN_AFTER}
        if process_tree.threads(self._own()) + len(self._allowed) >= self._processes:
            return errno.EAGAIN, False
        self._allowed[caller] = now
        return 0, True

    def _signal(self, number: int, caller: int, arguments: Sequence[int]) -> Verdict:
        """Signals stay within the worker's processes. Those to another process are sent from here."""
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
            handle = os.pidfd_open(target)  # before the look: a number may be given to another process
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
        """The process or thread that the worker's processes call by this number, as this process calls it.

        Raises:
            OSError: there is none.
        """
        if not self._namespaced:
            return number
        for pid in self._own():
            for thread in process_tree.thread_ids(pid):
                if self._inside(thread, "NSpid") == number:
                    return thread
        raise ProcessLookupError(errno.ESRCH, "gone")

    def _inside(self, task: int, field: str) -> int:
        """A number of a task as the worker knows it; the line has one for each namespace, the innermost last."""
        return int(_status(task, field)[-1 if self._namespaced else 0])


class Notices:
    """Answers them for one worker that has them to itself. Not threadsafe.

    Args:
        listener: the descriptor of the filter; closed by `close`.
        worker: process id of the worker's first process.
        processes: processes and threads at most.
    """

    def __init__(self, listener: int, worker: int, processes: int) -> None:
        self._listener = Listener(listener)
        self._judge = Judge(worker, processes)

    def fileno(self) -> int:
        """The descriptor; readable when something is asked."""
        return self._listener.fileno()

    def answer(self) -> None:
        """Answer one question. Returns at once when who asked is gone."""
        question = self._listener.receive()
        if question is not None:
            error, goes_on = self._judge.verdict(question)
            self._listener.answer(question, error, goes_on=goes_on)

    def close(self) -> None:
        """Stop answering; system calls that ask then fail."""
        self._listener.close()


def numbers_of(calls: Sequence[str]) -> set[int]:
    """The numbers of these calls, without those that this machine does not have."""
    found = set()
    for name in calls:
        try:
            found.add(call_number(name))
        except OSError:
            continue
    return found


def process_of(task: int) -> int:
    """The process that a thread belongs to.

    Raises:
        OSError: there is no such thread.
    """
    return int(_status(task, "Tgid")[0])


def _status(task: int, field: str) -> list[str]:
    for line in Path(f"/proc/{task}/status").read_text("utf-8", "replace").splitlines():
        name, _, values = line.partition(":")
        if name == field:
            return values.split()
    raise ProcessLookupError(errno.ESRCH, "gone")


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
