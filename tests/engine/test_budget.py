from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from autocoder_jupyter.engine.budget import LEAST_ANSWER, Budget
from autocoder_jupyter.errors import BudgetSpent
from autocoder_jupyter.models.protocol import WorstCase
from autocoder_jupyter.types import Usage


def request(question: int = 1000, answer: int = 8000, price: float | None = 0.00001) -> WorstCase:
    """A request with this number of tokens, at this price per token."""
    cost = (None, None) if price is None else (question * price, answer * price)
    return WorstCase(Usage(input_tokens=question, cost=cost[0]), Usage(output_tokens=answer, cost=cost[1]))


async def room_of(budget: Budget, worst: WorstCase, **used: Any) -> int | None:
    """Make a request. Returns the maximum length of its answer."""
    async with budget.reserve(worst) as grant:
        if used:
            grant.spend(Usage(**used))
        return grant.room


async def test_nothing_is_limited_by_default() -> None:
    budget = Budget()
    assert await room_of(budget, request(price=None), input_tokens=10**9, cost=None) == 8000
    assert await room_of(budget, request(price=None)) == 8000
    assert budget.overspent == ""


@pytest.mark.parametrize(
    ("budget", "used", "words"),
    [
        (
            Budget(tokens=2500),
            {"input_tokens": 600, "output_tokens": 400},
            "2,500 tokens.*\n.*1,000 are used.*2,000 or",
        ),
        (
            Budget(cost=0.03),
            {"input_tokens": 9, "cost": 0.011},
            r"rest of the budget of \$0.03 is too small.*\n.*\$0.0110 is used.*\$0.0200 or more",
        ),
        (Budget(cost=0.5), {"cost": None}, "unknown"),
    ],
    ids=["tokens", "cost", "unknown cost"],
)
async def test_a_rest_that_is_too_small_for_the_next_question_is_named(
    budget: Any, used: dict[str, Any] | dict[str, None] | dict[str, int], words: str
) -> None:
    await room_of(budget, request(), **used)
    with pytest.raises(BudgetSpent, match=words):
        await room_of(budget, request())


async def test_a_request_of_unknown_price_is_not_allowed_where_money_is_limited() -> None:
    with pytest.raises(BudgetSpent, match="cost is unknown"):
        await room_of(Budget(cost=1.0), request(price=None))


@pytest.mark.parametrize("budget", [Budget(tokens=6000), Budget(cost=0.06)], ids=["tokens", "cost"])
async def test_a_request_that_fits_only_with_a_shorter_answer_gets_that(budget: Any) -> None:
    assert await room_of(budget, request()) == 5000


async def test_an_answer_that_could_only_be_cut_off_is_not_paid_for() -> None:
    with pytest.raises(BudgetSpent) as error:
        await room_of(Budget(tokens=1000 + LEAST_ANSWER - 1), request())
    assert error.value.needs == 1000 + LEAST_ANSWER
    assert await room_of(Budget(tokens=1000 + LEAST_ANSWER), request()) == LEAST_ANSWER
    assert await room_of(Budget(tokens=1100), request(answer=100)) == 100  # that is all that was asked for


async def test_requests_side_by_side_never_hold_more_than_there_is() -> None:
    budget, first_is_asked, first_may_end = Budget(cost=0.1), asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with budget.reserve(request()) as grant:  # holds 0.09
            first_is_asked.set()
            await first_may_end.wait()
            grant.spend(Usage(cost=0.02))

    async with asyncio.TaskGroup() as group:
        group.create_task(first())
        await first_is_asked.wait()
        second = group.create_task(room_of(budget, request(), cost=0.05))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not second.done() and budget.used.cost == 0.0
        first_may_end.set()
    assert second.result() == 7000  # of 0.08 that are left, 0.01 go to the question
    assert budget.used.cost == pytest.approx(0.07)


async def test_a_request_that_failed_gives_back_what_it_held() -> None:
    budget = Budget(cost=0.1)
    with pytest.raises(ConnectionError):
        async with budget.reserve(request()):
            raise ConnectionError
    assert await room_of(budget, request()) == 8000


@pytest.mark.parametrize(
    ("budget", "used", "words"),
    [
        (Budget(cost=0.5), {"cost": 0.62}, "It cost $0.6200, more than the budget of $0.5."),
        (Budget(tokens=9000), {"input_tokens": 9001}, "It took 9,001 tokens, more than the budget of 9,000."),
        (Budget(cost=0.5), {"cost": None}, "The cost is unknown, so it is unknown whether the budget of $0.5"),
        (Budget(cost=0.5), {"cost": 0.5}, ""),
    ],
)
async def test_a_service_that_counts_more_than_was_reserved_is_told_of(
    budget: Any, used: dict[str, None] | dict[str, float] | dict[str, int], words: str
) -> None:
    await room_of(budget, request(), **used)
    assert budget.overspent.startswith(words) and bool(budget.overspent) == bool(words)


def test_the_clock_runs_from_the_beginning_and_not_below_zero() -> None:
    assert Budget().seconds_left is None
    assert Budget(seconds=5, started=time.monotonic() - 6).seconds_left == 0.0
    left = Budget(seconds=60).seconds_left
    assert left is not None and 0 < left <= 60
