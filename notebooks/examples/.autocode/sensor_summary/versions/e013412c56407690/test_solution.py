import pandas as pd
import pytest
from solution import run

COLUMNS = ["sensor_id", "mean_temp", "min_temp", "max_temp", "mean_humidity", "warning_count"]


def table(rows):
    frame = pd.DataFrame(rows, columns=["sensor_id", "temperature", "humidity", "status"])
    frame["timestamp"] = pd.date_range("2024-06-01", periods=len(frame), freq="h")
    frame["pressure"] = 1000.0
    return frame.astype({"sensor_id": "str", "temperature": "float64", "humidity": "float64", "status": "str"})


def report_of(rows):
    path, total = run(readings=table(rows))
    return pd.read_csv(path), total


def test_statistics_of_each_sensor():
    """Mean, lowest and highest temperature and mean humidity of each sensor."""
    report, _ = report_of([("X", 1.0, 20.0, "normal"), ("X", 4.0, 30.0, "normal"), ("Y", 9.0, 50.0, "normal")])
    assert list(report.columns) == COLUMNS
    assert report.iloc[0].tolist() == ["X", pytest.approx(2.5), 1.0, 4.0, pytest.approx(25.0), 0]
    assert report.iloc[1].tolist() == ["Y", 9.0, 9.0, 9.0, 50.0, 0]


def test_one_row_a_sensor_sorted():
    """The report has one row for each sensor_id, sorted."""
    report, _ = report_of([("S2", 1.0, 1.0, "normal"), ("S1", 1.0, 1.0, "normal"), ("S2", 1.0, 1.0, "normal")])
    assert report["sensor_id"].tolist() == ["S1", "S2"]


def test_warnings():
    """warning_count counts the warnings of a sensor, total_anomalies those of all."""
    report, total = report_of([("A", 1.0, 1.0, "warning"), ("B", 1.0, 1.0, "warning"), ("B", 1.0, 1.0, "warning")])
    assert report["warning_count"].tolist() == [1, 2] and total == 3


def test_an_impossible_temperature_is_left_out():
    """A temperature outside -40 to 60 counts as missing, its warning still counts."""
    report, total = report_of([("A", 75.0, 50.0, "warning"), ("A", 20.0, 50.0, "normal")])
    assert report["max_temp"].tolist() == [20.0] and total == 1


def test_an_impossible_humidity_is_left_out():
    """A humidity outside 0 to 100 counts as missing; 100 is allowed."""
    report, _ = report_of([("A", 1.0, 101.0, "normal"), ("A", 1.0, 100.0, "normal"), ("A", 1.0, 50.0, "normal")])
    assert report["mean_humidity"].tolist() == pytest.approx([75.0])  # (100 + 50) / 2


def test_no_readings():
    """No readings give the columns without rows, and 0."""
    report, total = report_of([])
    assert list(report.columns) == COLUMNS and len(report) == 0 and total == 0
