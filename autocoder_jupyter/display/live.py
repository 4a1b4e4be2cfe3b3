"""Updates a card while a job runs: on its own thread, at most four times a second, and at once where a user waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from autocoder_jupyter.concurrency.threads import start_thread
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.run.events import Event, Finished, FunctionVerified, SampleOutputs
from autocoder_jupyter.run.function_run import RunRecord
from autocoder_jupyter.run.tracker import RunTracker

logger = redacting_logger(__name__)

UPDATE_SECONDS = 0.25
"""Least time between two updates: four a second."""

SETTLE_SECONDS = 0.05
"""Time after a change in which others are waited for. The end of a step is several events, and among them the next
question is sent: to draw the card meanwhile would delay it."""

HEARTBEAT_SECONDS = 1.0
"""Time between two updates when nothing but the clock changes."""

AT_ONCE = (SampleOutputs, FunctionVerified, Finished)
"""Events that are shown at once: the rows, a function that can be used, and the end. There are few in a run."""


S = TypeVar("S", bound=RunRecord)

View = Callable[[S], None]
"""Shows a record; called from the thread of the card, one call at a time."""


class LiveCard(Generic[S]):
    """Shows the record of a run, the latest only, until the run ends.

    Its own thread shows the records. It inherits no context, so that its messages are not tied to the cell that started
    it (nbclient drops such updates once the cell has ended).

    Args:
        tracker: keeps the record of the run.
        views: called with each record that is shown.
        complete: adds to the last record what is in no event, such as the text sent to the model; called once.
    """

    def __init__(self, tracker: RunTracker[S], *views: View[S], complete: Callable[[S], S] = lambda run: run) -> None:
        self._tracker = tracker
        self._views = views
        self._complete = complete
        self._last: S | None = None
        self._shown_last: S | None = None
        self._changed = threading.Event()
        self._hurried = threading.Event()
        self._ended = threading.Event()
        self._added: dict[str, Any] = {}
        self._showing = threading.Lock()
        tracker.listen(self._heard)

    @property
    def state(self) -> S:
        """The record as of the last event; the complete one at the end. With what was added to it."""
        return replace(self._last or self._tracker.run, **self._added)

    def add(self, **found: Any) -> None:
        """Show something that is not of the run, such as what is found out later: fields of the record."""
        self._added = {**self._added, **found}
        self._changed.set()
        if self._ended.is_set():
            start_thread(self._show_last, "autocode-card")

    def add_view(self, view: View[S]) -> None:
        """Add a view; call this before `start`."""
        self._views = (*self._views, view)

    def start(self) -> None:
        """Start the thread."""
        start_thread(self._paint, "autocode-card")

    def wait(self, timeout: float) -> bool:
        """Wait until the last state is shown; returns whether it is."""
        return self._ended.wait(timeout)

    def _heard(self, event: Event) -> None:
        self._changed.set()
        if isinstance(event, AT_ONCE):
            self._hurried.set()

    def _paint(self) -> None:
        while True:
            if self._changed.wait(HEARTBEAT_SECONDS):
                self._hurried.wait(SETTLE_SECONDS)
            self._changed.clear()
            self._hurried.clear()
            run = self._tracker.run
            if run.finished:
                self._last = self._completed(run)
                self._show_last()
                self._ended.set()
                self._show_last()  # with what was added meanwhile
                return
            self._show(replace(run, seconds=self._tracker.seconds, **self._added))
            self._hurried.wait(UPDATE_SECONDS)

    def _show_last(self) -> None:
        with self._showing:
            if (state := self.state) != self._shown_last:
                self._shown_last = state
                self._show(state)

    def _show(self, state: S) -> None:
        for view in self._views:
            try:
                view(state)
            except Exception:
                logger.exception("the card could not be shown")

    def _completed(self, state: S) -> S:
        try:
            return self._complete(state)
        except Exception:
            logger.exception("the last state of the card could not be completed")
            return state
