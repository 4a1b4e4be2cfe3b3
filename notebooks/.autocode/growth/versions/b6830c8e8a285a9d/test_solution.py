import pandas as pd
import pytest
from solution import run


def make_stocks(rows):
    """Prices from (symbol, date, price)."""
    symbols, dates, prices = zip(*rows) if rows else ((), (), ())
    return pd.DataFrame(
        {
            "symbol": pd.Series(symbols, dtype="str"),
            "date": pd.to_datetime(pd.Series(dates, dtype="str")).astype("datetime64[us]"),
            "price": pd.Series(prices, dtype="float64"),
        }
    )


def test_growth_is_a_percentage_of_the_month_before():
    """The growth of the price from one month to the next in percent, without the first month of a symbol."""
    monthly, best = run(
        stocks=make_stocks([("A", "2024-01-01", 100.0), ("A", "2024-02-01", 110.0), ("A", "2024-03-01", 99.0)])
    )
    assert monthly["month"].tolist() == [pd.Timestamp("2024-02-01"), pd.Timestamp("2024-03-01")]
    assert monthly["growth"].tolist() == pytest.approx([10.0, -10.0])  # 110/100 - 1, 99/110 - 1
    assert best == {"A": "2024-02"}


def test_a_symbol_does_not_grow_from_another():
    """For each symbol: the first month of the second one has no growth over the last of the first."""
    monthly, _ = run(
        stocks=make_stocks(
            [("A", "2024-01-01", 10.0), ("A", "2024-02-01", 20.0), ("B", "2024-03-01", 50.0), ("B", "2024-04-01", 25.0)]
        )
    )
    assert list(zip(monthly["symbol"], monthly["growth"])) == [("A", 100.0), ("B", -50.0)]  # 20/10 - 1, 25/50 - 1


def test_the_month_after_a_gap_is_left_out():
    """If a month is missing, the next one has no growth either and is left out."""
    monthly, best = run(
        stocks=make_stocks([("A", "2023-12-01", 10.0), ("A", "2024-02-01", 40.0), ("A", "2024-03-01", 44.0)])
    )
    assert monthly["month"].tolist() == [pd.Timestamp("2024-03-01")]
    assert monthly["growth"].tolist() == pytest.approx([10.0])  # 44/40 - 1
    assert best == {"A": "2024-03"}


def test_december_and_january_follow_each_other():
    """From one month to the next, also over the turn of the year; the same month of another year is no neighbour."""
    monthly, _ = run(
        stocks=make_stocks([("A", "2023-12-01", 50.0), ("A", "2024-01-01", 60.0), ("A", "2025-02-01", 90.0)])
    )
    assert monthly["month"].tolist() == [pd.Timestamp("2024-01-01")]
    assert monthly["growth"].tolist() == pytest.approx([20.0])  # 60/50 - 1


def test_a_tie_of_the_rounded_growth_goes_to_the_earlier_month():
    """best compares the rounded growth that stands in monthly; of equal ones the earliest month wins."""
    monthly, best = run(
        stocks=make_stocks([("A", "2024-01-01", 30000.0), ("A", "2024-02-01", 33000.0), ("A", "2024-03-01", 36301.0)])
    )
    # 33000/30000 - 1 = 10 %; 36301/33000 - 1 = 10.00303 %, which is 10.0 when it is rounded to two digits
    assert monthly["growth"].tolist() == pytest.approx([10.0, 10.0])
    assert best == {"A": "2024-02"}


def test_the_order_of_the_rows_does_not_matter():
    """The row before is that of the calendar month before, whatever the order of the rows in stocks."""
    rows = [
        ("B", "2024-02-01", 30.0),
        ("A", "2024-03-01", 99.0),
        ("A", "2024-01-01", 100.0),
        ("B", "2024-01-01", 20.0),
        ("A", "2024-02-01", 110.0),
    ]
    monthly, best = run(stocks=make_stocks(rows))
    again, best_again = run(stocks=make_stocks(rows[::-1]))
    assert list(zip(monthly["symbol"], monthly["growth"])) == [("A", 10.0), ("A", -10.0), ("B", 50.0)]
    assert again["growth"].tolist() == monthly["growth"].tolist() and best == best_again


def test_growth_is_rounded_to_two_digits():
    """growth is rounded to two digits."""
    monthly, _ = run(stocks=make_stocks([("A", "2024-01-01", 3.0), ("A", "2024-02-01", 4.0)]))
    assert monthly["growth"].tolist() == [33.33]  # 4/3 - 1 = 33.333… %


def test_no_rows_and_single_months_have_no_growth():
    """A symbol without any growth is in neither output; no rows give the same columns without rows."""
    for rows in ([], [("A", "2024-01-01", 10.0)]):
        monthly, best = run(stocks=make_stocks(rows))
        assert monthly.columns.tolist() == ["symbol", "month", "growth"] and len(monthly) == 0
        assert best == {}
