"""Measures how long a thread blocks the other threads.

Measured is the processor time of the working thread between two ticks of another thread, so other work on the machine
has little effect. Processor time still differs between machines, and when others share a core's caches. So the limit
grows with the time that a known piece of work takes beside the measurement. A step that blocks does so every time, so
the best of five runs counts.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from types import TracebackType

LONGEST = 0.2
"""Seconds for which other threads may be blocked by ten megabytes from outside."""

_TICK = 0.003

_KNOWN_WORK = json.dumps([{"key": str(number * 7919), "value": number / 3} for number in range(20_000)])
_KNOWN_SECONDS = 0.015
"""Processor time of `_known_work` on the machine on which the limits were set, with nothing beside it."""


class Watch:
    """Measures how long the thread that enters it blocks other threads, and its processor time in all.

    Args:
        clock: the clock of the processor time, if not this thread's but the process's is meant.
    """

    def __init__(self, clock: int | None = None) -> None:
        self._given = clock

    def __enter__(self) -> Watch:
        self.longest = self.total = 0.0
        self._clock = time.pthread_getcpuclockid(threading.get_ident()) if self._given is None else self._given
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()
        self._begun = time.thread_time()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.total = time.thread_time() - self._begun
        self._over.set()
        self._ticker.join()

    def _tick(self) -> None:
        before = time.clock_gettime(self._clock)
        while not self._over.wait(_TICK):
            now = time.clock_gettime(self._clock)
            self.longest = max(self.longest, now - before)
            before = now


def require_short(read: Callable[[], float], longest: float = LONGEST) -> None:
    """Run a reading function up to five times. In one of them, other threads must not be blocked for long.

    Args:
        read: returns the seconds for which other threads were blocked.
        longest: seconds on the machine on which the limits were set; fewer for input of fewer megabytes.
    """
    stood_still: list[str] = []
    while len(stood_still) < 5:
        seconds = read()
        if seconds <= longest:
            return
        allowed = longest * max(1.0, _known_work() / _KNOWN_SECONDS)
        if seconds <= allowed:
            return
        stood_still.append(f"{seconds:.2f} s ({allowed:.2f} are allowed)")
    raise AssertionError(f"other threads stood still for {', '.join(stood_still)}")


def _known_work() -> float:
    """The processor time that parsing and sorting a known text takes now, in seconds."""
    begun = time.thread_time()
    sorted(json.loads(_KNOWN_WORK), key=lambda each: str(each["key"]))
    return time.thread_time() - begun
