"""What a chart shows, in words: read from content that may be hostile."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.codec.figure_data import specification
from autocoder_jupyter.types import Figure
from autocoder_jupyter.untrusted.chart_words import chart_words, svg_words
from tests.cases import each
from tests.deadline import at_most

SALES = pd.DataFrame(
    {
        "month": pd.date_range("2024-01-01", periods=24, freq="MS"),
        "region": ["North", "South"] * 12,
        "revenue": [1.5 * number for number in range(24)],
    }
)


def words(figure: Any) -> str:
    return chart_words(*specification(figure))


def test_a_figure_of_plotly_in_words() -> None:
    import plotly.express as px

    bars = px.bar(SALES, x="month", y="revenue", color="region", title="<b>Sales</b>")
    months = "x: month, 2024-01-01 to 2025-12-01"
    assert words(bars) == f'bar chart "Sales"; {months}; y: revenue, 0 to 34.5; series: North, South; 24 marks'
    assert words(px.histogram(SALES, x="revenue")) == "histogram chart; x: revenue, 0 to 34.5; from 24 values"
    assert words(px.imshow([[1, 2], [3, 4]])) == "heatmap chart; z: 1 to 4; 4 marks"
    pie = "pie chart; labels: North, South; values: 0 to 34.5; 24 marks"
    assert words(px.pie(SALES, names="region", values="revenue")) == pie
    beside = words(px.scatter(SALES, x="month", y="revenue", facet_col="region"))
    assert beside.count("scatter chart") == 2 and beside.count("12 marks") == 2


def test_a_chart_of_altair_in_words() -> None:
    import altair as alt

    line = alt.Chart(SALES, title="Sales").mark_line().encode(x="month:T", y=alt.Y("revenue", title="EUR"))
    shown = 'line chart "Sales"; x: month, 2024-01-01 to 2025-12-01; y: EUR, 0 to 34.5; 24 marks'
    assert words(line) == shown
    assert words(line | line) == f"{shown} | {shown}"
    assert words(line + line.mark_point()) == shown.replace("line", "line and point", 1).replace("24 m", "48 m")
    totals = alt.Chart(SALES).mark_bar().encode(x="region", y="sum(revenue)")
    assert words(totals) == "bar chart; x: region, North, South; y: sum of revenue; from 24 values"


def test_a_figure_of_matplotlib_in_words() -> None:
    from matplotlib import figure

    drawn = figure.Figure()
    axes = drawn.subplots()
    axes.barh(["Berlin", "Bonn", "Kiel", "Ulm"], [10, 2, 3, 1])
    axes.set_xlabel("EUR")
    axes.set_title("Sales\n2024")
    assert words(drawn) == 'bar chart "Sales 2024"; x: EUR, 1 to 10; y: Berlin … Ulm (4); 4 marks'


@each(
    ("kind", "freq", "said"),
    [
        ("line", "M", "line chart; x: 2024-01 to 2024-12"),
        ("bar", "M", "bar chart; x: 2024-01 to 2024-12"),
        ("area", "D", "line chart; x: 2024-01-01 to 2024-01-12"),
        ("line", "Q", "line chart; x: 2024Q1 … 2026Q4 (12)"),
    ],
)
def test_an_axis_of_periods_has_their_names_and_not_their_ordinals(kind: Any, freq: str, said: str) -> None:
    from matplotlib import figure

    axes = figure.Figure().subplots()
    pd.Series(range(12), pd.period_range("2024-01", periods=12, freq=freq)).plot(kind=kind, ax=axes)
    assert words(axes.figure).startswith(f"{said}; y: 0 to 11")


def test_the_title_and_the_description_of_an_svg_are_its_words() -> None:
    assert (
        svg_words("<svg><title>Sales &amp; costs</title><desc>rises\nto 12</desc></svg>")
        == "Sales & costs: rises to 12"
    )
    assert svg_words("<svg><rect/></svg>") == ""
    with at_most(2):
        assert svg_words("<svg>" + "<title>" * 1_000_000) == svg_words("<svg><title" + " " * 10**7) == ""


def nested(depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {"mark": "bar"}
    for _ in range(depth):
        made = {"hconcat": [made], "title": "x" * 10**5, "layer": [made]}
    return made


@functools.cache
def rows() -> list[dict[str, int]]:
    return [{"a": number} for number in range(10**6)]


@functools.cache
def many() -> dict[str, Any]:
    return {"x": list(range(10**6)), "y": list(range(10**6))}


X = {"field": "a"}
HOSTILE: dict[str, tuple[str, Callable[[], Any]]] = {
    "large ints": ("plotly", lambda: {"data": [{"x": [10**400, 1], "y": [10**5000, -(10**5000)]}]}),
    "no numbers": (
        "plotly",
        lambda: {"data": [{"x": [float("nan"), float("inf")], "y": [float("-inf")], "name": 10**5000}]},
    ),
    "traces": ("plotly", lambda: {"data": [many()] * 10**5}),
    "mixed": ("plotly", lambda: {"data": [{"x": [1, "a", [2], {"b": 1}, None, True], "type": ["bar"], "mode": 7}]}),
    "axes that are none": (
        "plotly",
        lambda: {"data": [{"x": [1], "xaxis": {"a": 1}}, 7, None], "layout": {"xaxis": 7}},
    ),
    "titles": ("plotly", lambda: {"data": [{"x": ["<" * 10**6] * 1000}], "layout": {"title": {"text": "<a" * 10**6}}}),
    "no dicts": ("plotly", lambda: {"data": "x", "layout": []}),
    "deep": ("altair", lambda: nested(200)),
    "wide": ("altair", lambda: {"hconcat": [{"hconcat": [nested(2)] * 10**5}] * 10**5, "data": {"values": rows()}}),
    "layers": (
        "altair",
        lambda: {"layer": [{"mark": "bar", "encoding": {"x": X}}] * 10**5, "data": {"values": rows()}},
    ),
    "rows": (
        "altair",
        lambda: {"mark": {"type": 7}, "encoding": {"x": X, "y": X, "color": 7}, "data": {"values": rows()}},
    ),
    "no rows": ("altair", lambda: {"mark": None, "encoding": {"x": {"field": {"a": 1}}}, "data": {"name": ["a"]}}),
    "axes": (
        "matplotlib",
        lambda: {"axes": [{"series": [{"type": "line", **many()}] * 1000, "title": 10**400}] * 1000},
    ),
    "nothing": ("matplotlib", dict),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_content_costs_little_and_gives_one_short_line(case: str) -> None:
    kind, make = HOSTILE[case]
    spec = make()
    with at_most(3):
        said = chart_words(kind, spec)
        assert len(said) <= 600 and "\n" not in said and said.isprintable()


def test_a_range_is_left_out_where_too_much_would_be_read_and_the_count_stays() -> None:
    assert chart_words("plotly", {"data": [many()]}) == "line chart; 1,000,000 marks"
    assert "at least 500 marks" in chart_words("plotly", {"data": [{"x": [1]}] * 1000})
    assert chart_words("plotly", {"data": [{"x": [10**400]}]}).startswith("line chart; x: 1000")


def test_control_characters_of_a_title_are_escaped() -> None:
    said = chart_words("plotly", {"data": [{"type": "bar", "y": [1]}], "layout": {"title": "a\x1b[2J\u202eb"}})
    assert said == 'bar chart "a\\x1b[2J\\u202eb"; y: 1; 1 mark'


def test_the_words_are_in_the_text_of_a_figure() -> None:
    spec = {"data": [{"type": "bar", "x": ["a"], "y": [1]}], "layout": {}}
    shown = Figure(b"", 0, 0, kind="plotly", spec=json.loads(json.dumps(spec)))
    assert shown.description == "bar chart; x: a; y: 1; 1 mark"
    assert repr(shown) == f"<Figure of plotly: {shown.description}; see .data>"
    drawn = Figure(b"png", 640, 480, spec={"axes": [{"title": "T", "series": [{"type": "line", "x": [1], "y": [2]}]}]})
    assert repr(drawn) == '<Figure 640x480 png: line chart "T"; x: 1; y: 2; 1 mark>'
    assert Figure(b"png", 640, 480).description == "a picture of 640 × 480 pixels"
