"""The loop of a supervisor: wait, answer system calls, watch workers. Here for one worker; `forking` has several."""

from __future__ import annotations

import abc
import errno
import os
import select
import time
from collections.abc import Sequence

from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.confinement.notices import SystemCall, SystemCallListener, Verdict
from autocoder_jupyter.sandbox.local.limits import WatchedWorker
from autocoder_jupyter.sandbox.local.messages import TreeEnding


class Supervision(abc.ABC):
    """Serves workers until their end.

    Args:
        listener: receives the system calls about which this process decides.
    """

    def __init__(self, listener: SystemCallListener, parent: int) -> None:
        self.listener, self._parent = listener, parent

    def run(self) -> None:
        """Serve until the end."""
        while os.getppid() == self._parent and self._serve():
            pass

    def _serve(self) -> bool:
        """Wait, and serve once. False at the end."""
        poll = select.poll()
        for descriptor in (self.listener.fileno(), *self.watched):
            poll.register(descriptor, select.POLLIN)
        woken = {descriptor for descriptor, _ in poll.poll(max(self.due - time.monotonic(), 0.0) * 1000)}
        if self.listener.fileno() in woken:
            self._answer()
        return self.turn(woken)

    def _answer(self) -> None:
        question = self.listener.receive()
        if question is None:
            return
        try:
            verdict = self.verdict(question)
        except OSError as error:
            verdict = error.errno or errno.EPERM, False
        if verdict is not None:
            self.listener.answer(question, verdict[0], continues=verdict[1])

    @property
    @abc.abstractmethod
    def watched(self) -> list[int]:
        """Further descriptors to wait for."""

    @property
    @abc.abstractmethod
    def due(self) -> float:
        """When to call `turn` without a woken descriptor, by the monotonic clock."""

    @abc.abstractmethod
    def verdict(self, question: SystemCall) -> Verdict | None:
        """The answer to a system call; None if it must wait."""

    @abc.abstractmethod
    def turn(self, woken: set[int]) -> bool:
        """Watch the workers. False at the end."""


class OneWorker(Supervision):
    """Serves a worker that this process has started itself.

    Args:
        listener: see `Supervision`.
        parent: see `Supervision`.
    """

    def __init__(self, listener: SystemCallListener, parent: int, worker: WatchedWorker) -> None:
        super().__init__(listener, parent)
        self._worker = worker
        self.ending = TreeEnding(text="the notebook has ended")
        """Why the worker has ended."""

    @property
    def watched(self) -> list[int]:
        """See `Supervision`."""
        return [*self._worker.watched]

    @property
    def due(self) -> float:
        """See `Supervision`."""
        return self._worker.due

    def verdict(self, question: SystemCall) -> Verdict | None:
        """See `Supervision`."""
        return self._worker.judge.verdict(question)

    def turn(self, woken: set[int]) -> bool:
        """See `Supervision`."""
        is_due = time.monotonic() >= self.due
        if ending := self._worker.turn(woken):
            self.ending = ending
            return False
        if is_due:
            process_tree.reap_orphans(keep=self._worker.pid)
        return True


def take_streams(descriptors: Sequence[int]) -> None:
    """Make them the standard streams of this process, which the process that it starts inherits, and close them."""
    for stream, descriptor in enumerate(descriptors):
        os.dup2(descriptor, stream)
        os.close(descriptor)


def release_streams() -> None:
    """Close this process's copies of the streams, so that their readers notice when the worker ends."""
    null = os.open(os.devnull, os.O_RDWR)
    take_streams([os.dup(null), os.dup(null), null])
