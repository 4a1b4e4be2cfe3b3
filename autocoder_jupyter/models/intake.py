"""Watches one answer while it arrives: its time, its tokens and its bytes. Both engines read through it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from autocoder_jupyter.models import received
from autocoder_jupyter.models.limits import SLACK, AnswerLimits, most_bytes, most_bytes_in_event
from autocoder_jupyter.models.metering import Grant, Worst
from autocoder_jupyter.types import Usage

_MOST_COUNTED = 10**9
"""Tokens. A service that counts more counts wrongly."""

_WRONG_BY = 4
"""If an answer has this many times the tokens that the service counted, the service counted wrongly."""

_NO_TEXT = frozenset({"role", "type", "id", "index"})


class Full(Exception):
    """The answer has more tokens than it may have."""


class Intake:
    """One answer while it arrives.

    Args:
        limits: its limits of time.
        grant: its limit of tokens.
        worst: the most that it may use. The prices of an incomplete answer are those of it.
        asked: the estimated tokens of the question.
    """

    def __init__(self, limits: AnswerLimits, grant: Grant, worst: Worst, asked: int) -> None:
        self._limits = limits
        self._grant = grant
        self._worst = worst
        self._asked = asked
        self._size = 0
        self._clock = asyncio.timeout(None)
        self._end = 0.0
        self.raw = received.Received(0, 0)  # replaced by `arriving`
        self.limit = ""
        """The setting because of whose limit the answer was stopped, if any."""

    @asynccontextmanager
    async def arriving(self) -> AsyncIterator[None]:
        """Send the request and read the response inside of this context.

        Raises:
            TimeoutError: a limit of time was exceeded.
        """
        room = self._grant.room
        with received.watched(most_bytes(room), most_bytes_in_event(room)) as self.raw:
            self._end = asyncio.get_running_loop().time() + self._limits.total
            async with self._clock:
                self._wind()
                yield

    def take(self, size: int) -> None:
        """Count bytes of content. Without content, the time of silence goes on.

        Raises:
            Full: the answer is too long.
        """
        if not size:
            return
        self._wind()
        self._size += size
        if self.said > self._grant.room:
            self.limit = self._grant.grow(self._worst.of(self._asked, self.said))
            if self.limit or self._is_too_long:
                raise Full

    def note(self, size: int) -> None:
        """Set the bytes of an answer that was read from the whole response."""
        self._size = size

    def _wind(self) -> None:
        now = asyncio.get_running_loop().time()
        self._clock.reschedule(min(now + self._limits.silence, self._end))

    @property
    def said(self) -> int:
        """The estimated tokens of the content so far."""
        return self._size // 4 + 1

    @property
    def _is_too_long(self) -> bool:
        return self.said > SLACK * self._grant.room

    @property
    def stopped(self) -> str:
        """Why the answer was stopped; "" if it was not, or only because of silence."""
        if self.raw.over:
            return f"The service sent {self.raw.over} for an answer of {self._grant.room:,} tokens."
        if self.limit or self._is_too_long:
            return f"It may have {self._grant.room:,} tokens, and about {self.said:,} arrived."
        if self._clock.expired() and asyncio.get_running_loop().time() >= self._end:
            return f"It was not complete after {self._limits.total:g} s."
        return ""

    @property
    def was_silent(self) -> bool:
        """Whether a limit of time was exceeded."""
        return self._clock.expired()

    def counted(self, asked: int | None, said: int | None) -> Usage:
        """The usage that the service counted, or the estimate with an unknown cost if it did not count."""
        if asked is None or said is None:
            return Usage(input_tokens=self._asked, output_tokens=self.said, cost=None)
        return Usage(input_tokens=asked, output_tokens=said if said * _WRONG_BY >= self.said - 1 else self.said)

    def charge(self, asked: int | None, said: int | None, *, is_sent: bool = False) -> Usage:
        """Charge an incomplete answer to the grant: the counts so far or the estimate, at the known prices.

        A question of which nothing came back is charged only if it certainly was sent.
        """
        if not self._size and asked is None and not is_sent:
            return Usage()
        usage = self._worst.of(self._asked if asked is None else asked, max(said or 0, self.said))
        self._grant.spend(usage)
        return usage


def valid_count(value: object) -> int | None:
    """A number of tokens in the usage of a service; None if it is not valid."""
    return value if type(value) is int and 0 <= value <= _MOST_COUNTED else None


def size_of(delta: Mapping[str, Any]) -> int:
    """Bytes of the text in a delta: its content, and the longest of the other fields, because some repeat others."""
    others = [_bytes_in(value) for name, value in delta.items() if name not in {"content", *_NO_TEXT}]
    return _bytes_in(delta.get("content")) + max(others, default=0)


def _bytes_in(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Mapping):
        return sum(_bytes_in(part) for name, part in value.items() if name not in _NO_TEXT)
    return sum(map(_bytes_in, value)) if isinstance(value, list | tuple) else 0
