"""A pending outcome: the job sets it once, any thread or loop can wait for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

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
    """One outcome, such as a `Resolution`, that is set later.

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
        self._future: concurrent.futures.Future[R] = concurrent.futures.Future()
        # A waiter that stops waiting must not cancel the future for others; a running future cannot be cancelled.
        self._future.set_running_or_notify_cancel()

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

    @property
    def state(self) -> State:
        """The state. Never waits."""
        return self._state() if self._resolution is None else self._resolution.state

    @property
    def done(self) -> bool:
        """Whether it has ended, with or without success."""
        return self._resolution is not None

    def on_done(self, callback: Callable[[], object]) -> None:
        """Call the callback when it ends, on the thread that ends it; at once if it has ended."""
        self._future.add_done_callback(lambda _: callback())

    def wait(self, timeout: float | None = None) -> R:
        """Block until it has ended. An interrupt does not cancel the generation.

        Raises:
            TimeoutError: it has not ended after `timeout` seconds.
        """
        if self._resolution is not None and background.is_current():
            return self._resolution
        return background.wait(self._future, timeout, Wait(self._awaited()))

    async def settled(self) -> R:
        """Wait for the end. Cancelling the waiter does not cancel the generation."""
        if not self.done and (awaited := self._awaited()) is not None:
            tell(awaited)
        with background.interruptible():
            return await asyncio.wrap_future(self._future)
