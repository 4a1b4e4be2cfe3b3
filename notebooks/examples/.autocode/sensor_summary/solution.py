from pathlib import Path

import pandas as pd


def run(readings: pd.DataFrame) -> tuple[Path, int]:
    """A CSV with a row a sensor, and the number of warnings."""
    known = readings[readings["sensor_id"].notna()]
    temperature = known["temperature"].where(known["temperature"].between(-40, 60))
    humidity = known["humidity"].where(known["humidity"].between(0, 100))
    warning = known["status"].eq("warning").fillna(False).astype("int64")
    report = (
        known.assign(temperature=temperature, humidity=humidity, warning=warning)
        .groupby("sensor_id", sort=True)
        .agg(
            mean_temp=("temperature", "mean"),
            min_temp=("temperature", "min"),
            max_temp=("temperature", "max"),
            mean_humidity=("humidity", "mean"),
            warning_count=("warning", "sum"),
        )
        .reset_index()
    )
    path = Path("report.csv")
    report.to_csv(path, index=False)
    return path, int(warning.sum())
