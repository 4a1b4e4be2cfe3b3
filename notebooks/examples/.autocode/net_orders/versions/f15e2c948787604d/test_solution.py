import pandas as pd
import pytest
from solution import run


def orders(**columns):
    n = len(next(iter(columns.values())))
    filler = {
        "order_id": list(range(1, n + 1)),
        "customer": ["ann"] * n,
        "day": pd.to_datetime(["2025-01-10"] * n),
        "amount": [120.0] * n,
        "currency": ["EUR"] * n,
        "status": ["paid"] * n,
    }
    return pd.DataFrame(filler | columns)


def test_in_euros_without_tax():
    """The net revenue of an order is its amount by in_euro and without_tax."""
    # 120 EUR / 1.2 = 100; 100 GBP = 120 EUR -> 100; 400 USD = 360 EUR -> 300
    result = run(orders=orders(amount=[120.0, 100.0, 400.0], currency=["EUR", "GBP", "USD"]))
    assert result["net"].tolist() == pytest.approx([100.0, 100.0, 300.0])


def test_cancelled_orders():
    """Cancelled orders are left out, and the others keep their order."""
    result = run(orders=orders(order_id=[7, 8, 9], status=["paid", "cancelled", "shipped"]))
    assert result["order_id"].tolist() == [7, 9]
    assert result.columns.tolist() == ["order_id", "customer", "day", "net"]


def test_currency_without_a_rate():
    """An order whose currency has no rate is kept, and its net is missing."""
    result = run(orders=orders(currency=["EUR", "CHF"]))
    assert result["order_id"].tolist() == [1, 2]
    assert result["net"].isna().tolist() == [False, True]


def test_only_the_exact_status():
    """Only the status "cancelled", in exactly this spelling, is left out; an order without a status is kept."""
    result = run(orders=orders(status=["Cancelled", None, "cancelled"]))
    assert result["order_id"].tolist() == [1, 2]


def test_no_rows():
    """No orders give the same columns with no rows."""
    result = run(orders=orders(status=["cancelled"]))
    assert len(result) == 0 and result.columns.tolist() == ["order_id", "customer", "day", "net"]
