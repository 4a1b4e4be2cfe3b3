"""How long a function would take for many more rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence.pace import may_be_slow, pace
from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import VariedSample
from autocoder_jupyter.run.of_report import verified
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.types import Evidence, InputSpec, OutputSpec
from autocoder_jupyter.types.evidence import Strength

LOOP = """\
    seen = 0
    for one in x["n"]{rows}:
        seen += sum(x["n"].to_numpy() > one)
    return float(seen)
"""


def told(worker: Worker, body: str, rows: int = 900) -> str:
    program = Program(
        f"def run(x):\n{body}", (InputSpec(name="x", type="DataFrame"),), (OutputSpec(name="out", type="float"),)
    )
    varied = VariedSample({"x": pd.DataFrame({"id": range(rows), "n": np.arange(rows) % 97 / 2})})
    return pace(SolutionWorker("f", worker, program), varied, {}, TimeLimit(60.0))


@pytest.mark.local_sandbox
@pytest.mark.real_sandbox
def test_a_function_whose_time_grows_with_the_square_of_the_rows_is_told(worker: Worker) -> None:
    seen = told(worker, LOOP.format(rows=""))
    assert seen.startswith("90,000 rows would take ") and "minutes" in seen
    assert told(worker, LOOP.format(rows=""), rows=10) == ""


@pytest.mark.local_sandbox
@pytest.mark.real_sandbox
def test_a_function_that_is_fast_enough_is_not(worker: Worker) -> None:
    assert told(worker, LOOP.format(rows="[:20]")) == "" == told(worker, "    return 1 / (len(x) < 1000)")


def test_it_is_a_mark() -> None:
    slow = "90,000 rows would take about 40 minutes: its time grows with the square of the rows"
    found = verified(Evidence(strength=Strength(pace=slow)), None, 1)
    assert slow in found.unchecked and not found.questions


def test_code_without_a_loop_is_not_tried() -> None:
    assert not may_be_slow("def run(x):\n    return float(x.groupby('g')['n'].sum().max())")
    for body in ("sum(n for n in x['n'])", "x['n'].apply(len)", "(x['n'].to_numpy()[:, None] > 1).sum()"):
        assert may_be_slow(f"def run(x):\n    return {body}")
