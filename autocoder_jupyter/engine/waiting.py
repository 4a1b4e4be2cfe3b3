"""Work in the sandbox that begins before all that it needs is there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from autocoder_jupyter.errors import Cancelled
from autocoder_jupyter.sandbox.protocol import Environment

Given = TypeVar("Given")
Found = TypeVar("Found")


class Waiting(Generic[Given, Found]):
    """Work that has begun, and waits for what it needs. Whoever makes it lets it go on, or leaves it.

    Args:
        environment: where it runs.
        work: begins. It gets a function that waits, on the thread of a worker, for what is given later, and raises
            `Cancelled` if that will not come.
    """

    def __init__(
        self, environment: Environment | None, work: Callable[[Callable[[], Given]], Awaitable[Found]]
    ) -> None:
        self._environment = environment
        self._given = Future[Given]()
        self._has_gone_on = False
        self._work = asyncio.ensure_future(work(self._wait))
        self._work.add_done_callback(_take_error)

    def is_in(self, environment: Environment | None) -> bool:
        """Whether it waits in this environment."""
        return self._environment == environment and not self._work.done()

    async def go_on(self, given: Given) -> Found | None:
        """Give it what it waits for. Returns what it found; None if it ended before it could wait."""
        self._given.set_result(given)
        found = await self._work
        return found if self._has_gone_on else None

    def leave(self) -> None:
        """End it. Its workers stay."""
        self._given.set_exception(Cancelled("It is not needed."))

    def _wait(self) -> Given:
        given = self._given.result()
        self._has_gone_on = True
        return given


def _take_error(work: asyncio.Future[Found]) -> None:
    """Take the error of work that was left, so that asyncio does not show it."""
    if not work.cancelled():
        work.exception()
