"""Work for which nobody waits: it runs when nothing else does, ends when something begins, and begins again later."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

QUIET_SECONDS = 5.0
"""Seconds after the last work for somebody."""

MOST_SECONDS = 300.0
"""Seconds for which it also waits for the rest of the machine."""

_POLL_SECONDS = 0.5


class SpareTime:
    """The spare time of one process. `in_use` may be entered on any thread; `run` belongs to the background loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users, self._quiet_since = 0, time.monotonic()
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Something is done for somebody. What runs in spare time is ended."""
        with self._lock:
            self._users += 1
            running, self._running = self._running, None
        if running is not None:
            running[0].call_soon_threadsafe(running[1].cancel)
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                self._quiet_since = time.monotonic()

    @property
    def quiet_seconds(self) -> float:
        """Seconds since the last work for somebody; 0 while there is some."""
        with self._lock:
            return 0.0 if self._users else time.monotonic() - self._quiet_since

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of some work that is begun, perhaps several times, when nothing else runs. One runs at a time."""
        began = time.monotonic()
        while True:
            if not self._is_free(began):
                await asyncio.sleep(_POLL_SECONDS)
                continue
            task = asyncio.get_running_loop().create_task(work())
            if not self._take(task):
                task.cancel()
            try:
                await asyncio.wait({task})
            finally:
                task.cancel()
                was_ended = not self._release(task)
            if not (was_ended and task.cancelled()):
                return task.result()

    def _is_free(self, began: float) -> bool:
        now = time.monotonic()
        is_quiet = self._running is None and self.quiet_seconds >= QUIET_SECONDS
        return is_quiet and (now - began >= MOST_SECONDS or not _is_machine_busy())

    def _take(self, task: asyncio.Task[Any]) -> bool:
        with self._lock:
            is_free = self._users == 0 and self._running is None
            if is_free:
                self._running = asyncio.get_running_loop(), task
            return is_free

    def _release(self, task: asyncio.Task[Any]) -> bool:
        """Whether the task ran until its own end, also if that was a cancellation: then it does not begin again."""
        with self._lock:
            is_own = self._running is not None and self._running[1] is task
            if is_own:
                self._running = None
            return is_own


def _is_machine_busy() -> bool:
    """Whether more runs than the machine has cores; False on Windows, which does not say."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] > (os.cpu_count() or 1)


SPARE_TIME = SpareTime()
