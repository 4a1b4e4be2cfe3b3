"""One outcome, set once by the job, awaited from any thread or loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, Wait, tell
from autocoder_jupyter.engine.events import EndState
from autocoder_jupyter.types import Report

State = Literal["running", "waiting for approval", "waiting for answers"] | EndState
"""The state of a generation."""


@dataclass(frozen=True)
class Resolution:
    """How a generation ended.

    Args:
        state: one of the final states.
        report: what there is; on a cancelled generation, or one that raised, little more than the reason.
        exception: what the generation raised instead of reporting, if it did.
    """

    state: EndState
    report: Report
    exception: Exception | None = None


class Ended(Protocol):
    """How something ended; a `Resolution` is one."""

    @property
    def state(self) -> EndState:
        """One of the final states."""
        ...

    @property
    def exception(self) -> Exception | None:
        """What it raised instead of an outcome."""
        ...


R = TypeVar("R", bound=Ended)


class Pending(Generic[R]):
    """A place for one outcome, such as a `Resolution`.

    Args:
        state: says where the generation stands while there is none.
        cancel: asks the job to stop, with the reason.
        awaited: describes to a caller what it waits for.
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
        # A waiter that gives up must not cancel it for the others; a running future cannot be cancelled.
        self._future.set_running_or_notify_cancel()

    @classmethod
    def resolved(cls, resolution: R) -> Pending[R]:
        """One that has its outcome already."""
        pending: Pending[R] = cls()
        pending.resolve(resolution)
        return pending

    def resolve(self, resolution: R, tell: Callable[[], None] = lambda: None) -> None:
        """Set the outcome, then wake all waiters. Only the first call counts.

        Args:
            resolution: the outcome.
            tell: called in between, so that a listener can read the result, and has ended before a cell that waits
                goes on.
        """
        if self._resolution is None:
            self._resolution = resolution
            tell()
            self._future.set_result(resolution)

    @property
    def state(self) -> State:
        """The state, without waiting."""
        return self._state() if self._resolution is None else self._resolution.state

    @property
    def done(self) -> bool:
        """Whether it has ended, with or without success."""
        return self._resolution is not None

    def on_done(self, callback: Callable[[], object]) -> None:
        """Call back when it has ended, on the thread that ends it; at once when it has."""
        self._future.add_done_callback(lambda _: callback())

    def wait(self, timeout: float | None = None) -> R:
        """Block until it has ended. An interrupt leaves the generation running.

        Raises:
            TimeoutError: `timeout` seconds passed.
        """
        if self._resolution is not None and background.is_current():
            return self._resolution
        return background.wait(self._future, timeout, Wait(self._awaited()))

    async def settled(self) -> R:
        """Await the end. Cancelling the waiter leaves the generation running."""
        if not self.done and (awaited := self._awaited()) is not None:
            tell(awaited)
        with background.interruptible():
            return await asyncio.wrap_future(self._future)
