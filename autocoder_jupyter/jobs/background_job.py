"""The base of all background jobs: start, cancel, events, and one end."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited
from autocoder_jupyter.engine.events import Finished, TextStreamed
from autocoder_jupyter.errors import Cancelled
from autocoder_jupyter.jobs.question import UserQuestion
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.result.pending import Ended, Pending, State

EVENTS_KEPT = 2000
"""Events kept for late listeners. Streamed pieces of text are not kept: an event with the whole text follows."""

CANCELLED = "Cancelled."
"""The default reason of a cancel."""

_log = redacting_logger(__name__)

T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R", bound=Ended)

Listener = Callable[[Any], None]
"""Receives events and returns at once. An exception of it is logged and stops nothing."""


class BackgroundJob(ABC, Generic[T, R]):
    """Running or ended work. Every method may be called from any thread.

    `T` is the result of the work, `R` the record of its end. Events are records of any type.

    Args:
        name: the name of the job.
        listeners: called with every event on the background thread. `Finished` is the last event; the result can be
            read then. Reading its fields there earlier raises RuntimeError.
    """

    def __init__(self, name: str, listeners: Sequence[Listener]) -> None:
        self.name = name
        self._pending: Pending[R] = Pending(lambda: self._state, self.cancel, self._awaited)
        self._lock = threading.RLock()
        self._listeners: list[Listener] = list(listeners)
        self._events: deque[Any] = deque(maxlen=EVENTS_KEPT)
        self._state: State = "running"
        self._last: Finished | None = None
        self._cancel_reason: str | None = None
        self._task: asyncio.Task[T] | None = None
        self._question: UserQuestion[Any, Any] | None = None

    @abstractmethod
    async def _work(self) -> T:
        """Do the work, on the background loop."""

    @abstractmethod
    def _ended(self, outcome: T) -> R:
        """The outcome of work that returned."""

    @abstractmethod
    def _raised(self, error: Exception) -> R:
        """The outcome of work that raised or was cancelled."""

    @abstractmethod
    def _told_last(self, resolution: R) -> Finished:
        """The last event, for work that did not emit it."""

    @abstractmethod
    def _doing(self) -> str:
        """What it is doing, in a few words."""

    @abstractmethod
    def obstacle(self) -> str:
        """What it needs from the user to go on, as a sentence; "" if it needs nothing."""

    def _awaited(self) -> Awaited:
        return Awaited(self.name, self._doing, "interrupt to stop waiting, it goes on", self.obstacle)

    @property
    def state(self) -> State:
        """The state."""
        return self._pending.state

    @property
    def done(self) -> bool:
        """Whether it has ended, with or without success."""
        return self._pending.done

    # Start and cancel

    def start(self) -> None:
        """Start on the background loop, in a new context, so that its output belongs to no cell."""
        context = contextvars.Context()
        background.loop().call_soon_threadsafe(lambda: self._begin(context), context=context)

    def _begin(self, context: contextvars.Context) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work(), context=context)
        self._task.add_done_callback(self._settle)
        if self._cancel_reason is not None:  # cancelled before it began
            self._cancel_task()

    def cancel(self, reason: str = CANCELLED) -> None:
        """Cancel the work. Only the first reason counts."""
        with self._lock:
            if self._cancel_reason is not None or self.done:
                return
            self._cancel_reason = reason
        background.loop().call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel(self._cancel_reason)

    def _settle(self, task: asyncio.Task[T]) -> None:
        resolution = self._resolution(task)
        last = self._last or self._told_last(resolution)
        self._pending.resolve(resolution, tell=lambda: self._tell_all(last))

    def _resolution(self, task: asyncio.Task[T]) -> R:
        error: BaseException | None
        if task.cancelled():
            why = "" if self._cancel_reason in (None, CANCELLED) else self._cancel_reason
            error = Cancelled(f"{self.name} was cancelled.", why=why, hint="Run the cell again to go on.")
        else:
            error = task.exception()
        if error is None:
            return self._ended(task.result())
        return self._raised(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    # Questions to the user

    async def _ask(self, question: UserQuestion[Any, A]) -> A:
        """Wait until the user has answered a question. One question is asked at a time."""
        self._question = question
        self._state = question.state
        try:
            return await question.answered()
        finally:
            self._question = None
            self._state = "running"

    def _asked(self, state: State) -> Any:
        """The subject of the open question; None if none of this kind is open."""
        question = self._question
        return question.asked if question is not None and question.is_open and question.state == state else None

    def _answer(self, state: State, answer: object, question: str = "") -> bool:
        """Answer the open question. False if none of this kind is open, or another one than `question`."""
        asked = self._question
        is_meant = asked is not None and asked.state == state and question in ("", asked.key)
        return asked is not None and is_meant and asked.answer(answer)

    # Events

    def listen(self, listener: Listener) -> None:
        """Send a listener the past events and all later ones, in order and without gaps."""
        with self._lock:
            for event in self._events:
                _tell(listener, event)
            self._listeners.append(listener)

    @property
    def events(self) -> tuple[Any, ...]:
        """The past events; see `EVENTS_KEPT`."""
        with self._lock:
            return tuple(self._events)

    def _emit(self, event: Any) -> None:
        with self._lock:  # a sandbox's thread may emit test outcomes after the end
            if self._last is not None or self.done:
                return  # `Finished` is the last event
            if isinstance(event, Finished):  # emitted later, when the result can be read
                self._last = event
            else:
                self._tell_all(event)

    def _tell_all(self, event: Any) -> None:
        with self._lock:
            if not isinstance(event, TextStreamed):  # an event with the whole text follows
                self._events.append(event)
            for listener in tuple(self._listeners):
                _tell(listener, event)

    def __repr__(self) -> str:
        return f"<job {self.name} {self.state}>"


def _tell(listener: Listener, event: Any) -> None:
    try:
        listener(event)
    except Exception:
        _log.exception("a listener failed on %s", type(event).__name__)
