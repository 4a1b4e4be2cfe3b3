"""Limit a process tree to less than one core. It is stopped for a part of each 0.1 s."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from autocoder_jupyter.sandbox.local import process_tree

_PERIOD = 0.1
"""Seconds of one cycle, in which the tree runs and is then stopped."""


class Throttle:
    """Stops and continues a tree. Not threadsafe.

    Args:
        root: process id of the first process of the tree.
        percent: percent of one core; None for no limit.
    """

    def __init__(self, root: int, percent: int | None) -> None:
        self._root = root
        self._running = _PERIOD * percent / 100 if percent is not None else None
        self._stopped = False
        self._due = time.monotonic()

    def due(self, at_work: bool) -> float:
        """When to call `act` next, by the monotonic clock; infinity if it is not needed."""
        return float("inf") if self._running is None or not (at_work or self._stopped) else self._due

    def act(self, at_work: bool) -> None:
        """Stop or continue the tree if it is due. A tree without a running request is not stopped."""
        if self._running is None or (time.monotonic() < self._due and at_work) or not (at_work or self._stopped):
            return
        self._stopped = at_work and not self._stopped
        self._due = time.monotonic() + (_PERIOD - self._running if self._stopped else self._running)
        for pid in (self._root, *process_tree.descendants(self._root)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP if self._stopped else signal.SIGCONT)
