import math

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


def test_mean_of_the_last_three_months():
    """What the next month should bring is the mean of the last three months."""
    # net: January 1000, February 100, March 200, April 300; the mean of the last three is 200
    days = ["2025-01-05", "2025-02-05", "2025-03-05", "2025-04-05"]
    expected, _ = run(orders=orders(days, amount=[1200.0, 120.0, 240.0, 360.0]))
    assert expected == pytest.approx(200.0)


def test_part_of_returning_customers():
    """from_returning is the share of returning customers of what is expected."""
    # one month: 100 + 100 + 100 = 300; ann of {ann, bob} returns: half of 300
    customers = ["ann", "ann", "bob"]
    expected, part = run(orders=orders(["2025-01-05"] * 3, customer=customers))
    assert expected == pytest.approx(300.0)
    assert part == pytest.approx(150.0)


def test_month_without_orders():
    """The last three months include months without orders."""
    # January 300, February 0, March 300: 200
    expected, _ = run(orders=orders(["2025-01-05", "2025-03-05"], amount=[360.0, 360.0]))
    assert expected == pytest.approx(200.0)


def test_fewer_than_three_months():
    """With fewer than three months, the mean is that of all of them."""
    expected, _ = run(orders=orders(["2025-01-05", "2025-02-05"], amount=[120.0, 360.0]))
    assert expected == pytest.approx(200.0)


def test_no_orders():
    """Without orders both are undefined."""
    expected, part = run(orders=orders(["2025-01-05"], status=["cancelled"]))
    assert math.isnan(expected) and math.isnan(part)
