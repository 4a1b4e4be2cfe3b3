"""The base of all background jobs: start, cancel, questions to the user, and one end."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited
from autocoder_jupyter.errors import Cancelled
from autocoder_jupyter.jobs.question import UserQuestion
from autocoder_jupyter.result.pending import Ended, Pending, State
from autocoder_jupyter.run.events import Finished
from autocoder_jupyter.run.function_run import RunRecord
from autocoder_jupyter.run.tracker import RunTracker

CANCELLED = "Cancelled."
"""The default reason of a cancel."""

T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R", bound=Ended)
S = TypeVar("S", bound=RunRecord)


class BackgroundJob(ABC, Generic[T, R, S]):
    """Running or ended work. Every method may be called from any thread.

    `T` is the result of the work, `R` the record of its end, `S` the record of the run.

    Args:
        tracker: keeps the record of the run. Its listeners are called on the background thread. `Finished` is the last
            event; the result can be read then. Reading its fields there earlier raises RuntimeError.
    """

    def __init__(self, tracker: RunTracker[S]) -> None:
        self.name = tracker.run.name
        self.tracker = tracker
        self._pending: Pending[R] = Pending(lambda: self._state, self.cancel, self._awaited)
        self._lock = threading.Lock()
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

    def _doing(self) -> str:
        """What it is doing, in a few words."""
        return self.tracker.run.doing

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
        self._pending.resolve(resolution, tell=lambda: self.tracker.finish(self._told_last(resolution)))

    def _resolution(self, task: asyncio.Task[T]) -> R:
        error: BaseException | None
        if task.cancelled():
            why = "" if self._cancel_reason in (None, CANCELLED) else self._cancel_reason
            error = Cancelled(f"{self.name} was cancelled.", why=why, hint="Run the cell again to go on.")
        else:
            error = task.exception()
        if error is None:
            return self._ended(task.result())
        if (usable := self._pending.usable) is not None:  # what was verified is not lost
            return usable
        return self._raised(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    # Questions to the user

    async def _ask(self, question: UserQuestion[Any, A]) -> A:
        """Wait until the user has answered a question. One question is asked at a time."""
        self._question = question
        try:
            return await question.answered()
        finally:
            self._question = None

    @property
    def _state(self) -> State:
        """The state while it has not ended."""
        question = self._question
        return question.state if question is not None and question.is_open else "running"

    def _asked(self, state: State) -> Any:
        """The subject of the open question; None if none of this kind is open."""
        question = self._question
        return question.asked if question is not None and question.is_open and question.state == state else None

    def _answer(self, state: State, answer: object, question: str = "") -> bool:
        """Answer the open question. False if none of this kind is open, or another one than `question`."""
        asked = self._question
        is_meant = asked is not None and asked.state == state and question in ("", asked.key)
        return asked is not None and is_meant and asked.answer(answer)

    def __repr__(self) -> str:
        return f"<job {self.name} {self.state}>"
