"""Results used like ordinary functions: recipes with the real libraries, in the real local sandbox."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import joblib
import pandas as pd
import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.types import CodeSolution, InputSpec, OutputSpec, Report

pytestmark = [pytest.mark.local_sandbox, pytest.mark.slow]

CODE = """
import pandas as pd


def run(sales: pd.DataFrame) -> pd.DataFrame:
    return sales.assign(share=sales["revenue"] / sales["revenue"].sum())[["revenue", "share"]]
"""


@pytest.fixture
def share(tmp_path: Path) -> CodeGenEvalResult:
    report = Report(
        name="share",
        run_id="abc",
        prompt="…",
        success=True,
        solution=CodeSolution(code=CODE),
        declared_inputs=(InputSpec(name="sales", type="DataFrame"),),
        declared_outputs=(OutputSpec(name="shares", type="DataFrame"),),
        sandbox="local",
    )
    options = CallOptions(sandbox="local")
    return CodeGenEvalResult(
        "share", Pending.resolved(Resolution("ready", report)), options=options, root=tmp_path / ".autocode"
    )


def sales(*revenue: float) -> pd.DataFrame:
    return pd.DataFrame({"revenue": revenue})


def test_scikit_learn_takes_it_as_a_transformer(share: CodeGenEvalResult) -> None:
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    pipeline = make_pipeline(FunctionTransformer(share.run), StandardScaler())
    revived = pickle.loads(pickle.dumps(clone(pipeline).fit(sales(1, 3))))
    assert revived.transform(sales(1, 3)).tolist() == [[-1, -1], [1, 1]]
    assert FunctionTransformer(share).fit_transform(sales(1, 3))["share"].tolist() == [0.25, 0.75]


def test_joblib_calls_it_in_processes_of_its_own(share: CodeGenEvalResult) -> None:
    given = [sales(1, 3), sales(1, 1)]
    shares = joblib.Parallel(n_jobs=2)(joblib.delayed(share.run)(each) for each in given)
    assert [each["share"].tolist() for each in shares] == [[0.25, 0.75], [0.5, 0.5]]


def test_a_pool_of_processes_or_threads_maps_it(share: CodeGenEvalResult) -> None:
    given = [sales(1, 3), sales(1, 1)]
    share.run(sales(2))  # a process that is forked from here must not use our sandbox, nor our loop
    with ProcessPoolExecutor(2) as processes, ThreadPoolExecutor(2) as threads:
        for shares in (
            processes.map(share.run, given),
            processes.map(share.as_task("s"), given),
            threads.map(share, given),
        ):
            assert [each["share"].tolist() for each in shares] == [[0.25, 0.75], [0.5, 0.5]]
