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
        (Budget(seconds=5, started=time.monotonic() - 6), {}, "5 seconds"),
    ],
    ids=["tokens", "cost", "unknown cost", "seconds"],
)
def test_a_spent_budget_is_named(budget, usage, words):
    with pytest.raises(BudgetSpent, match=words):
        spent(budget, **usage).require()


def test_an_unknown_cost_stays_unknown():
    assert spent(spent(Budget(), cost=None), cost=0.1).used.cost is None
