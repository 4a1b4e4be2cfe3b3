"""A list of figures and a dict of frames as outputs, from the cell to the exported script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.data.overview import excerpt
from autocoder_jupyter.display.outputs import outputs_html
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import parse_input, parse_output
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.tasks.figures_as_data import as_tested
from autocoder_jupyter.types import Figure
from tests.runner import Runner, fenced

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]

OUTPUTS = (parse_output("charts: list[Figure]"), parse_output("frames: dict[str, pd.DataFrame]"))
PLAN = """{"description": "Sales by shop.", "approach": "Group.", "assumptions": [], "packages": ["matplotlib"],
 "outputs": [{"name": "charts", "type": "list[Figure]"}, {"name": "frames", "type": "dict[str, DataFrame]"}]}"""
CODE = """import pandas as pd
from matplotlib.figure import Figure


def run(sales: pd.DataFrame) -> tuple[list[Figure], dict[str, pd.DataFrame]]:
    frames = {str(shop): part.reset_index(drop=True) for shop, part in sales.groupby("shop")}
    charts = []
    for shop, part in frames.items():
        chart = Figure(figsize=(2, 1), dpi=50)
        axes = chart.subplots()
        axes.plot(part["price"].tolist())
        axes.set_title(shop)
        charts.append(chart)
    return charts, frames
"""
TESTS = """import pandas as pd
from solution import run


def test_one_chart_and_one_frame_for_each_shop():
    charts, frames = run(sales=pd.DataFrame({"shop": ["b", "a", "b"], "price": [1.0, 2.0, 3.0]}))
    assert [chart.data[0]["y"] for chart in charts] == [[2.0], [1.0, 3.0]]
    assert list(frames) == ["a", "b"] and frames["b"]["price"].tolist() == [1.0, 3.0]
"""
SECOND = """'How it is read: one frame a shop'

OUTPUTS = {"charts": "list[Figure]", "frames": "dict[str, DataFrame]"}

"""
SALES = pd.DataFrame({"shop": ["north", "south", "north"], "price": [1.0, 2.0, 4.0]})


def test_they_cross_are_shown_called_kept_compared_and_exported(runner: Runner, tmp_path: Path) -> None:
    script = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)], "second": [fenced(SECOND + CODE)]}
    produced = background.run(runner.generate(
        script, prompt="A chart of @sales for each shop.", samples={"sales": SALES}, outputs=OUTPUTS,
        settings={"second_opinion": "on"},
    ))  # fmt: skip
    assert produced.report.success, produced.error
    seen = produced.of(SampleOutputs)[-1].glimpses
    assert [glimpse.name for glimpse in seen] == ["charts[0]", "charts[1]", "frames['north']", "frames['south']"]
    assert seen[0].picture.startswith(b"\x89PNG") and "north" in seen[0].text
    assert seen[2].table is not None and "2 rows" in seen[2].table.size
    assert produced.opinion.state == "agree" and produced.opinion.not_compared == ()
    assert set(produced.opinion.compared) == {"charts", "frames"}

    growth = CodeGenEvalResult(
        "growth",
        Pending.resolved(Resolution("ready", produced.report)),
        options=CallOptions(sandbox="local"),
        root=tmp_path / ".autocode",
    )
    for _ in range(2):  # the second one is from the cache
        charts, frames = growth.run(SALES, cache="auto")
        assert [type(chart) for chart in charts] == [Figure, Figure]
        assert frames["north"]["price"].tolist() == [1.0, 4.0]
    page = str(outputs_html("growth", {"charts": charts, "frames": frames}, excerpt))
    assert page.count("<img") == 2 and page.count("<table") == 2

    growth.export(tmp_path / "by_shop.py")
    SALES.to_csv(tmp_path / "sales.csv", index=False)
    command = [sys.executable, "by_shop.py", "--sales", "sales.csv", "--output-dir", "out"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    made = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*"))
    assert made == ["charts/1.png", "charts/2.png", "frames/1-north.parquet", "frames/2-south.parquet"]


def test_the_tests_of_an_export_get_the_figures_in_a_list_as_data() -> None:
    from matplotlib.figure import Figure as Drawn

    drawn = Drawn()
    drawn.subplots().plot([1, 2])
    (chart,) = as_tested(lambda: [drawn])()
    assert chart.data[0]["y"] == [1, 2]


def test_an_input_cannot_be_one() -> None:
    with pytest.raises(InvalidRequest, match="for outputs only"):
        parse_input("frames: dict[str, DataFrame]")
