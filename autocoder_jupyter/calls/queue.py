"""The queue of calls. As many run at once as there are cores and memory; the others wait, first come first served.

A waiting call has no thread and no worker, so any number of calls can wait. The generation of functions does not wait
here: it needs two workers at a time, and would wait for itself.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager

from autocoder_jupyter.concurrency.background import outcome
from autocoder_jupyter.types import Resources, parse_memory


class CallTurn:
    """The turn of one call.

    Args:
        resources: limits of the call.
    """

    def __init__(self, resources: Resources) -> None:
        self.cores = math.ceil(resources.cpu)
        self.memory = parse_memory(resources.memory)
        self.begins: Future[None] = Future()  # done when the call may run


class CallQueue:
    """Grants turns. Safe for threads, and for callers on several event loops.

    Args:
        cores: how many cores the running calls may use together.
        free_memory: returns the bytes that are free now. A call that runs may still take all of its memory, so the
            memory of all running calls is subtracted.
    """

    def __init__(self, cores: int, free_memory: Callable[[], float]) -> None:
        self._cores = cores
        self._free_memory = free_memory
        self._lock = threading.RLock()  # the garbage collector may end a waiting coroutine inside of it
        self._waiting: deque[CallTurn] = deque()
        self._running: set[CallTurn] = set()

    @asynccontextmanager
    async def wait_for(self, turn: CallTurn) -> AsyncIterator[None]:
        """Wait for a turn, and hold it inside this context. A caller that is cancelled leaves the queue.

        A call that needs more than there is runs alone.
        """
        with self._lock:
            self._waiting.append(turn)
            self._grant()
        try:
            await outcome(turn.begins)
            yield
        finally:
            with self._lock:
                if turn in self._running:
                    self._running.remove(turn)
                else:
                    self._waiting.remove(turn)
                self._grant()

    def before(self, turn: CallTurn) -> int:
        """How many calls run or wait before a waiting one; 0 if it does not wait."""
        with self._lock:
            return len(self._running) + self._waiting.index(turn) if turn in self._waiting else 0

    def _grant(self) -> None:
        """Let the first calls run, as long as there is room. Nobody overtakes the first, so each has its turn."""
        while self._waiting and self._has_room(self._waiting[0]):
            turn = self._waiting.popleft()
            self._running.add(turn)
            if turn.begins.set_running_or_notify_cancel():
                turn.begins.set_result(None)

    def _has_room(self, turn: CallTurn) -> bool:
        if not self._running:
            return True
        cores = sum(each.cores for each in self._running)
        memory = sum(each.memory for each in self._running)
        return cores + turn.cores <= self._cores and memory + turn.memory <= self._free_memory()


_queues: dict[int, CallQueue] = {}
_lock = threading.Lock()


def shared_queue() -> CallQueue:
    """The queue of this process. A forked process has its own, because its parent's calls do not run in it."""
    from autocoder_jupyter.sandbox.host.capacity import free_memory, usable_cores

    with _lock:
        if os.getpid() not in _queues:
            _queues[os.getpid()] = CallQueue(usable_cores(), free_memory)
        return _queues[os.getpid()]
