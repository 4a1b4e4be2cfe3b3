from __future__ import annotations

import pytest

from autocoder_jupyter.engine import tests as suites
from autocoder_jupyter.engine.prompt import Brief, code_rules, signature
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
        ("altair", "altair.TopLevelMixin", "the rows of\nits tables"),
    ],
)
def test_a_plan_with_another_library_gets_its_figures_and_tests_of_their_data(
    package: str, written: str, comes_back: str
) -> None:
    chosen = plan("numpy", package)
    assert signature(chosen).endswith(f"-> {written}: ...")
    assert f"return the Figure as a {written}" in code_rules(chosen)
    told = suites.tests_messages(Brief(REQUEST, chosen, ""))[-1]["content"]
    assert comes_back in told and ".png" not in told


def test_matplotlib_is_what_is_taken_else() -> None:
    assert "with matplotlib's `Figure`" in code_rules(plan("seaborn"))
    assert "Test what is drawn with `.data`" in suites.tests_messages(Brief(REQUEST, plan(), ""))[-1]["content"]
    assert signature(plan()).endswith("-> matplotlib.figure.Figure: ...")


def test_without_a_figure_nothing_is_said_of_one() -> None:
    table = plan("plotly", kind="DataFrame")
    assert "Figure" not in code_rules(table)
    assert "Figure" not in suites.tests_messages(Brief(REQUEST, table, ""))[-1]["content"]
