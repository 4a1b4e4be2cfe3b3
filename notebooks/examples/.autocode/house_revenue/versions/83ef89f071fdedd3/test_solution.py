import pandas as pd
import pytest
from solution import run


def payments(days, **columns):
    n = len(days)
    filler = {
        "order_id": list(range(1, n + 1)),
        "paid_at": pd.to_datetime(pd.Series(days)),
        "channel": ["web"] * n,
        "amount": [100.0] * n,
        "refund": [0.0] * n,
    }
    return pd.DataFrame(filler | columns)


def test_a_month_ends_on_the_25th():
    """What is paid from the 26th on counts for the next month."""
    days = ["2025-01-25 23:59", "2025-01-26 00:00", "2025-02-25 12:00", "2025-12-31 12:00"]
    result = run(payments=payments(days, amount=[1.0, 2.0, 4.0, 8.0]))
    months = ["2025-01-01", "2025-02-01", "2026-01-01"]
    assert result["month"].tolist() == [pd.Timestamp(month) for month in months]
    assert result["revenue"].tolist() == pytest.approx([1.0, 6.0, 8.0])


def test_staff():
    """Orders of the channel staff are not revenue."""
    result = run(payments=payments(["2025-01-05"] * 3, channel=["web", "staff", None], amount=[1.0, 2.0, 4.0]))
    assert result["revenue"].tolist() == pytest.approx([5.0])


def test_refunds():
    """Revenue is amount minus refund."""
    result = run(payments=payments(["2025-01-05", "2025-01-06"], refund=[30.0, 100.0]))
    assert result["revenue"].tolist() == pytest.approx([70.0])


def test_not_paid():
    """Payments without paid_at are not paid, and left out."""
    result = run(payments=payments(["2025-01-05", None]))
    assert result["revenue"].tolist() == pytest.approx([100.0])


def test_no_rows():
    """No payments that count give the same columns with no rows."""
    result = run(payments=payments(["2025-01-05"], channel=["staff"]))
    assert len(result) == 0 and result.columns.tolist() == ["month", "revenue"]
