from pathlib import Path

import pandas as pd


def run(sales: Path) -> tuple[float, int, int]:
    """Revenue, units and number of sales in a vendor's file."""
    frame = pd.read_csv(sales, skipinitialspace=True)
    units = pd.to_numeric(frame["qty"], errors="coerce")
    revenue = units * pd.to_numeric(frame["unit_price"], errors="coerce")
    return float(revenue.sum()), int(units.sum()), len(frame)
