import pandas as pd
import pytest
from solution import run

COLUMNS = ["sensor_id", "temperature", "humidity", "status"]


def readings(*rows):
    frame = pd.DataFrame(list(rows), columns=COLUMNS)
    frame.insert(0, "timestamp", pd.date_range("2024-03-01", periods=len(frame), freq="h"))
    frame["pressure"] = 1013.0
    return frame.astype({"sensor_id": "str", "temperature": "float64", "humidity": "float64", "status": "str"})


def test_temperatures_and_humidity_of_a_sensor():
    """For each sensor: mean, lowest and highest temperature, and mean humidity."""
    report, _ = run(
        readings=readings(
            ("A", 10.0, 40.0, "normal"), ("B", 30.0, 70.0, "normal"), ("A", 13.0, 50.0, "normal"), ("A", 10.0, 60.0, "normal")
        )
    )
    a = report[report["sensor_id"] == "A"].iloc[0]
    assert a["mean_temp"] == pytest.approx(11.0)  # (10 + 13 + 10) / 3
    assert (a["min_temp"], a["max_temp"]) == (10.0, 13.0)
    assert a["mean_humidity"] == pytest.approx(50.0)  # (40 + 50 + 60) / 3


def test_one_row_a_sensor_in_order():
    """report has one row for each sensor_id, sorted by it."""
    report, _ = run(readings=readings(("C", 1.0, 1.0, "normal"), ("A", 1.0, 1.0, "normal"), ("C", 2.0, 2.0, "normal")))
    assert report["sensor_id"].tolist() == ["A", "C"]


def test_warnings_are_counted_by_sensor_and_in_all():
    """warning_count is the number of warnings of a sensor, total_anomalies that of all."""
    report, total = run(
        readings=readings(
            ("A", 1.0, 1.0, "warning"), ("B", 1.0, 1.0, "normal"), ("A", 1.0, 1.0, "warning"), ("C", 1.0, 1.0, "warning")
        )
    )
    assert dict(zip(report["sensor_id"], report["warning_count"])) == {"A": 2, "B": 0, "C": 1}
    assert total == 3


def test_only_the_status_makes_a_warning():
    """A reading is a warning when its status is 'warning'; a high temperature alone is none."""
    report, total = run(readings=readings(("A", 60.0, 100.0, "normal"), ("A", -40.0, 0.0, "normal")))
    assert total == 0 and report["warning_count"].tolist() == [0]
    assert (report["min_temp"].iloc[0], report["max_temp"].iloc[0]) == (-40.0, 60.0)


def test_what_lies_outside_of_its_range_is_no_measurement():
    """A temperature or humidity outside of its range counts as missing; the reading still counts as a warning."""
    report, total = run(
        readings=readings(
            ("A", 20.0, 50.0, "normal"), ("A", 60.5, 100.5, "warning"), ("A", -40.5, -0.5, "normal"), ("A", 30.0, 70.0, "normal")
        )
    )
    a = report.iloc[0]
    assert a["mean_temp"] == pytest.approx(25.0)  # (20 + 30) / 2
    assert (a["min_temp"], a["max_temp"]) == (20.0, 30.0)
    assert a["mean_humidity"] == pytest.approx(60.0)  # (50 + 70) / 2
    assert a["warning_count"] == total == 1


def test_missing_values_are_left_out():
    """Missing temperatures are left out, and a missing status is no warning."""
    report, total = run(readings=readings(("A", None, 40.0, "normal"), ("A", 4.0, 60.0, None)))
    assert report["mean_temp"].tolist() == pytest.approx([4.0])
    assert report["mean_humidity"].tolist() == pytest.approx([50.0])
    assert total == 0


def test_the_order_of_the_readings_does_not_matter():
    """The report is the same in any order of the readings."""
    rows = [("B", 3.0, 30.0, "warning"), ("A", 1.0, 10.0, "normal"), ("B", 5.0, 50.0, "normal")]
    there, total = run(readings=readings(*rows))
    back, again = run(readings=readings(*rows[::-1]))
    pd.testing.assert_frame_equal(there, back)
    assert total == again == 1


def test_no_readings():
    """No readings give a report without rows, and 0."""
    report, total = run(readings=readings())
    assert len(report) == 0 and total == 0
    assert list(report.columns) == ["sensor_id", "mean_temp", "min_temp", "max_temp", "mean_humidity", "warning_count"]
