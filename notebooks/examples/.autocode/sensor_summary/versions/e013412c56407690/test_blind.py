import pandas as pd
import pytest
from solution import run


def readings(*rows):
    frame = pd.DataFrame(list(rows), columns=["sensor_id", "temperature", "humidity", "status"])
    frame.insert(0, "timestamp", pd.date_range("2024-03-01", periods=len(frame), freq="h"))
    frame["pressure"] = 1013.0
    return frame.astype({"sensor_id": "str", "temperature": "float64", "humidity": "float64", "status": "str"})


def test_temperatures_and_humidity_of_a_sensor():
    """For each sensor: mean, lowest and highest temperature, and mean humidity."""
    path, _ = run(
        readings=readings(
            ("A", 10.0, 40.0, "normal"), ("B", 30.0, 70.0, "normal"), ("A", 13.0, 50.0, "normal"), ("A", 10.0, 60.0, "normal")
        )
    )
    a = pd.read_csv(path).iloc[0]
    assert a["mean_temp"] == pytest.approx(11.0)  # (10 + 13 + 10) / 3
    assert (a["min_temp"], a["max_temp"], a["mean_humidity"]) == (10.0, 13.0, pytest.approx(50.0))


def test_the_columns_and_one_row_a_sensor_in_order():
    """The report has one row for each sensor_id, sorted by it."""
    path, _ = run(readings=readings(("C", 1.0, 1.0, "normal"), ("A", 1.0, 1.0, "normal"), ("C", 2.0, 2.0, "normal")))
    report = pd.read_csv(path)
    assert list(report.columns) == ["sensor_id", "mean_temp", "min_temp", "max_temp", "mean_humidity", "warning_count"]
    assert report["sensor_id"].tolist() == ["A", "C"]


def test_warnings_by_sensor_and_in_all():
    """warning_count is the number of warnings of a sensor, total_anomalies that of all."""
    path, total = run(
        readings=readings(
            ("A", 1.0, 1.0, "warning"), ("B", 1.0, 1.0, "normal"), ("A", 1.0, 1.0, "warning"), ("C", 1.0, 1.0, "warning")
        )
    )
    assert pd.read_csv(path)["warning_count"].tolist() == [2, 0, 1]
    assert total == 3


def test_what_lies_outside_of_its_range_is_no_measurement():
    """A temperature or humidity outside of its range counts as missing; the bounds are allowed."""
    path, total = run(
        readings=readings(("A", 60.5, 100.5, "warning"), ("A", 60.0, 100.0, "normal"), ("A", -40.0, 0.0, "normal"))
    )
    a = pd.read_csv(path).iloc[0]
    assert (a["min_temp"], a["max_temp"]) == (-40.0, 60.0)
    assert a["mean_temp"] == pytest.approx(10.0)  # (60 - 40) / 2
    assert a["mean_humidity"] == pytest.approx(50.0)  # (100 + 0) / 2
    assert total == 1


def test_missing_values_are_left_out():
    """Missing temperatures are in no mean, and a missing status is no warning."""
    path, total = run(readings=readings(("A", None, 40.0, "normal"), ("A", 4.0, 60.0, None)))
    assert pd.read_csv(path)["mean_temp"].tolist() == pytest.approx([4.0])
    assert total == 0


def test_no_readings():
    """No readings give a report without rows, and 0."""
    path, total = run(readings=readings())
    assert len(pd.read_csv(path)) == 0 and total == 0
