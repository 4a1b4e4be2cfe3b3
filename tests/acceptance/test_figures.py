"""Figures of three libraries, from the sandbox to the notebook. Tests read their data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.sandbox.host.pool import shared_pool
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec, Program, TestSpec, WorkerLimits, WorkerSpec
from autocoder_jupyter.types import Figure, OutputSpec
from autocoder_jupyter.untrusted.charts import PLOTLY

pytestmark = [pytest.mark.local_sandbox, pytest.mark.slow]

CODE = """
import altair
import pandas as pd
import plotly.express
from matplotlib.figure import Figure

TABLE = pd.DataFrame({"month": ["Jan", "Feb"], "revenue": [1.5, 2.0]})


def run():
    figure = Figure()
    figure.subplots().bar(TABLE["month"], TABLE["revenue"])
    chart = altair.Chart(TABLE).mark_bar().encode(x="month", y="revenue")
    return figure, plotly.express.bar(TABLE, x="month", y="revenue"), chart
"""

TESTS = """
from solution import run


def test_each_shows_the_revenue_of_each_month():
    drawn, traces, rows = run()
    assert drawn.png and (drawn.data[0]["x"], drawn.data[0]["y"]) == (["Jan", "Feb"], [1.5, 2.0])
    assert traces.kind == "plotly" and (traces.data[0]["x"], traces.data[0]["y"]) == (["Jan", "Feb"], [1.5, 2.0])
    assert rows.spec["encoding"]["y"]["field"] == "revenue"
    assert rows.data == [{"month": "Jan", "revenue": 1.5}, {"month": "Feb", "revenue": 2.0}]


def test_another_revenue_would_be_noticed():
    drawn, traces, rows = run()
    assert drawn.data[0]["y"] == [9.0, 9.0]
"""


@pytest.fixture(scope="module")
def worker() -> Any:
    sandbox = LocalSandbox()
    environment = sandbox.build(
        EnvironmentSpec(packages=("matplotlib", "plotly", "altair"), python_version=sys.version_info[:2])
    )
    with shared_pool(sandbox).lease(WorkerSpec(environment, WorkerLimits(), False)) as leased:
        yield leased


PROGRAM = Program(CODE, (), tuple(OutputSpec(name=name, type="Figure") for name in ("drawn", "traces", "rows")))


def test_tests_see_the_data_of_a_figure_and_not_only_a_picture(worker: Any) -> None:
    ids = ["test_each_shows_the_revenue_of_each_month", "test_another_revenue_would_be_noticed"]
    run = worker.test(PROGRAM, TestSpec(TESTS, ids), callee=None)
    assert [(outcome.id, outcome.outcome) for outcome in run.outcomes] == [(ids[0], "passed"), (ids[1], "failed")]


def test_each_comes_to_the_notebook_as_what_can_be_shown_of_it(worker: Any, tmp_path: Path) -> None:
    values = worker.call(PROGRAM, {}).values
    drawn, traces, rows = values["drawn"], values["traces"], values["rows"]
    assert all(isinstance(value, Figure) for value in (drawn, traces, rows))
    assert drawn._repr_png_() and b"<path" in drawn.save(tmp_path / "chart.svg").read_bytes()
    assert traces._repr_mimebundle_()[PLOTLY]["data"][0]["y"] == [1.5, 2.0]
    assert rows.data[0] == {"month": "Jan", "revenue": 1.5}
    again = worker.call(PROGRAM, {}).values
    assert (again["drawn"], again["traces"], again["rows"]) == (drawn, traces, rows)
