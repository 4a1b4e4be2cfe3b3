"""A pending outcome: the job sets it once, any thread or loop can wait for it."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, Wait, tell
from autocoder_jupyter.run.events import EndState
from autocoder_jupyter.types import Report

State = Literal["running", "waiting for approval", "waiting for answers"] | EndState
"""The state of a generation."""


@dataclass(frozen=True)
class Resolution:
    """How a generation ended.

    Args:
        state: one of the final states.
        report: the report; after a cancel or an exception it has little more than the reason.
        exception: the exception of the generation, if it raised one instead of a report.
    """

    state: EndState
    report: Report
    exception: Exception | None = None


class Ended(Protocol):
    """The interface of an outcome, such as `Resolution`."""

    @property
    def state(self) -> EndState:
        """One of the final states."""
        ...

    @property
    def exception(self) -> Exception | None:
        """The exception that was raised instead of an outcome, if any."""
        ...


R = TypeVar("R", bound=Ended)


class Pending(Generic[R]):
    """One outcome, such as a `Resolution`, that is set later. Before it, one that can be used meanwhile may be offered.

    Args:
        state: returns the state while there is no outcome.
        cancel: cancels the job, with a reason.
        awaited: returns the description of the current work for a waiting caller.
    """

    def __init__(
        self,
        state: Callable[[], State] = lambda: "running",
        cancel: Callable[[str], object] = lambda reason: None,
        awaited: Callable[[], Awaited | None] = lambda: None,
    ) -> None:
        self._state = state
        self.cancel = cancel
        self._awaited = awaited
        self._resolution: R | None = None
        self._offered: R | None = None
        self._future: concurrent.futures.Future[R] = _future()
        self._first: concurrent.futures.Future[R] = _future()  # set as soon as there is something to use
        self._draft: R | None = None
        self._seen: concurrent.futures.Future[None] = _future()  # set as soon as there is a draft, or more
        self._lock = threading.Lock()

    @classmethod
    def resolved(cls, resolution: R) -> Pending[R]:
        """A `Pending` with its outcome."""
        pending: Pending[R] = cls()
        pending.resolve(resolution)
        return pending

    def resolve(self, resolution: R, tell: Callable[[], None] = lambda: None) -> None:
        """Set the outcome, then wake all waiters. Only the first call counts.

        Args:
            resolution: the outcome.
            tell: called after the outcome is set and before the waiters wake, so that listeners have finished when a
                waiting cell continues.
        """
        if self._resolution is None:
            self._resolution = resolution
            tell()
            self._future.set_result(resolution)
            self._tell_first(resolution)

    def offer(self, resolution: R | None) -> None:
        """Set what can be used until the end; None takes it back, so that who needs it waits again."""
        with self._lock:
            self._offered = resolution
            if resolution is None and self._first.done() and not self.done:
                self._first = _future()
        if resolution is not None:
            self._tell_first(resolution)

    def sketch(self, draft: R) -> None:
        """Set what can be looked at before there is something to use."""
        self._draft = draft
        self._tell_seen()

    async def drafted(self) -> R:
        """Wait until there is something to look at: what is usable, else a draft, else the end."""
        await background.outcome(self._seen)
        found = self.usable or self._draft
        return found if found is not None else await self.settled()

    def _tell_seen(self) -> None:
        with self._lock:
            is_first = not self._seen.done()
            if is_first:
                self._seen.set_result(None)

    def _tell_first(self, resolution: R) -> None:
        self._tell_seen()
        with self._lock:
            first = self._first
            if first.done():
                return
        first.set_result(resolution)

    @property
    def usable(self) -> R | None:
        """The outcome, else what was offered; None if there is neither. Never waits."""
        return self._resolution or self._offered

    @property
    def state(self) -> State:
        """The state of the outcome, else of what was offered. Never waits."""
        usable = self.usable
        return self._state() if usable is None else usable.state

    @property
    def done(self) -> bool:
        """Whether it has ended, with or without success."""
        return self._resolution is not None

    def on_done(self, callback: Callable[[], object]) -> None:
        """Call the callback when it ends, on the thread that ends it; at once if it has ended."""
        self._future.add_done_callback(lambda _: callback())

    def on_usable(self, callback: Callable[[], object]) -> None:
        """Call the callback when there is something to use, or it ends; at once if that is so."""
        with self._lock:
            first = self._first
        first.add_done_callback(lambda _: callback())

    def wait(self, timeout: float | None = None, *, until_usable: bool = False) -> R:
        """Block until it has ended. An interrupt does not cancel the generation.

        Args:
            timeout: seconds; None waits without limit.
            until_usable: wait only until there is something to use.

        Raises:
            TimeoutError: it has not ended after `timeout` seconds.
        """
        future, there = (self._first, self.usable) if until_usable else (self._future, self._resolution)
        if there is not None and background.is_current():
            return there
        found = background.wait(future, timeout, Wait(self._awaited()))
        return (self.usable or found) if until_usable else found

    async def settled(self, *, until_usable: bool = False) -> R:
        """Wait as `wait` does. Cancelling the waiter does not cancel the generation."""
        future = self._first if until_usable else self._future
        if not future.done() and not self.done and (awaited := self._awaited()) is not None:
            tell(awaited)
        with background.interruptible():
            found = await background.outcome(future)
        return (self.usable or found) if until_usable else found


def _future() -> concurrent.futures.Future[Any]:
    """A future that no waiter can cancel for the others: it counts as running."""
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()
    return future
