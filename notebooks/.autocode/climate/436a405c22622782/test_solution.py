import pandas as pd
import pytest
from solution import run


def weather(*rows):
    """Days from (date, precipitation, high, low)."""
    return pd.DataFrame(
        {
            "date": pd.to_datetime(pd.Series([row[0] for row in rows], dtype="str")).astype("datetime64[us]"),
            "precipitation": pd.Series([row[1] for row in rows], dtype="float64"),
            "temp_max": pd.Series([row[2] for row in rows], dtype="float64"),
            "temp_min": pd.Series([row[3] for row in rows], dtype="float64"),
            "wind": pd.Series([3.0] * len(rows), dtype="float64"),
            "weather": pd.Series(["rain"] * len(rows), dtype="str"),
        }
    )


def test_a_chart_is_drawn():
    """Draw the climate of @weather as one chart for January to December."""
    chart, _ = run(weather=weather(("2012-01-01", 1.0, 5.0, 1.0), ("2012-07-01", 0.0, 25.0, 14.0)))
    # precipitation as bars, highs and lows as two lines
    assert sorted(series["type"] for series in chart.data) == ["bar", "line", "line"]


def test_wettest_is_the_english_name_of_the_month():
    """wettest is the English name of the month with the most precipitation."""
    _, wettest = run(weather=weather(("2012-01-01", 1.0, 5.0, 1.0), ("2012-11-01", 9.0, 10.0, 4.0)))
    assert wettest == "November"


def test_a_month_is_summed_before_it_is_averaged_over_the_years():
    """Mean precipitation per month (the sum of a month, averaged over the years)."""
    _, wettest = run(
        weather=weather(
            # March: 4 + 4 = 8 in 2012, 0 in 2013, mean 4
            ("2012-03-01", 4.0, 10.0, 4.0), ("2012-03-02", 4.0, 10.0, 4.0), ("2013-03-01", 0.0, 10.0, 4.0),
            # June: 5 in 2012, 5 in 2013, mean 5; the mean of its days is also 5, March's is 8/3
            ("2012-06-01", 5.0, 20.0, 10.0), ("2013-06-01", 5.0, 20.0, 10.0),
            # September: 3 + 3 = 6 in 2012 only, mean 6; the mean of its days is 3, below June's
            ("2012-09-01", 3.0, 18.0, 9.0), ("2012-09-02", 3.0, 18.0, 9.0),
        )
    )
    assert wettest == "September"


def test_missing_precipitation_counts_as_no_rain():
    """Missing values of precipitation count as no rain."""
    _, wettest = run(weather=weather(("2012-05-01", None, 15.0, 8.0), ("2012-08-01", 0.5, 25.0, 13.0)))
    assert wettest == "August"


def test_the_earlier_month_is_the_wettest_on_a_tie():
    """On a tie the earlier month of the year is the wettest."""
    _, wettest = run(weather=weather(("2012-10-01", 2.0, 12.0, 6.0), ("2012-02-01", 2.0, 7.0, 2.0)))
    assert wettest == "February"


def test_no_weather_is_an_error():
    """An empty weather table raises ValueError, since there is no wettest month."""
    with pytest.raises(ValueError):
        run(weather=weather())
