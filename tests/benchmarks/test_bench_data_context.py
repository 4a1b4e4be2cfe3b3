"""The time to describe data for the model.

    pytest tests/benchmarks/test_bench_data_context.py --benchmark-only

The table has 20 mixed columns (6 float, 5 int, 4 text with few values, 2 with many, time, bool, missing values).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.data.capture import capture
from autocoder_jupyter.data.context import build_context
from autocoder_jupyter.data.tokens import estimate_tokens
from tests.tables import mixed_table


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
