"""The record of a run that goes on: applies the events as they come, and tells the listeners."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.run.events import Emit, Event, Finished
from autocoder_jupyter.run.run_record import RunRecord

_log = redacting_logger(__name__)

R = TypeVar("R", bound=RunRecord)


class RunTracker(Generic[R]):
    """Keeps the record of one run. Every method may be called from any thread.

    It is called with each event, returns at once, and never raises. `Finished` is not applied until `finish`, which the
    owner of the run calls when the result can be read; events after it have no effect.

    Args:
        run: the record before the first event.
        listeners: each is called with every event, after it was applied. It must return at once. An exception of it is
            logged and stops nothing.
        now: a clock in seconds.
    """

    def __init__(self, run: R, *listeners: Emit, now: Callable[[], float] = time.monotonic) -> None:
        self.started = dt.datetime.now(dt.UTC)
        self._run = run
        self._listeners = listeners
        self._now = now
        self._began = now()
        self._took: float | None = None
        self._last: Finished | None = None
        self._lock = threading.RLock()

    @property
    def run(self) -> R:
        """The record as of the last event."""
        return self._run

    @property
    def seconds(self) -> float:
        """Seconds since the start; those of the whole run after `stop`."""
        return self._now() - self._began if self._took is None else self._took

    def stop(self) -> float:
        """Stop the clock, and return the seconds of the whole run: the report and the card have the same."""
        with self._lock:
            self._took = self.seconds
            return self._took

    @property
    def last(self) -> Finished | None:
        """The last event, which may not be applied yet; None while the run goes on."""
        return self._last

    def listen(self, listener: Emit) -> None:
        """Call a listener with every later event; `run` has what was before."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

    def __call__(self, event: Event) -> None:
        """Apply an event, and tell the listeners."""
        with self._lock:  # a thread of a sandbox may emit the outcome of a test after the end
            if self._last is None and not self._run.finished:
                if isinstance(event, Finished):
                    self._last = event
                    self.stop()
                else:
                    self._apply(event)

    def finish(self, default: Finished) -> None:
        """Apply the last event.

        Args:
            default: the last event, if none was emitted.
        """
        with self._lock:
            if not self._run.finished:
                self._last = self._last or default
                self._apply(self._last)

    def _apply(self, event: Event) -> None:
        try:
            self._run = self._run.apply(event, self.seconds)
        except Exception:
            _log.exception("the record of a run could not take an event (%s)", type(event).__name__)
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                _log.exception("a listener failed on %s", type(event).__name__)
