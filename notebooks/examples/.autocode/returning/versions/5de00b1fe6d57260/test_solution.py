import math

import pandas as pd
import pytest
from solution import run


def orders(customers, **columns):
    n = len(customers)
    filler = {
        "order_id": list(range(1, n + 1)),
        "customer": customers,
        "day": pd.to_datetime(["2025-01-10"] * n),
        "amount": [120.0] * n,
        "currency": ["EUR"] * n,
        "status": ["paid"] * n,
    }
    return pd.DataFrame(filler | columns)


def test_more_than_one_order():
    """The share of the customers who have more than one order."""
    # ann has 2, bob 1, cy 3: 2 of 3
    assert run(orders=orders(["ann", "bob", "cy", "ann", "cy", "cy"])) == pytest.approx(2 / 3)


def test_cancelled_orders():
    """Cancelled orders do not count, and customers who only have such orders are no customers."""
    # ann has 1 that counts, bob 2, cy none: 1 of 2
    status = ["paid", "cancelled", "paid", "paid", "cancelled"]
    assert run(orders=orders(["ann", "ann", "bob", "bob", "cy"], status=status)) == pytest.approx(0.5)


def test_nobody_returns():
    """The share is 0 if each customer has one order."""
    assert run(orders=orders(["ann", "bob"])) == 0.0


def test_no_customers():
    """Without customers the share is undefined."""
    assert math.isnan(run(orders=orders(["ann"], status=["cancelled"])))
