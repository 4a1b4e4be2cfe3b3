from pathlib import Path

import pandas as pd


def run(sales: Path) -> tuple[float, int, int]:
    """Revenue, units and number of sales in a vendor's file that states the revenue of each sale."""
    frame = pd.read_csv(sales, skipinitialspace=True)
    units = pd.to_numeric(frame["units_sold"], errors="coerce")
    # total_revenue is that of the whole row, so the units do not enter it.
    revenue = pd.to_numeric(frame["total_revenue"], errors="coerce")
    return float(revenue.sum()), int(units.sum()), len(frame)
