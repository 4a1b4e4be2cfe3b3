from pathlib import Path

import pandas as pd


def run(sales: Path) -> tuple[float, int, int]:
    """What a week of sales brought: revenue, units, rows."""
    frame = pd.read_csv(sales)
    units = pd.to_numeric(frame["quantity"], errors="coerce")
    revenue = units * pd.to_numeric(frame["price"], errors="coerce")
    return float(revenue.sum()), int(units.sum()), len(frame)
