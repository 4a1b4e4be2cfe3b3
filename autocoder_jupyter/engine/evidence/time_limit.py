"""The limit of a layer of evidence: processor time of the sandbox and of the notebook, with a clock behind it.

So a machine that does other things too makes evidence late, and not less. Time in which a function sleeps counts as
processor time (see `sandbox.protocol.CallSpec`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autocoder_jupyter.sandbox.protocol import Worker

PATIENCE, LONGEST_WAIT = 10.0, 240.0
"""How many times as long the work may take by the clock, and how many seconds longer at most."""


class TimeLimit:
    """The time that is left to some work. It may be used by several threads.

    Args:
        seconds: of processor time, in all workers and threads together.
        clock: seconds by the clock; by default several times as many.
        outer: the limit of which this is a part: what is taken of this one is also taken of that one.
        now: the clock.
    """

    def __init__(
        self,
        seconds: float,
        *,
        clock: float | None = None,
        outer: TimeLimit | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._outer, self._now = seconds, outer, now
        self._until = now() + (min(PATIENCE * seconds, seconds + LONGEST_WAIT) if clock is None else clock)
        self._lock = threading.Lock()

    def part(self, seconds: float) -> TimeLimit:
        """A smaller limit within this one."""
        return TimeLimit(seconds, outer=self, now=self._now)

    @property
    def seconds_left(self) -> float:
        """Seconds of processor time that may still be taken."""
        return max(min(self._seconds, self._outer.seconds_left if self._outer is not None else self._seconds), 0.0)

    @property
    def clock_left(self) -> float:
        """Seconds of the clock."""
        left = max(self._until - self._now(), 0.0)
        return left if self._outer is None else min(left, self._outer.clock_left)

    @property
    def is_over(self) -> bool:
        """Whether nothing more may begin."""
        return not (self.seconds_left and self.clock_left)

    def take(self, seconds: float) -> None:
        """Count processor time that was taken."""
        with self._lock:
            self._seconds -= seconds
        if self._outer is not None:
            self._outer.take(seconds)

    @contextmanager
    def counting(self, *workers: Worker) -> Iterator[None]:
        """Count what this thread and these workers take."""

        def taken() -> float:
            return time.thread_time() + sum(worker.processor_seconds for worker in workers)

        before = taken()
        try:
            yield
        finally:
            self.take(taken() - before)
