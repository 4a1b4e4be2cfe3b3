import pandas as pd
from solution import run


def growth(*rows):
    symbols, dates, prices = zip(*rows) if rows else ((), (), ())
    dates = pd.to_datetime(pd.Series(dates, dtype="str")).astype("datetime64[us]")
    frame = pd.DataFrame({"symbol": pd.Series(symbols, dtype="str"), "date": dates})
    monthly, best = run(stocks=frame.assign(price=pd.Series(prices, dtype="float64")))
    return list(zip(monthly["symbol"], monthly["month"].dt.strftime("%Y-%m-%d"), monthly["growth"])), best


def test_each_symbol():
    """For each symbol the growth from one month to the next in percent, without its first month."""
    a, b = [("A", "2024-01-01", 10.0), ("A", "2024-02-01", 20.0)], [("B", "2024-03-01", 50.0), ("B", "2024-04-01", 25.0)]
    expected = [("A", "2024-02-01", 100.0), ("B", "2024-04-01", -50.0)]
    assert growth(*a, *b) == (expected, {"A": "2024-02", "B": "2024-04"})
    assert growth(b[1], a[1], b[0], a[0])[0] == expected


def test_missing_month():
    """If a month is missing, the next one has no growth either and is left out."""
    rows = [("A", "2023-12-01", 50.0), ("A", "2024-01-01", 60.0), ("A", "2024-03-01", 90.0), ("A", "2025-04-01", 99.0)]
    assert growth(*rows) == ([("A", "2024-01-01", 20.0)], {"A": "2024-01"})


def test_rounding():
    """growth is rounded to two digits."""
    assert growth(("A", "2024-01-01", 3.0), ("A", "2024-02-01", 4.0))[0] == [("A", "2024-02-01", 33.33)]


def test_tie_after_rounding():
    """best compares the growth as rounded in monthly; the earlier month on a tie."""
    found, best = growth(("A", "2024-01-01", 30000.0), ("A", "2024-02-01", 33000.0), ("A", "2024-03-01", 36301.0))
    assert [value for _, _, value in found] == [10.0, 10.0]  # 36301 / 33000 - 1 = 10.003 %
    assert best == {"A": "2024-02"}


def test_several_rows_in_a_month():
    """Of several rows of a symbol in one month, the one with the latest date counts."""
    rows = [("A", "2024-01-20", 20.0), ("A", "2024-01-05", 40.0), ("A", "2024-02-01", 30.0)]
    assert growth(*rows)[0] == [("A", "2024-02-01", 50.0)]


def test_without_growth():
    """A symbol without any growth is in neither output."""
    assert growth(("A", "2024-01-01", 10.0)) == ([], {}) == growth()
