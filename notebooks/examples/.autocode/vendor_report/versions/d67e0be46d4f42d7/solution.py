from pathlib import Path

import pandas as pd

UNITS = ("quantity", "units_sold", "qty")
PRICES = ("price", "unit_price")
REVENUE = "total_revenue"
TYPES = {"vendor": "str", "total_revenue": "float64", "total_units": "int64", "transaction_count": "int64"}


def run(vendors: Path) -> tuple[pd.DataFrame, float]:
    """A row a sales file with its totals, and the revenue of all."""
    rows = [_totals(path) for path in sorted(vendors.glob("*.csv")) if path.is_file()]
    report = pd.DataFrame(rows, columns=list(TYPES)).astype(TYPES)
    report = report.sort_values("vendor", kind="stable", ignore_index=True)
    return report, float(report["total_revenue"].sum())


def _totals(path: Path) -> tuple[str, float, int, int]:
    frame = pd.read_csv(path, skipinitialspace=True)
    frame.columns = [str(name).strip() for name in frame.columns]
    units = _numbers(frame, UNITS)
    revenue = _numbers(frame, (REVENUE,)) if REVENUE in frame.columns else units * _numbers(frame, PRICES)
    return path.stem, float(revenue.sum()), int(units.sum()), len(frame)


def _numbers(frame: pd.DataFrame, names: tuple[str, ...]) -> pd.Series:
    for name in names:
        if name in frame.columns:
            return pd.to_numeric(frame[name], errors="coerce")
    raise ValueError(f"A file has none of the columns {', '.join(names)}.")
