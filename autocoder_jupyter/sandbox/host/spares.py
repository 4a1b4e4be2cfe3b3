"""Decide when a pool starts its spare: a worker in which no program has run, so that the next caller need not wait."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from autocoder_jupyter.concurrency.background import start_thread

Kind = TypeVar("Kind")

QUIET_SECONDS = 1.0
"""Seconds for which all workers must be idle before a spare is started, so that programs do not get less CPU time."""


@dataclass(frozen=True)
class _Wanted(Generic[Kind]):
    kind: Kind
    at_once: bool


class Spares(Generic[Kind]):
    """Starts a spare in the background when one is ordered. A new order replaces the one before.

    Args:
        start: starts a spare of a kind, unless there is one, and waits until it is ready. It never raises.
        quiet_seconds: how long all workers must be idle before a spare is started.
    """

    def __init__(self, start: Callable[[Kind], None], quiet_seconds: float = QUIET_SECONDS) -> None:
        self._start = start
        self._quiet_seconds = quiet_seconds
        self._changed = threading.Condition()
        self._working = 0
        self._quiet_since = -math.inf
        self._wanted: _Wanted[Kind] | None = None
        self._granting = False
        self._closed = False

    @contextmanager
    def work(self) -> Iterator[None]:
        """A context during which a worker is in use."""
        with self._changed:
            self._working += 1
        try:
            yield
        finally:
            with self._changed:
                self._working -= 1
                self._quiet_since = time.monotonic()
                self._changed.notify_all()

    def want(self, kind: Kind, *, at_once: bool = False) -> None:
        """Order a spare. Returns at once and never raises.

        Args:
            kind: of the worker.
            at_once: start it also while other workers are in use.
        """
        with self._changed:
            if self._closed or (self._wanted == _Wanted(kind, True)):
                return
            self._wanted = _Wanted(kind, at_once)
            self._changed.notify_all()
            if not self._granting:
                with suppress(RuntimeError):  # no thread can be started when the process ends
                    start_thread(self._grant, "autocode-spare")
                    self._granting = True

    def close(self) -> None:
        """Start no more spares."""
        with self._changed:
            self._closed = True
            self._wanted = None
            self._changed.notify_all()

    def _grant(self) -> None:
        """Start the ordered spares one after the other, until there is no order."""
        while True:
            with self._changed:
                while self._wanted and not self._wanted.at_once and (left := self._until_quiet()) > 0:
                    self._changed.wait(None if math.isinf(left) else left)
                wanted, self._wanted = self._wanted, None
                if wanted is None:
                    self._granting = False
                    return
            self._start(wanted.kind)

    def _until_quiet(self) -> float:
        """Seconds until all workers were idle for `quiet_seconds`, if none is used meanwhile."""
        return math.inf if self._working else self._quiet_since + self._quiet_seconds - time.monotonic()
