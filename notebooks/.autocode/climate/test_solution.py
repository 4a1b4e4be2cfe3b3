import pandas as pd
import pytest
from solution import run


def make_weather(rows):
    """Days from (date, precipitation, high, low)."""
    dates, rain, highs, lows = zip(*rows) if rows else ((), (), (), ())
    return pd.DataFrame(
        {
            "date": pd.to_datetime(pd.Series(dates, dtype="str")).astype("datetime64[us]"),
            "precipitation": pd.Series(rain, dtype="float64"),
            "temp_max": pd.Series(highs, dtype="float64"),
            "temp_min": pd.Series(lows, dtype="float64"),
            "wind": pd.Series([2.0] * len(rows), dtype="float64"),
            "weather": pd.Series(["rain"] * len(rows), dtype="str"),
        }
    )


def series(chart):
    """The values of each series by month."""
    return {one["name"]: dict(zip(one["x"], one["y"])) for one in chart.data}


def test_precipitation_is_summed_by_month_and_then_averaged_over_the_years():
    """Mean precipitation per month: the sum of a month, averaged over the years."""
    weather = make_weather(
        [
            ("2012-01-01", 10.0, 5.0, 1.0),
            ("2012-01-02", 20.0, 5.0, 1.0),
            ("2013-01-01", 6.0, 5.0, 1.0),
            ("2012-07-01", 17.0, 25.0, 12.0),
        ]
    )
    chart, wettest = run(weather=weather)
    rain = series(chart)["precipitation"]
    assert rain["Jan"] == pytest.approx(18.0)  # (10 + 20) = 30 in 2012, 6 in 2013: (30 + 6) / 2
    assert rain["Jul"] == pytest.approx(17.0)  # one year only, so it is not divided by two
    assert wettest == "January"  # a mean of days would give January 12, and July


def test_highs_and_lows_are_means_over_all_days():
    """mean high is the mean of temp_max over all days of the month in all years, mean low that of temp_min."""
    weather = make_weather(
        [("2012-03-01", 0.0, 10.0, 2.0), ("2012-03-02", 0.0, 10.0, 2.0), ("2013-03-01", 0.0, 16.0, 5.0)]
    )
    drawn = series(run(weather=weather)[0])
    assert drawn["mean high"]["Mar"] == pytest.approx(12.0)  # (10 + 10 + 16) / 3, not (10 + 16) / 2
    assert drawn["mean low"]["Mar"] == pytest.approx(3.0)  # (2 + 2 + 5) / 3


def test_rain_is_drawn_as_bars_and_temperatures_as_two_lines():
    """Mean precipitation as bars, and the mean of daily highs and lows as two lines."""
    chart, _ = run(weather=make_weather([("2012-03-01", 1.0, 10.0, 2.0), ("2012-04-01", 2.0, 12.0, 4.0)]))
    kinds = {one["name"]: one["type"] for one in chart.data}
    assert kinds == {"precipitation": "bar", "mean high": "line", "mean low": "line"}


def test_months_stand_in_the_order_of_the_calendar():
    """January to December, whatever the order of the rows, and not in the order of the alphabet."""
    weather = make_weather([(f"2012-{month:02d}-01", float(month), 10.0, 2.0) for month in range(12, 0, -1)])
    chart, wettest = run(weather=weather)
    expected = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    assert all(list(one["x"]) == expected for one in chart.data)
    assert wettest == "December"


def test_a_tie_goes_to_the_month_that_comes_first_in_the_calendar():
    """On a tie the month that comes first in the calendar is the wettest."""
    weather = make_weather([("2012-11-01", 8.0, 9.0, 3.0), ("2013-02-01", 8.0, 9.0, 3.0)])
    assert run(weather=weather)[1] == "February"


def test_a_missing_temperature_is_left_out_of_the_mean():
    """A missing precipitation counts as 0; missing temperatures are left out of the mean."""
    nan = float("nan")
    weather = make_weather([("2012-05-01", nan, nan, 4.0), ("2012-05-02", 3.0, 20.0, nan)])
    drawn = series(run(weather=weather)[0])
    assert drawn["precipitation"]["May"] == pytest.approx(3.0)  # 0 + 3
    assert drawn["mean high"]["May"] == pytest.approx(20.0) and drawn["mean low"]["May"] == pytest.approx(4.0)


def test_without_rows_nothing_is_wettest():
    """Without rows, the chart has no points and wettest is an empty text."""
    chart, wettest = run(weather=make_weather([]))
    assert wettest == "" and all(len(one["x"]) == 0 for one in chart.data)
