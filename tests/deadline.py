"""A time limit for work that could take hours, for tests of work in linear time."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fail if the block is not finished by then, as soon as control returns to Python code."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"not done after {seconds} s: the work grows faster than the input")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
