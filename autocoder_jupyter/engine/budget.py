"""The budget of a generation: tokens, money, seconds.

Before a request is sent, it reserves the most that it can cost. So concurrent requests cannot together exceed the
budget.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from autocoder_jupyter.errors import BudgetSpent
from autocoder_jupyter.models.protocol import Grant, WorstCase
from autocoder_jupyter.types import Usage

LEAST_ANSWER = 1000
"""The least tokens that an answer gets. With fewer it would probably be cut off, and its cost wasted."""

_HINT = "and run the cell again; the answers so far are replayed at no cost."


@dataclass(eq=False)
class _Held:
    """What is reserved for one request."""

    usage: Usage


@dataclass
class Budget:
    """The limits, and how much of each is used. None means no limit.

    Args:
        cost: US dollars.
        seconds: wall clock since the budget was made.
    """

    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    used: Usage = Usage()
    started: float = field(default_factory=time.monotonic)
    _held: list[_Held] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def seconds_left(self) -> float | None:
        """Wall-clock seconds left, at least 0; None without a limit. The loop enforces it as one deadline."""
        if self.seconds is None:
            return None
        return max(0.0, self.seconds - (time.monotonic() - self.started))

    @property
    def overspent(self) -> str:
        """A sentence about an exceeded limit; "" if none was. A service may count more than was reserved."""
        tokens, cost = _tokens(self.used), self.used.cost
        if self.cost is not None and cost is not None and cost > self.cost:
            return f"It cost ${cost:.4f}, more than the budget of ${self.cost:g}."
        if self.cost is not None and cost is None:
            return f"The cost is unknown, so it is unknown whether the budget of ${self.cost:g} was kept."
        if self.tokens is not None and tokens > self.tokens:
            return f"It took {tokens:,} tokens, more than the budget of {self.tokens:,}."
        return ""

    @asynccontextmanager
    async def reserve(self, worst: WorstCase) -> AsyncIterator[Grant]:
        """Reserve the most that a request can use until it ends.

        A request that does not fit waits for those under way. If none is under way, it gets a lower limit for its
        answer, if that is still useful.

        Raises:
            BudgetSpent: too little is left, or the cost is limited and the price of the request is unknown.
        """
        self._require_price(worst)
        while (room := self._room(worst)) < worst.answer.output_tokens and self._held:
            await self._changed.wait()
        if room < min(LEAST_ANSWER, worst.answer.output_tokens):
            raise self._spent(worst)
        held = _Held(_at_most(worst, room))
        self._held.append(held)
        try:
            yield Grant(room, self._spend, lambda usage: self._grow(held, usage))
        finally:
            self._held.remove(held)
            self._changed.set()
            self._changed = asyncio.Event()

    def _spend(self, usage: Usage) -> None:
        self.used = self.used + usage

    async def _grow(self, held: _Held, usage: Usage) -> str:
        """Reserve more for an answer that is longer than it may be. Returns the exceeded limit, or ""."""
        held.usage = usage
        committed = sum((one.usage for one in self._held), self.used)
        if self.tokens is not None and _tokens(committed) > self.tokens:
            return "max_tokens"
        return "max_cost" if self.cost is not None and (committed.cost or 0.0) > self.cost else ""

    def _room(self, worst: WorstCase) -> int:
        """Tokens left for an answer, after those used and reserved; below zero if the question alone is too long."""
        committed = sum((one.usage for one in self._held), self.used)
        asked = worst.answer.output_tokens
        room = asked
        if self.tokens is not None:
            room = min(room, self.tokens - _tokens(committed) - worst.question.input_tokens)
        if self.cost is not None:
            left = self.cost - (committed.cost or 0.0) - (worst.question.cost or 0.0)
            price = (worst.answer.cost or 0.0) / asked if asked else 0.0
            fitting = int(left / price + 1e-6) if price else asked
            room = min(room, fitting if left >= 0 else -1)
        return room

    def _require_price(self, worst: WorstCase) -> None:
        known = None not in (self.used.cost, worst.question.cost, worst.answer.cost)
        if self.cost is not None and not known:
            raise BudgetSpent(
                "The cost is unknown, so the limit in dollars cannot be kept.",
                why="The price of the model is not known, or its service does not say how many tokens it counted.",
                hint="Limit tokens instead (max_tokens, --max-tokens), or use another model.",
            )

    def _spent(self, worst: WorstCase) -> BudgetSpent:
        """The error for the limit that leaves less."""
        least = _at_most(worst, min(LEAST_ANSWER, worst.answer.output_tokens))
        budget = "The rest of the budget" if _tokens(self.used) else "The budget"
        if self.tokens is not None and _tokens(self.used) + _tokens(least) > self.tokens:
            return BudgetSpent(
                f"{budget} of {self.tokens:,} tokens is too small for the next question.",
                why=f"{_tokens(self.used):,} are used, and it may take {_tokens(least):,} or more.",
                hint=f"Raise max_tokens (--max-tokens) {_HINT}",
                limit="max_tokens",
                needs=_tokens(least),
            )
        return BudgetSpent(
            f"{budget} of ${self.cost or 0:g} is too small for the next question.",
            why=f"${self.used.cost or 0:.4f} is used, and it may cost ${least.cost or 0:.4f} or more.",
            hint=f"Raise max_cost {_HINT}",
            limit="max_cost",
            needs=least.cost or 0,
        )


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def _at_most(worst: WorstCase, room: int) -> Usage:
    """The usage of a request whose answer has this many tokens."""
    asked = worst.answer.output_tokens
    cost = None if worst.answer.cost is None else worst.answer.cost * room / asked if asked else 0.0
    return worst.question + Usage(output_tokens=room, cost=cost)
