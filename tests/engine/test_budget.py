import time

import pytest

from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.errors import BudgetSpent
from autocoder_jupyter.types import Usage


def spent(budget, **usage):
    budget.spend(Usage(**usage))
    return budget


def test_nothing_is_limited_by_default():
    spent(Budget(), input_tokens=10**9, cost=None).require()


@pytest.mark.parametrize(
    ("budget", "usage", "words"),
    [
        (Budget(tokens=100), {"input_tokens": 60, "output_tokens": 40}, "100 tokens"),
        (Budget(cost=0.5), {"cost": 0.5}, r"\$0.5 is spent"),
        (Budget(cost=0.5), {"cost": None}, "unknown"),
    ],
    ids=["tokens", "cost", "unknown cost"],
)
def test_a_spent_budget_is_named(budget, usage, words):
    with pytest.raises(BudgetSpent, match=words):
        spent(budget, **usage).require()


def test_the_clock_runs_from_the_beginning_and_not_below_zero():
    assert Budget().seconds_left is None
    assert Budget(seconds=5, started=time.monotonic() - 6).seconds_left == 0.0
    assert 0 < Budget(seconds=60).seconds_left <= 60


def test_an_unknown_cost_stays_unknown():
    assert spent(spent(Budget(), cost=None), cost=0.1).used.cost is None
