"""What it takes to describe data to the model: `pytest tests/benchmarks/test_bench_data_context.py --benchmark-only`.

The table is the mixed one of 20 columns (6 float, 5 int, 4 texts of few values, 2 of many, time, bool, gaps).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.data.capture import capture
from autocoder_jupyter.data.context import build_context
from autocoder_jupyter.data.tokens import estimate_tokens


def mixed_table(rows: int) -> pd.DataFrame:
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


@pytest.mark.parametrize("rows", [10_000, 100_000, 1_000_000])
def test_bench_data_context(benchmark: Any, rows: int) -> None:
    frame = mixed_table(rows)
    context = benchmark.pedantic(build_context, args=({"t": frame},), rounds=5, warmup_rounds=1)
    benchmark.extra_info |= {"characters": len(context.text), "tokens": estimate_tokens(context.text)}
    assert estimate_tokens(context.text) <= 4_000


@pytest.mark.parametrize("columns", [1_000, 10_000])
def test_bench_wide_context(benchmark: Any, columns: int) -> None:
    frame = pd.DataFrame(np.zeros((100, columns)), columns=[f"c{i}" for i in range(columns)])
    context = benchmark.pedantic(build_context, args=({"t": frame},), rounds=3, warmup_rounds=1)
    assert estimate_tokens(context.text) <= 4_000


def test_bench_capture(benchmark: Any) -> None:
    frame = mixed_table(1_000_000)
    benchmark(capture, frame)
