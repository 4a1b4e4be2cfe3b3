"""Tables that tests and benchmarks share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def mixed_table(rows: int) -> pd.DataFrame:
    """The 20 mixed columns of the benchmarks: 6 float, 5 int, 4 text of few values, 2 of many, time, bool, missing."""
    random = np.random.default_rng(7)
    columns: dict[str, Any] = {f"float_{i}": random.normal(100, 15, rows) for i in range(6)}
    columns |= {f"int_{i}": random.integers(0, 10 ** (i + 1), rows) for i in range(5)}
    columns |= {f"kind_{i}": random.choice([f"group {k}" for k in range(3 + 4 * i)], rows) for i in range(4)}
    columns |= {f"name_{i}": [f"user-{k}" for k in random.integers(0, rows, rows)] for i in range(2)}
    columns["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 10**8, rows), unit="s")
    columns["flag"] = random.random(rows) < 0.3
    gaps = random.normal(0, 1, rows)
    gaps[random.random(rows) < 0.1] = np.nan
    columns["gaps"] = gaps
    return pd.DataFrame(columns)
