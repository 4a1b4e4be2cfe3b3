"""The time of `result.handle(df)` with a warm worker, compared with the same function in this process.

    python -m pytest tests/benchmarks/test_bench_run.py --benchmark-only --benchmark-group-by=group

There is a pause between two calls, as between two cells, in which a worker prepares its next child.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.data.value_drift import value_profile
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.types import CodeSolution, InputSpec, OutputSpec, Report, Resources
from tests.sandbox.sandboxes import EACH, base_spec, open_sandbox

SOURCE = "def run(frame):\n    frame = frame.copy()\n    frame['total'] = frame['c0'] + frame['c1']\n    return frame\n"
SIZES = {"1k": 1_000, "100k": 100_000, "1M": 1_000_000}
PAUSE_SECONDS = 0.05
ROUNDS = 50


def frame_of(rows: int) -> pd.DataFrame:
    """Ten columns: eight of floats, one of integers, one of dates."""
    random = np.random.default_rng(0)
    columns: dict[str, Any] = {f"c{number}": random.random(rows) for number in range(8)}
    columns["id"] = np.arange(rows)
    columns["when"] = pd.date_range("2020-01-01", periods=rows, freq="s")
    return pd.DataFrame(columns)


@pytest.fixture(params=EACH)
def result(request: pytest.FixtureRequest, tmp_path: Path) -> CodeGenEvalResult:
    return finished_result(request.param, tmp_path)


def finished_result(name: str, root: Path) -> CodeGenEvalResult:
    """A result in the sandbox `name`, whose function was tested with a small frame of the same columns."""
    sandbox = open_sandbox(name)
    spec = base_spec(name)
    sample = frame_of(100)
    report = Report(
        name="bench",
        run_id="1",
        prompt="…",
        success=True,
        solution=CodeSolution(code=SOURCE),
        declared_inputs=(InputSpec(name="frame", type="DataFrame"),),
        declared_outputs=(OutputSpec(name="frame", type="DataFrame"),),
        sandbox=sandbox.name,
        python_version=spec.python_version,
        lock=sandbox.build(spec).lock,
        sample_shapes={"frame": shape_of(sample)},
        sample_values={"frame": value_profile(sample, "rows", WithheldColumns()).model_dump(mode="json")},
    )
    options = CallOptions(sandbox=sandbox.name, resources=Resources(cpu=1.0, memory="4Gi"))
    finished = Pending.resolved(Resolution("ready", report))
    return CodeGenEvalResult("bench", finished, samples={"frame": sample}, options=options, root=root)


def timed(benchmark: Any, call: Callable[[], Any]) -> None:
    """Measure calls with a pause before each."""
    call()
    benchmark.pedantic(call, setup=lambda: time.sleep(PAUSE_SECONDS), rounds=ROUNDS)


@pytest.mark.parametrize("size", SIZES)
def test_in_this_process(benchmark: Any, size: str) -> None:
    benchmark.group = f"run {size} x 10"
    scope: dict[str, Any] = {}
    exec(SOURCE, scope)
    frame = frame_of(SIZES[size])
    timed(benchmark, lambda: scope["run"](frame))


@pytest.mark.parametrize("drift", ["on", "off"], ids=["compared", "not compared"])
@pytest.mark.parametrize("reuse", [False, True], ids=["fresh", "reused"])
@pytest.mark.parametrize("size", SIZES)
def test_in_its_sandbox(benchmark: Any, result: CodeGenEvalResult, size: str, reuse: bool, drift: str) -> None:
    """With and without the comparison of values, which may take at most 4 % of the time of calls."""
    benchmark.group = f"run {size} x 10"
    frame = frame_of(SIZES[size])
    timed(benchmark, lambda: result.run(frame=frame, reuse=reuse, drift=drift))
