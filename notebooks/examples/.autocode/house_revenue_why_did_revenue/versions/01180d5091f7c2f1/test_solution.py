import pandas as pd
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


def monthly(**revenues):
    months = pd.to_datetime([f"2025-{number}-01" for number in (name[1:] for name in revenues)])
    return pd.DataFrame({"month": months, "revenue": list(revenues.values())})


def test_it_rose():
    """If March has more revenue than the month before, the answer says that it did not fall, with both numbers."""
    # February: 100; March, from 26 February on: 40 + 200 = 240
    given = payments(["2025-02-10", "2025-02-26", "2025-03-10"], amount=[100.0, 40.0, 200.0])
    answer, evidence = run(payments=given, monthly=monthly(m02=100.0, m03=240.0))
    assert "did not fall" in answer and "100.00" in answer and "240.00" in answer
    assert evidence["order_id"].tolist() == [1, 2, 3]


def test_it_fell():
    """If March has less revenue than the month before, the answer says that it fell, with both numbers."""
    given = payments(["2025-02-10", "2025-03-10"], amount=[100.0, 70.0])
    answer, _ = run(payments=given, monthly=monthly(m02=100.0, m03=70.0))
    assert "fell" in answer and "did not" not in answer and "100.00" in answer and "70.00" in answer


def test_what_counts():
    """Payments of staff, unpaid ones and those of other months are not in the evidence."""
    days = ["2025-01-10", "2025-02-10", "2025-03-10", "2025-03-11", None]
    given = payments(days, channel=["web", "web", "web", "staff", "web"])
    _, evidence = run(payments=given, monthly=monthly(m01=100.0, m02=100.0, m03=100.0))
    assert evidence["order_id"].tolist() == [2, 3]


def test_no_march():
    """Without a March, the evidence has no rows."""
    _, evidence = run(payments=payments(["2025-01-10"]), monthly=monthly(m01=100.0))
    assert len(evidence) == 0
    assert evidence.columns.tolist() == ["month", "order_id", "paid_at", "revenue"]


def paid(days, amounts, refunds):
    return payments(days, order_id=[1] * len(days), amount=amounts, refund=refunds)


NOTHING = pd.DataFrame({"month": pd.to_datetime([]), "revenue": pd.Series([], dtype="float64")})


def test_equal_revenue_did_not_fall():
    """If March has the revenue of the month before, the answer says that it did not fall."""
    # 28 January counts for February: 1 - 1 = 0; 7 March: 1 - 1 = 0
    answer, evidence = run(payments=paid(["2024-01-28", "2024-03-07"], [1.0, 1.0], [1.0, 1.0]), monthly=NOTHING)
    assert "did not fall" in answer and "rose" not in answer
    assert evidence["revenue"].tolist() == [0.0, 0.0]


def test_the_25th_of_march():
    """A month ends on the 25th: what is paid on the 26th or later counts for the next month."""
    # 28 January counts for February, 25 March for March
    _, evidence = run(payments=paid(["2024-01-28", "2024-03-25"], [1.0, 1.0], [1.0, 1.0]), monthly=NOTHING)
    assert evidence["month"].tolist() == [pd.Timestamp("2024-02-01"), pd.Timestamp("2024-03-01")]


def test_first_month_is_march():
    """Without a month before March, the answer says so and the evidence has no rows."""
    answer, evidence = run(payments=paid(["2024-03-07"], [1.0], [0.0]), monthly=NOTHING)
    assert "March" in answer
    assert len(evidence) == 0


def test_other_months_only():
    """Without a March, the evidence has no rows."""
    _, evidence = run(payments=paid(["2024-01-01", "2024-02-01"], [1.0, 1.0], [1.0, 1.0]), monthly=NOTHING)
    assert len(evidence) == 0
