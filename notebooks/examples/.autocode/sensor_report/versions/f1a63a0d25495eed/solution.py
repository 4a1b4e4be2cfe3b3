import pandas as pd

RANGES = {"temperature": (-40.0, 60.0), "humidity": (0.0, 100.0)}


def run(readings: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """A row a sensor with its temperatures, humidity and warnings; and the warnings in all."""
    known = readings.dropna(subset=["sensor_id"])
    # What lies outside of its range was not measured.
    measured = {column: known[column].where(known[column].between(*limits)) for column, limits in RANGES.items()}
    marked = known.assign(**measured, warning=known["status"].eq("warning").fillna(False).astype("int64"))
    report = (
        marked.groupby("sensor_id", sort=True)
        .agg(
            mean_temp=("temperature", "mean"),
            min_temp=("temperature", "min"),
            max_temp=("temperature", "max"),
            mean_humidity=("humidity", "mean"),
            warning_count=("warning", "sum"),
        )
        .reset_index()
    )
    types = dict.fromkeys(["mean_temp", "min_temp", "max_temp", "mean_humidity"], "float64")
    report = report.astype({"sensor_id": "str", **types, "warning_count": "int64"})
    return report, int(marked["warning"].sum())
