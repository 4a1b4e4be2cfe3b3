"""A question to the user that a job waits for."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import Generic, TypeVar

from autocoder_jupyter.result.pending import State

Q = TypeVar("Q")
A = TypeVar("A")


class UserQuestion(Generic[Q, A]):
    """One question; it may be answered once, from any thread.

    Args:
        asked: the subject of the question.
        key: identifies it among the questions of a run, so that a late click does not answer the next one.
        state: the state of the job while it waits for the answer.
    """

    def __init__(self, asked: Q, key: str, state: State) -> None:
        self.asked = asked
        self.key = key
        self.state = state
        self._lock = threading.Lock()
        self._answer: concurrent.futures.Future[A] = concurrent.futures.Future()
        # A cancelled job must not cancel the future while it is answered; a running future cannot be cancelled.
        self._answer.set_running_or_notify_cancel()

    def answer(self, answer: A) -> bool:
        """Answer it. False if it was answered before."""
        with self._lock:
            if self._answer.done():
                return False
            self._answer.set_result(answer)
            return True

    @property
    def is_open(self) -> bool:
        """Whether it is not answered yet."""
        return not self._answer.done()

    async def answered(self) -> A:
        """Wait for the answer."""
        return await asyncio.wrap_future(self._answer)
