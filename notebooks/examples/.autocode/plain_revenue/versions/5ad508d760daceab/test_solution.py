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


def test_sum_of_a_month():
    """Revenue of each month; month is its first day."""
    result = run(payments=payments(["2025-02-28", "2025-01-31", "2025-02-01"], amount=[10.0, 20.0, 40.0]))
    assert result["month"].tolist() == [pd.Timestamp("2025-01-01"), pd.Timestamp("2025-02-01")]
    assert result["revenue"].tolist() == pytest.approx([20.0, 50.0])


def test_refunds():
    """A refund counts against the month of its payment."""
    result = run(payments=payments(["2025-01-31", "2025-02-01"], refund=[30.0, 0.0]))
    assert result["revenue"].tolist() == pytest.approx([70.0, 100.0])


def test_not_paid():
    """Payments without paid_at are left out."""
    result = run(payments=payments(["2025-01-05", None]))
    assert result["revenue"].tolist() == pytest.approx([100.0])


def test_all_channels():
    """All channels count, also staff."""
    result = run(payments=payments(["2025-01-05", "2025-01-06"], channel=["web", "staff"]))
    assert result["revenue"].tolist() == pytest.approx([200.0])


def test_month_without_a_payment():
    """Months without a payment have no row."""
    result = run(payments=payments(["2025-01-05", "2025-03-05"]))
    assert result["month"].tolist() == [pd.Timestamp("2025-01-01"), pd.Timestamp("2025-03-01")]
