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


def test_count_sum_and_last_day():
    """For each customer: number of orders, net revenue and the day of the last order, the highest net revenue first."""
    days = pd.to_datetime(["2025-01-01", "2025-03-01", "2025-02-01"])
    # ann: 120 EUR -> 100; bob: 240 + 120 EUR -> 300
    result = run(orders=orders(["ann", "bob", "bob"], amount=[120.0, 240.0, 120.0], day=days))
    assert result["customer"].tolist() == ["bob", "ann"]
    assert result["orders"].tolist() == [2, 1]
    assert result["net"].tolist() == pytest.approx([300.0, 100.0])
    assert result["last_day"].tolist() == [pd.Timestamp("2025-03-01"), pd.Timestamp("2025-01-01")]


def test_cancelled_orders():
    """Customers who only have cancelled orders are left out, and a cancelled order is not counted."""
    result = run(orders=orders(["ann", "ann", "bob"], status=["paid", "cancelled", "cancelled"]))
    assert result["customer"].tolist() == ["ann"]
    assert result["orders"].tolist() == [1]


def test_ties():
    """Customers with equal net revenue keep the order of their first row."""
    result = run(orders=orders(["zoe", "ann", "bob"]))
    assert result["customer"].tolist() == ["zoe", "ann", "bob"]


def test_without_a_customer():
    """Orders without a customer are left out."""
    result = run(orders=orders(["ann", None]))
    assert result["customer"].tolist() == ["ann"]


def test_no_rows():
    """No orders give the same columns with no rows."""
    result = run(orders=orders(["ann"], status=["cancelled"]))
    assert len(result) == 0 and result.columns.tolist() == ["customer", "orders", "net", "last_day"]
