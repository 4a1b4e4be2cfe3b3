"""Small values are encoded and decoded one at a time, whatever the number of threads.

This is many short steps of Arrow and pandas, most of which let another thread run. If several threads do it at once,
they wake each other at each step: two then take twice as long as one that does the work of both (measured for tables
of 1,000 rows and 10 columns: 0.65 instead of 0.29 ms each, and four times the processor time). Large values let the
other threads run for long, and take no turn.

The wait for a turn is short, because nothing is wrong without it: a user's object in a table may itself call a
function, on another thread, while the table is encoded.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

_CELLS = 100_000
_BYTES = 1 << 20
_LONGEST_WAIT = 0.1

_turn = threading.RLock()  # a user's object in a table may itself call a function


def to_encode(value: Any) -> AbstractContextManager[None]:
    """The turn of a table or an array, if it is small. Other values may be files of any size, and take none."""
    shape = getattr(value, "shape", None)
    return _in_turn() if isinstance(shape, tuple) and math.prod(shape) <= _CELLS else contextlib.nullcontext()


def to_decode(payload: memoryview) -> AbstractContextManager[None]:
    """The turn of these encoded bytes, if they are few."""
    return _in_turn() if payload.nbytes <= _BYTES else contextlib.nullcontext()


@contextlib.contextmanager
def _in_turn() -> Iterator[None]:
    has_turn = _turn.acquire(timeout=_LONGEST_WAIT)
    try:
        yield
    finally:
        if has_turn:
            _turn.release()
