import pandas as pd
import pytest
from solution import run

NAN = float("nan")


def climate(*rows):
    """The series of the chart by month, and wettest, of days (date, precipitation, high, low)."""
    dates, rain, highs, lows = zip(*rows) if rows else ((), (), (), ())
    numbers = {"precipitation": rain, "temp_max": highs, "temp_min": lows, "wind": [2.0] * len(rows)}
    frame = pd.DataFrame({name: pd.Series(values, dtype="float64") for name, values in numbers.items()})
    frame.insert(0, "date", pd.to_datetime(pd.Series(dates, dtype="str")).astype("datetime64[us]"))
    chart, wettest = run(weather=frame.assign(weather=pd.Series(["rain"] * len(rows), dtype="str")))
    return {one["name"]: (one["type"], dict(zip(one["x"], one["y"]))) for one in chart.data}, wettest


def test_precipitation():
    """Mean precipitation per month: the sum of a month, averaged over the years."""
    days = ("2012-01-01", 10.0, 5.0, 1.0), ("2012-01-02", 20.0, 5.0, 1.0), ("2013-01-01", 6.0, 5.0, 1.0)
    series, wettest = climate(*days, ("2012-07-01", 17.0, 25.0, 12.0))
    kind, rain = series["precipitation"]
    assert kind == "bar" and rain["Jan"] == pytest.approx(18.0)  # (30 + 6) / 2
    assert rain["Jul"] == pytest.approx(17.0) and wettest == "January"  # a mean of days would give July


def test_temperatures():
    """Highs and lows are averaged over all days of a month in all years."""
    series, _ = climate(("2012-03-01", 0.0, 10.0, 2.0), ("2012-03-02", 0.0, 10.0, 2.0), ("2013-03-01", 0.0, 16.0, 5.0))
    assert [series[name][0] for name in ("mean high", "mean low")] == ["line", "line"]
    assert series["mean high"][1]["Mar"] == pytest.approx(12.0)  # 36 / 3, not (10 + 16) / 2
    assert series["mean low"][1]["Mar"] == pytest.approx(3.0)


def test_months_in_order():
    """January to December, whatever the order of the rows."""
    series, wettest = climate(*((f"2012-{month:02d}-01", float(month), 10.0, 2.0) for month in range(12, 0, -1)))
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    assert all(list(values) == months for _, values in series.values()) and wettest == "December"


def test_tie():
    """Ties keep the order of the calendar, and the first month wins."""
    assert climate(("2012-11-01", 8.0, 9.0, 3.0), ("2013-02-01", 8.0, 9.0, 3.0))[1] == "February"


def test_missing_values():
    """A missing precipitation counts as 0; missing temperatures are excluded from the means."""
    series, _ = climate(("2012-05-01", NAN, NAN, 4.0), ("2012-05-02", 3.0, 20.0, NAN))
    assert {name: values["May"] for name, (_, values) in series.items()} == pytest.approx(
        {"precipitation": 3.0, "mean high": 20.0, "mean low": 4.0}
    )


def test_no_rows():
    """Without rows, the chart has no points and wettest is an empty text."""
    series, wettest = climate()
    assert wettest == "" and not any(values for _, values in series.values())
