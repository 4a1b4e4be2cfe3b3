"""A limit of processor time for work that could take hours, for tests of work in linear time."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if the block needs more seconds of processor time, as soon as control returns to Python code.

    Time in which other processes use the processor does not count, so the limit can be low.
    """

    def give_up(*_: object) -> None:
        raise AssertionError(f"not done after {seconds} s: the work grows faster than the input")

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
