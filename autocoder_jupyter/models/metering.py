"""The interface that allows requests to a model before they are sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

from autocoder_jupyter.types import Usage


@dataclass(frozen=True)
class Worst:
    """The maximum usage of one request: its question, and an answer of full length. Costs in US dollars."""

    question: Usage
    answer: Usage

    def of(self, asked: int, said: int) -> Usage:
        """The usage of this many tokens, at the same prices. It does not block."""
        costs = (
            _share(self.question.cost, self.question.input_tokens, asked),
            _share(self.answer.cost, self.answer.output_tokens, said),
        )
        cost = None if None in costs else sum(filter(None, costs))
        return Usage(input_tokens=asked, output_tokens=said, cost=cost)


def _share(cost: float | None, tokens: int, part: int) -> float | None:
    return None if cost is None else cost * part / tokens if tokens else 0.0


def _allowed(usage: Usage) -> str:
    return ""


@dataclass(frozen=True)
class Grant:
    """Permission for one request.

    Args:
        room: the maximum number of tokens of its answer.
        spend: called with the usage of the request, once it is known.
        grow: called with the usage so far if it is more than was reserved. It returns the setting whose limit is
            exceeded, or "".
    """

    room: int
    spend: Callable[[Usage], None]
    grow: Callable[[Usage], str] = _allowed


class Meter(Protocol):
    """Allows requests. The engine's budget is a meter."""

    def reserve(self, worst: Worst) -> AbstractAsyncContextManager[Grant]:
        """Permission for one request, as long as the context lasts. Entering it may wait.

        Raises:
            BudgetSpent: too little is left.
        """
        ...


class Unmetered:
    """A meter that allows every request."""

    def reserve(self, worst: Worst) -> AbstractAsyncContextManager[Grant]:
        """Permission without a wait."""
        return nullcontext(Grant(worst.answer.output_tokens, lambda usage: None))


class Tab:
    """A meter that also sums up what it allowed.

    Args:
        meter: the meter that decides.
        on_granted: called when a request is allowed, just before it is sent.
    """

    def __init__(self, meter: Meter, on_granted: Callable[[], object] = lambda: None) -> None:
        self._meter = meter
        self._on_granted = on_granted
        self.spent = Usage()

    @asynccontextmanager
    async def reserve(self, worst: Worst) -> AsyncIterator[Grant]:
        """Permission for one request."""
        async with self._meter.reserve(worst) as grant:

            def spend(usage: Usage) -> None:
                self.spent += usage
                grant.spend(usage)

            self._on_granted()
            yield replace(grant, spend=spend)
