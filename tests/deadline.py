"""An end for work that would otherwise take hours: for tests that something takes time in proportion to its size."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fail when what is inside is not done by then, as soon as it comes back to Python's own code."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"not done after {seconds} s: the work grows faster than the input")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
