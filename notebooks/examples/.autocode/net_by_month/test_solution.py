import pandas as pd
import pytest
from solution import run


def orders(days, **columns):
    n = len(days)
    filler = {
        "order_id": list(range(1, n + 1)),
        "customer": ["ann"] * n,
        "day": pd.to_datetime(days),
        "amount": [120.0] * n,
        "currency": ["EUR"] * n,
        "status": ["paid"] * n,
    }
    return pd.DataFrame(filler | columns)


def test_sum_of_a_month():
    """Net revenue of each calendar month, in ascending order; month is its first day."""
    # 120 EUR -> 100 without tax, 240 EUR -> 200
    result = run(orders=orders(["2025-02-28", "2025-01-31", "2025-02-01"], amount=[120.0, 120.0, 240.0]))
    assert result["month"].tolist() == [pd.Timestamp("2025-01-01"), pd.Timestamp("2025-02-01")]
    assert result["net"].tolist() == pytest.approx([100.0, 300.0])


def test_month_without_orders():
    """A month without orders has 0, also across the end of a year."""
    result = run(orders=orders(["2024-11-05", "2025-02-05"]))
    assert result["month"].dt.strftime("%Y-%m").tolist() == ["2024-11", "2024-12", "2025-01", "2025-02"]
    assert result["net"].tolist() == pytest.approx([100.0, 0.0, 0.0, 100.0])


def test_cancelled_orders_extend_nothing():
    """The first and the last month are those of orders that were not cancelled."""
    result = run(orders=orders(["2025-01-05", "2025-06-05"], status=["paid", "cancelled"]))
    assert result["month"].tolist() == [pd.Timestamp("2025-01-01")]


def test_without_a_rate():
    """Orders without a net revenue count for the range of months, and add nothing."""
    result = run(orders=orders(["2025-01-05", "2025-02-05"], currency=["EUR", "CHF"]))
    assert result["net"].tolist() == pytest.approx([100.0, 0.0])


def test_no_rows():
    """No orders give the same columns with no rows."""
    result = run(orders=orders(["2025-01-05"], status=["cancelled"]))
    assert len(result) == 0 and result.columns.tolist() == ["month", "net"]
