from pathlib import Path

import pandas as pd

UNITS = ("quantity", "units_sold", "qty")
PRICES = ("price", "unit_price")
REVENUE = "total_revenue"


def run(sales: Path) -> tuple[float, int, int]:
    """Revenue, units and number of sales of one vendor's file."""
    frame = pd.read_csv(sales, skipinitialspace=True)
    frame.columns = [str(name).strip() for name in frame.columns]
    units = _numbers(frame, UNITS, "units")
    if REVENUE in frame.columns:
        revenue = _numbers(frame, (REVENUE,), "revenue")
    else:
        revenue = units * _numbers(frame, PRICES, "revenue or price")
    return float(revenue.sum()), int(units.sum()), len(frame)


def _numbers(frame: pd.DataFrame, names: tuple[str, ...], what: str) -> pd.Series:
    name = next((name for name in names if name in frame.columns), None)
    if name is None:
        raise ValueError(f"The file has no column of {what}: looked for {', '.join(names)}.")
    return pd.to_numeric(frame[name], errors="coerce")
