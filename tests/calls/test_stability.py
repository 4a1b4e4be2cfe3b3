"""Whether the conclusion of a function is stable on the data of a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.types import CodePlan, CodeSolution, Conclusion, InputSpec, Report
from tests.engine.concluding_functions import STABLE, trial

pytestmark = pytest.mark.local_sandbox

CASE = STABLE["an effect"]


def lift(folder: Path, conclusion: Conclusion | None = None) -> CodeGenEvalResult:
    inputs, outputs = (InputSpec(name="x", type="DataFrame"),), (CASE.output,)
    report = Report(
        name="lift",
        run_id="abc",
        prompt="…",
        success=True,
        solution=CodeSolution(code=CASE.code),
        declared_inputs=inputs,
        declared_outputs=outputs,
        plan=CodePlan(description="…", approach="…", inputs=inputs, outputs=outputs, conclusion=conclusion),
        sandbox="local",
    )
    options = CallOptions(sandbox="local")
    pending = Pending.resolved(Resolution("ready", report))
    return CodeGenEvalResult("lift", pending, samples={"x": CASE.data()}, options=options, root=folder)


def test_it_is_found_for_the_sample_and_for_other_data(tmp_path: Path) -> None:
    planned = lift(tmp_path, Conclusion(kind="effect", output="out", outcome="y"))
    assert planned.stability().sentences == (
        "The sign of out holds in 100 of 100 resamples.",
        "Data with y shuffled give as large an effect in 0 of 100.",
    )
    other = planned.stability(trial(0.02)(), conclusion="effect out")
    assert (other.alarms, other.shuffled, len(other.numbers)) == (("resampled",), 0, 100)
    assert repr(other) == f"The sign of out holds in {other.same} of 100 resamples."


@pytest.mark.parametrize(
    ("conclusion", "what"),
    [
        (None, "The plan of lift names no conclusion"),
        ("effect lift", "is no conclusion of this function"),
        ("", "conclusion must be a non-empty string"),
    ],
)
def test_without_a_conclusion_nothing_runs(tmp_path: Path, conclusion: Any, what: str) -> None:
    with pytest.raises(InvalidRequest, match=what):
        lift(tmp_path).stability(conclusion=conclusion)
