"""Figures of two solutions are compared by what they show."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence.comparison import MOST_DRAWN, Comparer, compared_outputs
from autocoder_jupyter.engine.evidence.drawn import OTHERWISE
from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker
from autocoder_jupyter.engine.evidence.variations import VariedSample
from autocoder_jupyter.kinds.values import Figure
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.cases import each


def figure(*series: dict[str, Any], kind: Any = "matplotlib") -> Figure:
    return Figure(b"", 0, 0, kind=kind, data=list(series))


def bars(x: list[Any], y: list[Any], kind: str = "bar", **more: Any) -> dict[str, Any]:
    return {"type": kind, "name": "", "x": x, "y": y, **more}


MONTHS = bars(["Jan", "Feb", "Mar"], [1.0, 2.0, 3.0])


@each(
    ("other", "places", "note"),
    [
        (figure(MONTHS), [], ""),
        (figure(bars(["Mar", "Jan", "Feb"], [3.0, 1.0, 2.0], "barh")), [], ""),
        (figure(bars([1.0, 2.0, 3.0], ["Jan", "Feb", "Mar"], "bar", orientation="h"), kind="plotly"), [], ""),
        (figure(bars(["2024-03", "2024-01", "2024-02"], [3.0, 1.0, 2.0])), [], ""),
        (figure(bars(["Jan", "Feb", "Mar"], [1.0, 2.0, 4.0])), ["out.y"], ""),
        (figure(bars(["Jan", "Feb"], [1.0, 2.0])), ["out"], ""),
        (figure(bars(["2024-03", "2024-01"], [3.0, 1.0])), [], OTHERWISE),
        (figure(MONTHS, bars(["Jan", "Mar"], [2.0, 2.0], "line")), [], OTHERWISE),
        (figure(bars(["Jan", "Feb", "Mar"], [1.0, 2.0, 3.0], "pie")), [], OTHERWISE),
        (figure(bars([], [], "image")), [], OTHERWISE),
        (figure({"month": "Jan", "n": 1}, kind="altair"), [], OTHERWISE),
        (figure(), [], OTHERWISE),
    ],
)
def test_what_is_shown_counts_and_not_how(other: Figure, places: list[str], note: str) -> None:
    for pair in ((figure(MONTHS), other), (other, figure(MONTHS))):
        found = compared_outputs({"out": pair[0]}, {"out": pair[1]}, [("out", "out")])
        assert [place.where for place in found.places] == places
        assert found.not_compared == ([("out", note)] if note else []) and found.outputs == ([] if note else ["out"])


def test_a_histogram_with_other_classes_is_drawn_in_another_way_and_a_line_may_be_points() -> None:
    classes = [figure(bars([*range(count)], [2.0] * count)) for count in (5, 10)]
    assert compared_outputs({"a": classes[0]}, {"a": classes[1]}, [("a", "a")]).not_compared == [("a", OTHERWISE)]
    line, points = (figure(bars([1, 2, 3], [1.0, 5.0, 2.0], kind)) for kind in ("line", "scatter"))
    assert not compared_outputs({"a": line}, {"a": points}, [("a", "a")]).places
    later = figure(bars([1, 2, 3], [1.0, 5.0, 9.0], "line"))
    assert compared_outputs({"a": line}, {"a": later}, [("a", "a")]).places


CHART = """\
class Chart:
    \"\"\"Stands for a figure of Plotly.\"\"\"

    __module__ = "plotly.graph_objects"

    def __init__(self, sums):
        self.sums = sums

    def to_plotly_json(self):
        names, values = list(self.sums.index), [float(one) for one in self.sums]
        return {{"data": [{trace}], "layout": {{}}}}


def run(x):
    return Chart(x.groupby("g")["n"].{what}())
"""

STANDING, LYING = (
    '{"type": "bar", "x": names, "y": values}',
    '{"type": "bar", "x": values, "y": names, "orientation": "h"}',
)


@pytest.mark.local_sandbox
@pytest.mark.real_sandbox
def test_two_charts_of_other_numbers_are_told_apart_on_the_sample(worker: Worker) -> None:
    data = pd.DataFrame({"g": list("abab") * 5, "n": range(20)})
    interface = (InputSpec(name="x", type="DataFrame"),), (OutputSpec(name="out", type="Figure"),)
    same, other = (
        Program(CHART.format(what=what, trace=trace), *interface) for what, trace in (("sum", LYING), ("max", STANDING))
    )
    function = Program(CHART.format(what="sum", trace=STANDING), *interface)
    verified = worker.call(function, {"x": data}).values
    for second, differs in ((same, False), (other, True)):
        sides = SolutionWorker("f", worker, function), SolutionWorker("s", worker, second)
        found = Comparer(*sides, [("out", "out")], VariedSample({"x": data}, 60), {}, Redaction("rows")).run(verified)
        assert [place.where for place in found.sample] == ["out.y"] * differs
        assert found.compared == ("out",) and len(found.tried) == MOST_DRAWN and found.parts == 0
