"""Updates a card while a job runs: on its own thread, at most four times a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import Context
from dataclasses import replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from autocoder_jupyter.redaction.logs import redacting_logger

logger = redacting_logger(__name__)

UPDATE_SECONDS = 0.25
"""Least time between two updates: four a second."""

HEARTBEAT_SECONDS = 1.0
"""Time between two updates when nothing but the clock changes."""


class LiveState(Protocol):
    """A state computed from events: a frozen dataclass, such as `CardState`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the run has ended."""
        ...

    def apply(self, event: Any, at: float | None = None) -> Self:
        """The state after an event, `at` seconds after the start."""
        ...


S = TypeVar("S", bound=LiveState)

View = Callable[[S], None]
"""Shows a state; called from the thread of the card, one call at a time."""


class LiveCard(Generic[S]):
    """Listens to a job and shows its state, the latest only, until it ends.

    The engine calls it with each event; that returns at once and never raises. Its own thread shows the states. The
    thread inherits no context, so that its messages are not tied to the cell that started it (nbclient drops such
    updates once the cell has ended).

    Args:
        state: the first state.
        views: called with each state that is shown.
        complete: adds to the last state what is in no event, such as the text sent to the model; called once.
        now: a clock in seconds.
    """

    def __init__(
        self,
        state: S,
        *views: View[S],
        complete: Callable[[S], S] = lambda state: state,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._state = state
        self._views = views
        self._complete = complete
        self._now = now
        self._began = now()
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=Context().run, args=(self._paint,), name="autocode-card", daemon=True)

    @property
    def state(self) -> S:
        """The state as of the last event."""
        return self._state

    def __call__(self, event: Any) -> None:
        """Apply an event to the state."""
        try:
            with self._lock:
                if self._state.finished:
                    return
                self._state = self._state.apply(event, self._elapsed())
        except Exception:
            logger.exception("the card could not take an event")
        self._changed.set()

    def add_view(self, view: View[S]) -> None:
        """Add a view; call this before `start`."""
        self._views = (*self._views, view)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wait(self, timeout: float) -> bool:
        """Wait until the last state is shown; returns whether it is."""
        return self._ended.wait(timeout)

    def _paint(self) -> None:
        while True:
            self._changed.wait(HEARTBEAT_SECONDS)
            self._changed.clear()
            with self._lock:
                state = self._state
            if state.finished:
                state = self._completed(state)
                with self._lock:
                    self._state = state
                self._show(state)
                self._ended.set()
                return
            self._show(replace(state, seconds=self._elapsed()))
            time.sleep(UPDATE_SECONDS)

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

    def _elapsed(self) -> float:
        return self._now() - self._began
