from __future__ import annotations

import pytest

from autocoder_jupyter.engine import tests as suites
from autocoder_jupyter.engine.prompt import Brief, signature
from autocoder_jupyter.engines.staged.writer import code_messages
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan, OutputSpec

REQUEST = Request("chart", "A chart of @sales.")


def plan(*packages: str, kind: str = "Figure") -> CodePlan:
    output = OutputSpec(name="chart", type=kind)  # type: ignore[arg-type]
    return CodePlan(description="A chart.", approach="bars", outputs=(output,), packages=packages)


@pytest.mark.parametrize(
    ("package", "written", "comes_back"),
    [
        ("Plotly", "plotly.graph_objects.Figure", "its traces"),
        ("altair", "altair.TopLevelMixin", "the rows of its tables"),
    ],
)
def test_a_plan_with_another_library_gets_its_figures_and_tests_of_their_data(
    package: str, written: str, comes_back: str
) -> None:
    chosen = plan("numpy", package)
    assert signature(chosen).endswith(f"-> {written}: ...")
    assert f"returns the Figure as a {written}" in code_messages(Brief(REQUEST, chosen, ""), None)[-1]["content"]
    told = suites.tests_messages(Brief(REQUEST, chosen, ""))[-1]["content"]
    assert comes_back in told and ".png" not in told


def test_matplotlib_is_what_is_taken_else() -> None:
    assert "with matplotlib's `Figure`" in code_messages(Brief(REQUEST, plan("seaborn"), ""), None)[-1]["content"]
    assert "Test what is drawn by `.data`" in suites.tests_messages(Brief(REQUEST, plan(), ""))[-1]["content"]
    assert signature(plan()).endswith("-> matplotlib.figure.Figure: ...")


def test_without_a_figure_nothing_is_said_of_one() -> None:
    table = plan("plotly", kind="DataFrame")
    asked = (code_messages(Brief(REQUEST, table, ""), None), suites.tests_messages(Brief(REQUEST, table, "")))
    assert not any("Figure" in messages[-1]["content"] for messages in asked)
