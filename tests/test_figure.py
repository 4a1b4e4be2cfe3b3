from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from autocoder_jupyter.display.charts import chart_block
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import Figure
from autocoder_jupyter.untrusted.charts import CHART as MIME
from autocoder_jupyter.untrusted.charts import PLOTLY, chart_bundle, harmless_traces
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.vega import VEGALITE, harmless_chart
from autocoder_jupyter.view.as_html import blocks_html
from tests.cases import each

if TYPE_CHECKING:
    import altair as alt

PICTURE = Figure(b"\x89PNG\r\n", 640, 480)


def test_it_shows_as_a_picture() -> None:
    assert PICTURE._repr_png_() == PICTURE.png and repr(PICTURE) == "<Figure 640x480 png>"


def test_it_is_saved_as_svg_and_as_data_too(tmp_path: Path) -> None:
    figure = Figure(b"png", 4, 3, b"<svg/>", spec={"axes": []})
    assert figure.save(tmp_path / "a.svg").read_bytes() == b"<svg/>"
    assert json.loads(figure.save(tmp_path / "a.json").read_text()) == {"axes": []}
    with pytest.raises(InvalidRequest, match=r"cannot be saved as \.svg") as refused:
        PICTURE.save(tmp_path / "b.svg")
    assert refused.value.why.endswith("The sandbox returned PNG.")


CHART: dict[str, Any] = {"data": [{"type": "bar", "x": ["a"], "y": [1]}], "layout": {"title": {"text": "<b>t</b>"}}}


def test_a_figure_of_plotly_is_shown_by_the_page_and_saved_as_data(tmp_path: Path) -> None:
    figure = Figure(b"", 0, 0, kind="plotly", spec=CHART, data=CHART["data"])
    assert figure._repr_png_() is None and figure._repr_mimebundle_() == {MIME: {"mime_type": PLOTLY}, PLOTLY: CHART}
    assert repr(figure) == '<Figure of plotly: bar chart "t"; x: a; y: 1; 1 mark; see .data>'
    assert figure.save(tmp_path / "chart") == tmp_path / "chart.json"
    with pytest.raises(InvalidRequest, match=r"of plotly cannot be saved as \.png"):
        figure.save(tmp_path / "chart.png")


def altair_spec(chart: alt.TopLevelMixin) -> dict[str, Any]:
    return dict(json.loads(chart.to_json()))


SALES = pd.DataFrame({"month": ["Jan", "Feb"], "revenue": [1.5, 2.0]})


@pytest.fixture(scope="module")
def bars() -> alt.Chart:
    import altair as alt

    revenue = alt.Y("sum(revenue)", title="EUR")
    return alt.Chart(SALES, title="Sales").mark_bar(color="teal").encode(x="month:N", y=revenue)


def test_a_chart_of_altair_is_built_anew_for_the_page(bars: alt.Chart) -> None:
    figure = Figure(b"", 0, 0, kind="altair", spec=altair_spec(bars), data=[{"month": "Jan"}])
    assert figure._repr_png_() is None
    assert figure._repr_mimebundle_() == {
        MIME: {"mime_type": VEGALITE},
        VEGALITE: {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "title": "Sales",
            "data": {"values": [{"month": "Jan", "revenue": 1.5}, {"month": "Feb", "revenue": 2.0}]},
            "mark": {"type": "bar", "color": "teal"},
            "encoding": {
                "x": {"field": "month", "type": "nominal"},
                "y": {"aggregate": "sum", "field": "revenue", "title": "EUR", "type": "quantitative"},
            },
        },
    }


def test_layers_rows_and_charts_that_move_are_shown_too(bars: alt.Chart) -> None:
    for chart in (
        bars + bars.mark_line(),
        bars | bars,
        bars & bars,
        bars.interactive(),
        bars.encode(tooltip=["month"]),
    ):
        shown = harmless_chart(altair_spec(chart))
        assert "params" not in json.dumps(shown)


@each("path", ["a", "a.b", "a\\.b", "['a.b']", "a[0]", "['a']"])
def test_a_table_keeps_the_columns_that_its_chart_shows(path: str) -> None:
    row = {"a": 1, "b": 2, "a.b": 3, "color": 4, "below": 5, "other": "jane.roe@example.com"}
    view = {"mark": "bar", "encoding": {"x": {"field": path}, "tooltip": [{"field": "color"}, [{"field": "b"}]]}}
    shown = harmless_chart(
        {"data": {"values": [row]}, "layer": [view, {"mark": "rule", "encoding": {"y": {"field": "below"}}}]}
    )
    (kept,) = shown["data"]["values"]
    assert {"color", "b", "below"} <= kept.keys() and "other" not in kept
    assert ("a.b" if path in ("a\\.b", "['a.b']") else "a") in kept


@pytest.mark.parametrize(
    "more",
    [
        {"data": {"url": "https://evil.example/x.json"}},
        {"data": {"sequence": {"start": 0, "stop": 1e12}}},
        {"transform": [{"calculate": "alert(1)", "as": "x"}]},
        {"mark": "image"},
        {"mark": {"type": "bar", "color": "url(https://evil.example#x)"}},
        {"encoding": {"color": {"value": "URL(//evil.example)"}}},
        {"encoding": {"x": {"field": "x", "bin": {"step": 1e-300}}}},
        {"encoding": {"x": {"field": "x", "bin": {"maxbins": 1e9}}}},
        {"width": 1e9},
        {"height": {"step": -1}},
        {"mark": "geoshape"},
        {"mark": {"type": "bar", "color": {"expr": "alert(1)"}}},
        {"encoding": {"href": {"field": "x"}}},
        {"encoding": {"url": {"field": "x"}}},
        {"encoding": {"x": {"field": {"repeat": "row"}}}},
        {"layer": [{"mark": "bar", "data": {"url": "/api/x"}}]},
        {"repeat": ["a"]},
        {"projection": {"type": "mercator"}},
        {"encoding": 1},
        {"layer": 1},
        {"data": {"values": [1]}},
        {"data": {"values": [{"a": {"b": 1}}]}},
    ],
)
def test_a_chart_that_needs_more_than_marks_fields_and_rows_is_data_alone(
    bars: alt.Chart, more: dict[str, Any]
) -> None:
    assert chart_bundle("altair", {**altair_spec(bars), **more}) == {}


def rows(count: int, **more: Any) -> dict[str, Any]:
    return {"values": [{"image": f"v{number}", "n": number, **more} for number in range(count)]}


IMAGE = {"field": "image", "type": "nominal"}


@each("name", ["image", "['image']", '["image"]', "image.", "\\image", "ima\\ge", "IMAGE", " image"])
@each("channel", ["x", "y", "color", "detail", "tooltip", "row", "size"])
def test_no_field_becomes_the_entry_of_a_tooltip_that_is_a_picture(name: str, channel: str) -> None:
    for facts in ({"field": name}, {"field": name, "title": None}, {"field": "n", "title": name}):
        mark = {"type": "bar", "tooltip": True}
        chart = harmless_chart({"mark": mark, "encoding": {channel: facts}, "data": rows(2)})
        assert chart["mark"] == {"type": "bar"}
        tooltip = chart["encoding"]["tooltip"]
        for shown in (chart["encoding"][channel], *(tooltip if isinstance(tooltip, list) else [tooltip])):
            assert shown["title"].replace(" ", "").casefold() not in ("image", "title") and "\\" not in shown["title"]


@each(
    ("more", "reason"),
    [
        ({"encoding": {"row": IMAGE}, "data": rows(3_000)}, "more than 100 facets"),
        ({"encoding": {"row": IMAGE, "column": {"field": "n"}}, "data": rows(20)}, "more than 100 facets"),
        ({"hconcat": [{"mark": "bar"}] * 200}, "more than 100 facets"),
        ({"encoding": {"x": IMAGE}, "data": rows(600)}, "its axis x has more than 500 values"),
        ({"data": rows(20_001)}, "more than 20,000 rows"),
        ({"data": rows(9_000), "layer": [{"mark": "bar"}, {"mark": "line"}]}, "more than 20,000 rows"),
        ({"data": rows(3, text="x" * 1_000_000)}, "more than 2,000,000 characters"),
        ({"mark": {"type": "point", "size": 1e9}}, "a size is too large"),
        ({"mark": {"type": "bar", "color": "\\75rl(https://evil.example)"}}, "not a plain one"),
    ],
)
def test_a_chart_that_a_page_cannot_draw_says_why(more: dict[str, Any], reason: str) -> None:
    spec = {"mark": "bar", "encoding": {}, "data": rows(2), **more}
    assert chart_bundle("altair", spec) == {}
    assert reason in repr(Figure(b"", 0, 0, kind="altair", spec=spec))
    assert reason in blocks_html([chart_block(json.dumps(spec), 1, "rates")]) or len(json.dumps(spec)) > 1_000_000


@each(
    ("more", "reason"),
    [
        ({"data": [{"type": "bar"}] * 501}, "more than 500 traces"),
        ({"data": [{"x": list(range(500_001))}]}, "more than 500,000 values"),
        ({"data": [{"x": {"dtype": "i1", "bdata": "A" * 1_000_000}}]}, "more than 500,000 values"),
        ({"data": [{"text": ["x" * 9_000] * 900}]}, "more than 8,000,000 characters"),
        ({"data": [{"type": "splom", "dimensions": [{}] * 21}]}, "more than 20 columns"),
        ({"data": [{"type": "parcoords", "dimensions": [{}] * 61}]}, "more than 60 columns"),
        ({"data": [{"type": "scatter3d", "scene": f"scene{number}"} for number in range(21)]}, "more than 20 scenes"),
        ({"layout": {"annotations": [{"text": "x"}] * 600, "shapes": [{}] * 600}}, "more than 1,000 annotations"),
        ({"layout": {"scene": {"annotations": [{"text": "x"}] * 1_001}}}, "more than 1,000 annotations"),
        ({"layout": {"title": {"text": "x" * 10_001}}}, "a text of more than 10,000 characters"),
        ({"data": [{"text": ["x" * 10_001]}]}, "a text of more than 10,000 characters"),
        ({"layout": {f"xaxis{number}": {} for number in range(300)}}, "more than 100 subplots"),
        ({"layout": {"width": 1e9}}, "wider or higher"),
    ],
)
def test_a_figure_that_a_page_cannot_draw_says_why(more: dict[str, Any], reason: str) -> None:
    spec = {"data": [{"type": "bar"}], "layout": {}, **more}
    assert chart_bundle("plotly", spec) == {}
    assert reason in repr(Figure(b"", 0, 0, kind="plotly", spec=spec))


@each(
    ("bins", "kept"),
    [
        ({"nbinsx": 20}, True),
        ({"nbinsx": 10**9}, False),
        ({"xbins": {"start": 0, "end": 10, "size": 1}}, True),
        ({"xbins": {"start": 0, "end": 10, "size": 1e-9}}, False),
        ({"xbins": {"start": 0, "end": 10, "size": 0}}, False),
        ({"xbins": {"start": "2024-01-01", "end": "2024-12-31", "size": "M1"}}, True),
        ({"xbins": {"start": 0, "end": 10, "size": "1e-9"}}, False),
        ({"contours": {"size": 1e-9}}, False),
        ({"contours": {"coloring": "lines"}}, True),
    ],
)
def test_bins_that_a_page_cannot_draw_are_left_to_plotly(bins: dict[str, Any], kept: bool) -> None:
    shown = harmless_traces({"data": [{"type": "histogram", **bins}]})
    assert (bins.keys() <= shown["data"][0].keys()) is kept


@each(
    "hostile",
    [
        {"type": "carpet", "aaxis": {"tickmode": "linear", "dtick": 1e-9}},
        {"type": "carpet", "baxis": {"minorgridcount": 10**9}},
        {"type": "isosurface", "surface": {"count": 10**9}},
        {"type": "surface", "contours": {"z": {"show": True, "start": 0, "end": 10**9, "size": 1e-9}}},
        {"type": "streamtube", "sizeref": 1e-9, "maxdisplayed": 10**9},
        {"type": "treemap", "maxdepth": 2_000},
    ],
)
def test_a_step_that_makes_a_trace_endless_is_left_to_plotly(hostile: dict[str, Any]) -> None:
    shown = harmless_traces({"data": [hostile], "layout": {"xaxis": {"rangebreaks": [{"bounds": [1, 2]}]}}})
    assert not {"1e-09", "1000000000", "2000"} & set(re.findall(r"[\w.-]+", json.dumps(shown)))
    assert "linear" not in json.dumps(shown) and shown["layout"] == {"xaxis": {}}


def test_many_numbers_of_one_array_are_no_long_text() -> None:
    trace = {"type": "bar", "y": {"dtype": "f8", "bdata": "A" * 20_000}}
    assert harmless_traces({"data": [trace]}) == {"data": [trace], "layout": {}}


def test_what_an_altair_chart_brings_for_the_page_that_shows_it_is_left_out(bars: alt.Chart) -> None:
    hostile = {
        **altair_spec(bars),
        "usermeta": {"embedOptions": {"loader": {"target": "_top"}, "editorUrl": "https://evil.example"}},
        "params": [{"name": "x", "expr": "alert(1)"}],
        "config": {"axis": {"labelExpr": "alert(1)"}},
        "encoding": {"x": {"field": "month", "axis": {"labelExpr": "alert(1)"}, "condition": {"test": "alert(1)"}}},
    }
    assert "alert" not in json.dumps(harmless_chart(hostile)) and "evil" not in json.dumps(harmless_chart(hostile))


@each(
    "trace",
    [{"type": "scattermapbox"}, {"type": "choropleth"}, {"type": "image", "source": "/x"}, {"type": "scattergeo"}, "x"],
)
def test_a_chart_that_fetches_is_not_shown(trace: Any) -> None:
    assert chart_bundle("plotly", {"data": [trace]}) == {}
    assert chart_bundle("plotly", {"data": trace}) == {} and chart_bundle("plotly", {}) == {}


def test_nothing_in_a_chart_fetches_links_or_runs() -> None:
    hostile = {
        "data": [
            {
                "type": "bar",
                "x": [
                    "https://evil.example/x",
                    "//evil.example",
                    "<a href='/lab'>go</a>",
                    "<img src=x>",
                    "<b>ok</b>",
                ],
                "y": [1, 2, 3, 4, 5],
                "ysrc": "user:1",
                "hovertemplate": "%{x}<extra></extra>",
            }
        ],
        "layout": {
            "images": [{"source": "/api/shutdown"}],
            "updatemenus": [{"buttons": [{"method": "relayout"}]}],
            "mapbox2": {"style": "x"},
            "title": {"text": "javascript:alert(1)", "font": {"family": "url(x)"}},
        },
        "config": {"plotlyServerURL": "https://evil.example", "topojsonURL": "https://evil.example"},
        "frames": [{}],
    }
    assert harmless_traces(hostile) == {
        "data": [
            {
                "type": "bar",
                "x": ["", "", "&lt;a href='/lab'>go&lt;/a>", "&lt;img src=x>", "<b>ok</b>"],
                "y": [1, 2, 3, 4, 5],
                "hovertemplate": "%{x}<extra></extra>",
            }
        ],
        "layout": {"title": {"text": "", "font": {"family": ""}}},
    }


@pytest.mark.parametrize(("name", "written"), [("a.png", "a.png"), ("a.PNG", "a.PNG"), ("a", "a.png")])
def test_it_is_saved_as_png(tmp_path: Path, name: str, written: str) -> None:
    assert PICTURE.save(tmp_path / name) == tmp_path / written
    assert (tmp_path / written).read_bytes() == PICTURE.png


def test_another_format_is_refused_with_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"cannot be saved as \.pdf") as refused:
        PICTURE.save(tmp_path / "chart.pdf")
    assert "chart.png" in refused.value.hint and refused.value.why
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="cannot be written") as refused:
        PICTURE.save(tmp_path / "gone" / "a.png")
    assert refused.value.why == f"There is no folder {tmp_path / 'gone'}." and "Create the folder" in refused.value.hint
    with pytest.raises(InvalidRequest, match="is a folder") as refused:
        PICTURE.save(tmp_path)
    assert "figure.png" in refused.value.hint


def test_a_read_only_place_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(Folder, "write", refuse)
    with pytest.raises(InvalidRequest) as refused:
        PICTURE.save(tmp_path / "a.png")
    assert refused.value.why == "Permission denied." and "write permission" in refused.value.hint


def test_it_takes_the_place_of_a_link_and_leaves_what_the_link_points_at(tmp_path: Path) -> None:
    (tmp_path / "start file").write_text("mine")
    (tmp_path / "chart.png").symlink_to(tmp_path / "start file")
    PICTURE.save(tmp_path / "chart.png")
    assert (tmp_path / "start file").read_text() == "mine"
    assert (tmp_path / "chart.png").read_bytes() == PICTURE.png


@pytest.mark.parametrize("side", ["100000000", "1e9", " 99999 ", "0x5f5e100", 100_000, "-1"])
@pytest.mark.parametrize("in_template", [False, True])
def test_a_figure_of_plotly_that_is_too_large_is_not_drawn_however_its_size_is_written(
    side: Any, in_template: bool
) -> None:
    for name in ("width", "height"):
        layout = {"template": {"layout": {name: side}}} if in_template else {name: side}
        assert chart_bundle("plotly", {"data": [], "layout": layout}) == {}
    assert chart_bundle("plotly", {"data": [], "layout": {"width": "700", "height": 400}})
