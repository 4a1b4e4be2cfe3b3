"""Questions to which a model says nothing: the user may wait, or have them asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal, Protocol, TypeVar

from autocoder_jupyter.models.protocol import Listener, SummingMeter
from autocoder_jupyter.run.events import NoAnswerYet
from autocoder_jupyter.types.records import Asking

SILENT_SECONDS = 20.0
"""Seconds after which the user is asked; twice as many after each *wait*."""

Answer = TypeVar("Answer")


class Timer(Protocol):
    """What `asyncio` gives for a later call."""

    def cancel(self) -> None: ...


Later = Callable[[float, Callable[[], None]], Timer]


def _later(seconds: float, act: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, act)


class SilenceWatch:
    """Follows the questions of a run, each from when it is sent until the first sign of an answer.

    Args:
        emit: gets an event when a question becomes silent, and when it no longer is.
        later: calls something after so many seconds.
    """

    def __init__(self, emit: Callable[[NoAnswerYet], object], later: Later = _later) -> None:
        self._emit = emit
        self._later = later
        self._watches: list[_WatchedQuestion] = []
        self._silent: tuple[Asking, ...] = ()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def follow(self, stage: Asking, listener: Listener, ask: Callable[[Listener], Awaitable[Answer]]) -> Answer:
        """What `ask` returns, which is called again if the user wants that."""
        self._loop = asyncio.get_running_loop()
        while True:
            watch = _WatchedQuestion(stage, self._tell, self._later)
            self._watches.append(watch)
            try:
                async with asyncio.timeout(None) as watch.limit:
                    return await ask(watch.listener(listener))
            except TimeoutError:
                if not watch.limit.expired():
                    raise
            finally:
                watch.end()
                self._watches.remove(watch)

    def reply(self, words: Literal["wait", "again"]) -> bool:
        """Wait for all silent questions, or ask them again; from any thread. False if there are none."""
        if not self._silent or self._loop is None:
            return False
        self._loop.call_soon_threadsafe(self._reply, words)
        return True

    def _reply(self, words: Literal["wait", "again"]) -> None:
        for watch in [watch for watch in self._watches if watch.is_silent]:
            if words == "wait":
                watch.wait_longer()
            else:
                watch.ask_again()

    def _tell(self) -> None:
        silent = tuple(dict.fromkeys(watch.stage for watch in self._watches if watch.is_silent))
        if silent != self._silent:
            self._silent = silent
            self._emit(NoAnswerYet(silent))


class _WatchedQuestion:
    """One question. `limit` ends it."""

    limit: asyncio.Timeout

    def __init__(self, stage: Asking, tell: Callable[[], None], later: Later) -> None:
        self.stage = stage
        self.is_silent = False
        self._tell = tell
        self._later = later
        self._seconds = SILENT_SECONDS
        self._is_heard = False
        self._timer: Timer | None = None

    def listener(self, listener: Listener) -> Listener:
        """The listener, which also tells this when the question is sent, fails and is answered."""

        def on_text(text: str) -> None:
            self._hear()
            listener.on_text(text)

        def on_sign() -> None:
            self._hear()
            listener.on_sign()

        def on_retry(reason: str, seconds: float) -> None:
            self._is_heard = False
            self.end()
            listener.on_retry(reason, seconds)

        return replace(
            listener,
            on_text=on_text,
            on_sign=on_sign,
            on_retry=on_retry,
            meter=SummingMeter(listener.meter, self._sent),
        )

    def wait_longer(self) -> None:
        self._seconds *= 2
        self.end()
        self._sent()

    def ask_again(self) -> None:
        self.end()
        self.limit.reschedule(asyncio.get_running_loop().time())

    def end(self) -> None:
        """Do not wait for a sign any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.is_silent:
            self.is_silent = False
            self._tell()

    def _sent(self) -> None:
        if not self._is_heard:  # else it is continued, and not asked anew
            self.end()
            self._timer = self._later(self._seconds, self._become_silent)

    def _hear(self) -> None:
        if not self._is_heard:
            self._is_heard = True
            self.end()

    def _become_silent(self) -> None:
        self.is_silent = True
        self._tell()
