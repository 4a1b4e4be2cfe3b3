from pathlib import Path

import pandas as pd


def run(sales: Path) -> tuple[float, int, int]:
    """Revenue, units and number of rows of a week's sales."""
    frame = pd.read_csv(sales)
    units = pd.to_numeric(frame["quantity"], errors="coerce")
    revenue = units * pd.to_numeric(frame["price"], errors="coerce")
    return float(revenue.sum()), int(units.sum()), len(frame)
