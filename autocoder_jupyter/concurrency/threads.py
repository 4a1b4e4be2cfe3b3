"""Daemon threads for blocking work. A thread that has ended its work is used again, so a generation needs few of them.

There is no upper bound and no queue: work never waits for other work. Nothing joins these threads when the process
ends.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from contextvars import Context

IDLE = "autocode-idle"
"""The name of a thread that has no work."""

IDLE_SECONDS = 5.0
"""How long a thread waits for more work before it ends."""

_lock = threading.Lock()
_idle: list[_Thread] = []


def start_thread(work: Callable[[], object], name: str) -> None:
    """Run a function on a daemon thread, and return at once.

    It runs in an empty context, so what it displays is not taken for output of the cell that started it.

    Args:
        work: called without arguments. An exception is reported like that of any thread.
        name: the name of the thread while it runs the function.

    Raises:
        RuntimeError: no thread can be started, for instance because the process ends.
    """
    with _lock:
        thread = _idle.pop() if _idle else _Thread()
    thread.name = name
    thread.inbox.put(work)
    if thread.ident is None:
        thread.start()


class _Thread(threading.Thread):
    """Does one piece of work after the other, until none comes for `IDLE_SECONDS`."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.inbox: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()

    def run(self) -> None:
        while self._run_next():
            with _lock:
                self.name = IDLE
                _idle.append(self)

    def _run_next(self) -> bool:
        """Wait for work and do it; False if none came. Afterwards nothing refers to the work, which may be large."""
        try:
            work = self.inbox.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            with _lock:
                if self in _idle:
                    _idle.remove(self)
                    return False
            work = self.inbox.get()  # it is on its way
        try:
            Context().run(work)
        except BaseException as error:
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, self)))
        return True


def _forget() -> None:
    """Forget the threads, which a forked process does not have."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
