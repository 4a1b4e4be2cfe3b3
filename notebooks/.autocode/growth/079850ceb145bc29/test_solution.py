import pandas as pd
import pytest
from solution import run


def stocks(*rows):
    """Prices from (symbol, date, price)."""
    return pd.DataFrame(
        {
            "symbol": pd.Series([row[0] for row in rows], dtype="str"),
            "date": pd.to_datetime(pd.Series([row[1] for row in rows], dtype="str")).astype("datetime64[us]"),
            "price": pd.Series([row[2] for row in rows], dtype="float64"),
        }
    )


def months(monthly):
    return monthly["month"].dt.strftime("%Y-%m-%d").tolist()


def test_growth_in_percent_rounded_to_two_digits():
    """The growth of the price from one month to the next in percent, rounded to two digits."""
    monthly, _ = run(stocks=stocks(("A", "2024-01-01", 30.0), ("A", "2024-02-01", 40.0), ("A", "2024-03-01", 30.0)))
    assert months(monthly) == ["2024-02-01", "2024-03-01"]
    # 40/30 - 1 = 33.333… %, 30/40 - 1 = -25 %
    assert monthly["growth"].tolist() == pytest.approx([33.33, -25.0])


def test_no_growth_for_the_first_month_of_a_symbol():
    """Without the first month of a symbol."""
    monthly, best = run(
        stocks=stocks(("A", "2024-01-01", 10.0), ("A", "2024-02-01", 11.0), ("B", "2024-02-01", 50.0))
    )
    assert monthly["symbol"].tolist() == ["A"]  # B has a single month
    assert best == {"A": "2024-02"}


def test_the_year_turns():
    """The growth of the price from one month to the next."""
    monthly, _ = run(stocks=stocks(("A", "2023-12-01", 10.0), ("A", "2024-01-01", 12.0)))
    assert months(monthly) == ["2024-01-01"]
    assert monthly["growth"].tolist() == pytest.approx([20.0])  # 12/10 - 1


def test_the_month_after_a_missing_one_is_left_out():
    """If a month is missing, the next one has no growth either and is left out."""
    monthly, _ = run(
        stocks=stocks(
            ("A", "2024-01-01", 10.0), ("A", "2024-03-01", 20.0), ("A", "2024-04-01", 30.0), ("A", "2024-05-01", None)
        )
    )
    # February is missing, so March has no growth; April: 30/20 - 1 = 50 %; May has no price
    assert months(monthly) == ["2024-04-01"]
    assert monthly["growth"].tolist() == pytest.approx([50.0])


def test_months_are_told_by_the_date_whatever_its_day():
    """The rows may come in any order; months are told by the date, whatever its day."""
    monthly, _ = run(
        stocks=stocks(("A", "2024-03-01", 20.0), ("B", "2024-02-28", 11.0), ("A", "2024-01-31", 10.0), ("B", "2024-01-02", 10.0))
    )
    # A: January to March, February is missing. B: January to February, 57 days apart, 11/10 - 1 = 10 %
    assert monthly["symbol"].tolist() == ["B"]
    assert months(monthly) == ["2024-02-01"]
    assert monthly["growth"].tolist() == pytest.approx([10.0])


def test_best_is_the_earlier_month_on_a_tie():
    """best gives for each symbol the month of its strongest growth as "YYYY-MM", the earlier one on a tie."""
    _, best = run(
        stocks=stocks(
            ("A", "2024-01-01", 10.0), ("A", "2024-02-01", 20.0), ("A", "2024-03-01", 40.0), ("A", "2024-04-01", 44.0)
        )
    )
    assert best == {"A": "2024-02"}  # 100 %, 100 %, 10 %


def test_sorted_by_symbol_then_month():
    """One row per symbol and month that has a growth, sorted by symbol, then month."""
    monthly, _ = run(
        stocks=stocks(
            ("B", "2024-02-01", 2.0), ("A", "2024-03-01", 3.0), ("B", "2024-01-01", 1.0),
            ("A", "2024-02-01", 2.0), ("A", "2024-01-01", 1.0),
        )
    )
    assert list(zip(monthly["symbol"], months(monthly))) == [
        ("A", "2024-02-01"), ("A", "2024-03-01"), ("B", "2024-02-01"),
    ]


def test_no_prices():
    """An empty stocks table gives an empty table with the same columns and an empty dict."""
    monthly, best = run(stocks=stocks())
    assert list(monthly.columns) == ["symbol", "month", "growth"]
    assert len(monthly) == 0
    assert best == {}
