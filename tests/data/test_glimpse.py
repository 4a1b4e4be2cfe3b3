from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.codec import decode, encode
from autocoder_jupyter.data.overview import (
    CARD_CHARACTERS,
    FIGURE_CHARACTERS,
    PREVIEW_CHARACTERS,
    PREVIEW_COLUMNS,
    PREVIEW_ROWS,
    TOO_LARGE,
    glimpses,
)
from autocoder_jupyter.display.live import card_html
from autocoder_jupyter.display.outputs import glimpse_blocks, output_blocks
from autocoder_jupyter.run.events import Finished, SampleOutputs
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import Figure
from autocoder_jupyter.types.records import Glimpse
from autocoder_jupyter.view.as_html import blocks_html, document_html
from autocoder_jupyter.view.as_text import blocks_text
from autocoder_jupyter.view.document import Document, Row, Section
from tests.cases import each


def seen(value: Any, **secrets: str) -> Glimpse:
    (glimpse,) = glimpses({"out": value}, secrets)
    return glimpse


def test_a_table_is_its_first_rows_and_no_more() -> None:
    table = seen(pd.DataFrame([["x" * 500] * 30] * 1000)).table
    assert table is not None and (len(table.rows), len(table.headings)) == (PREVIEW_ROWS, PREVIEW_COLUMNS)
    assert table.size == "1,000 rows × 30 columns" and len(table.rows[0][0]) < PREVIEW_CHARACTERS + 10


def test_private_values_and_secrets_are_replaced_before_anything_is_cut() -> None:
    frame = pd.DataFrame({"who": ["jane.roe.with.a.long.name@example.com"], "key": ["hunter2hunter2"]})
    table = seen(frame, TOKEN="hunter2hunter2").table
    assert table is not None and table.rows == (("<email-1>", "<TOKEN>"),)
    assert seen("write to jane.roe@example.com").text == "write to <email-1>"
    labels = seen(pd.DataFrame({"jane.roe@example.com": [1]}, index=["joe.doe@example.com"])).table
    assert labels is not None and "example.com" not in str(labels)


@each(
    ("value", "text"),
    [
        pytest.param("", "(empty)", id="empty text"),
        pytest.param(None, "None", id="nothing"),
        pytest.param(0.1 + 0.2, "0.3", id="number"),
        pytest.param({"a": [1, 2, 3, 4, 5, 6, 7]}, "{'a': [1, 2, 3, 4, 5, … 2 more]}", id="nested"),
        pytest.param(Figure(b"", 640, 480), "a picture of 640 × 480 pixels", id="figure"),
        pytest.param("yes " * 250, f"{'yes ' * 59}yes …(+760)", id="long"),
    ],
)
def test_anything_else_is_a_short_text(value: Any, text: str) -> None:
    assert seen(value).text == text


def picture(width: int = 640, height: int = 480, size: int = 100) -> bytes:
    """The beginning of a PNG, with zeros up to a size in bytes."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return head.ljust(size, b"\0")


def drawn(png: bytes, **more: Any) -> Figure:
    return Figure(png, int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big"), **more)


def test_a_picture_is_in_the_preview_unless_it_is_too_large_which_is_said() -> None:
    most = FIGURE_CHARACTERS * 3 // 4
    small, large = drawn(picture(610, 333)), drawn(picture(6100, 333, most + 2))
    one, other = glimpses({"chart": small, "poster": large}, {})
    assert one == Glimpse("chart", "a picture of 610 × 333 pixels", picture=small.png)
    assert other == Glimpse("poster", "a picture of 6100 × 333 pixels", left_out=TOO_LARGE)
    (reduced,) = glimpses({"poster": drawn(large.png, preview=picture(640, 35))}, {})
    assert (reduced.picture, reduced.left_out) == (picture(640, 35), "")
    (bomb,) = glimpses({"chart": drawn(picture(20_000, 5_000))}, {})
    assert (bomb.picture, bomb.left_out) == (b"", TOO_LARGE)
    (secret,) = glimpses({"chart": small}, {"TOKEN": "correct-horse"})
    assert secret.picture == b"" and "secrets" in secret.left_out
    html = blocks_html(output_blocks(SampleOutputs((one, other)), "growth"))
    assert html.count("<img") == 1 and html.count("(too large for the card; growth.run(…) returns it)") == 1


def test_the_figures_of_a_list_are_pictures_while_all_together_are_not_larger_than_a_card_may_be() -> None:
    fifth = drawn(picture(size=CARD_CHARACTERS * 3 // 4 // 5 - 10))
    many = glimpses({"charts": [fifth] * 14}, {})
    assert [bool(glimpse.picture) for glimpse in many] == [*[True] * 5, *[False] * 8]
    assert [glimpse.left_out for glimpse in many] == [*[""] * 5, *[TOO_LARGE] * 7, ""]
    assert (many[4].name, many[12]) == ("charts[4]", Glimpse("charts", "and 2 more"))
    wide = glimpses({"charts": [drawn(picture(2000, 1500))] * 3}, {})  # pixels, which a page decodes
    assert [bool(glimpse.picture) for glimpse in wide] == [True, True, False]
    html = blocks_html(output_blocks(SampleOutputs(many), "growth"))
    assert html.count("<img") == 5 and "charts[4]" in html and "a picture of 640 × 480 pixels" in html
    assert html.count("too large for the card") == 7


def test_the_frames_of_a_dict_are_tables_on_the_card() -> None:
    frames = {region: pd.DataFrame({"month": ["Jan"], "revenue": [1234.5]}) for region in "abcdef"}
    blocks = output_blocks(SampleOutputs(glimpses({"frames": frames}, {})), "growth")
    html = blocks_html(blocks)
    assert html.count("<table") == 4 and "frames[&#x27;a&#x27;]" in html and "and 2 more" in html
    assert sum("1234.5" in words for words in blocks_text(blocks)) == 4


def of_matplotlib(size: tuple[float, float] = (6.4, 4.8), rows: int = 1, columns: int = 1, *, points: bool) -> Any:
    from matplotlib.figure import Figure as Drawn

    noise = np.random.default_rng(0)
    figure = Drawn(figsize=size)
    for axes in figure.subplots(rows, columns, squeeze=False).flat:
        if points:
            axes.scatter(*noise.normal(size=(2, 2000)), alpha=0.5, c=noise.random(2000))
        else:
            axes.plot(noise.normal(size=(365, 5)).cumsum(axis=0))
    return figure


def of_plotly(kind: str, frame: pd.DataFrame) -> Any:
    import plotly.express

    days = pd.DataFrame({"a": frame["x"].cumsum(), "b": frame["y"]}).assign(
        day=pd.date_range("2023-01-01", periods=len(frame))
    )
    charts = {
        "scatter": lambda: plotly.express.scatter(frame.head(2000), x="x", y="y", color="g"),
        "histogram": lambda: plotly.express.histogram(frame, x="x"),
        "line": lambda: plotly.express.line(days, x="day", y=["a", "b"]),
    }
    return charts[kind]()


def of_altair(kind: str, frame: pd.DataFrame) -> Any:
    import altair

    chart = altair.Chart(frame)
    return (
        chart.mark_bar().encode(x="g", y="count()")
        if kind == "bar"
        else chart.mark_point().encode(x="x", y="y", color="g")
    )


def returned(value: Any) -> Figure:
    """A figure as a sandbox returns it."""
    encoded = encode(value, "Figure")
    return Figure(**vars(decode(encoded.header, memoryview(b"".join(encoded.buffers)), folder=Path(), trusted=False)))


@each(
    "made",
    [
        pytest.param(lambda _: [of_matplotlib(points=False)] * 6, id="six of five lines"),
        pytest.param(lambda _: [of_matplotlib((10, 6), points=True)], id="2,000 points"),
        pytest.param(lambda _: [of_matplotlib((14, 8), 2, 3, points=False)], id="six axes"),
        pytest.param(lambda frame: [of_plotly("scatter", frame)], id="plotly: 2,000 points"),
        pytest.param(lambda frame: [of_plotly("histogram", frame.head(3000))], id="plotly: histogram of 3,000"),
        pytest.param(lambda frame: [of_plotly("line", frame.head(730))], id="plotly: two lines of 730 days"),
        pytest.param(lambda frame: [of_altair("point", frame.head(2000))], id="altair: 2,000 points"),
        pytest.param(lambda frame: [of_altair("bar", frame.head(5000))], id="altair: bars that count 5,000 rows"),
    ],
)
def test_the_usual_charts_of_a_data_scientist_are_seen_on_the_card(made: Callable[[pd.DataFrame], list[Any]]) -> None:
    noise = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": noise.normal(size=5000), "y": noise.normal(size=5000), "g": noise.choice(list("abc"), 5000)}
    )
    found = glimpses({"charts": list(map(returned, made(frame)))}, {})
    assert all(one.picture or one.chart for one in found)
    assert len(blocks_html(output_blocks(SampleOutputs(found), "growth"))) < 300_000


CHART = {"data": [{"type": "bar", "x": ["jane.roe@example.com", "b"], "y": [1, 2]}], "layout": {"images": [{}]}}


def test_a_small_chart_is_in_the_preview_without_private_values_and_unsafe_parts() -> None:
    glimpse = seen(Figure(b"", 0, 0, kind="plotly", spec=CHART))
    drawn = json.loads(glimpse.chart)
    assert drawn["spec"] == {"data": [{"type": "bar", "x": ["<email-1>", "b"], "y": [1, 2]}], "layout": {}}
    assert drawn["mime_type"] == "application/vnd.plotly.v1+json"
    assert glimpse.text == "bar chart; x: <email-1>, b; y: 1 to 2; 2 marks"
    assert seen(Figure(b"", 0, 0, kind="plotly", spec=CHART), TOKEN="correct-horse").chart == ""
    large = {"data": [{"type": "bar", "y": list(range(FIGURE_CHARACTERS // 2))}]}
    assert seen(Figure(b"", 0, 0, kind="plotly", spec=large)).left_out == TOO_LARGE
    quoted = {"data": [{"type": "bar", "y": [1], "text": ["a"] * (FIGURE_CHARACTERS // 8)}]}  # as `&quot;a&quot;,`
    assert seen(Figure(b"", 0, 0, kind="plotly", spec=quoted)).left_out == TOO_LARGE
    unsafe: tuple[dict[str, Any], ...] = ({"data": [{"type": "image"}]}, {"data": [{"type": "bar", "y": [1e999]}]})
    for spec in (*unsafe, {"data": [{"type": "bar", "y": [10**5000]}]}):
        assert seen(Figure(b"", 0, 0, kind="plotly", spec=spec)).chart == ""
    map_of = {"data": [{"type": "choropleth"}]}
    assert "'choropleth'" in seen(Figure(b"", 0, 0, kind="plotly", spec=map_of)).left_out


def test_the_numbers_of_a_large_chart_are_rounded_to_what_can_be_seen() -> None:
    count = 2_000
    trace = {
        "type": "bar",
        "x": [1e9 + n / 7 for n in range(count)],
        "y": [10.0**-n for n in range(50)],
        "width": [0.3],
    }

    def drawn_of(trace: dict[str, Any]) -> dict[str, Any]:
        glimpse = seen(Figure(b"", 0, 0, kind="plotly", spec={"data": [trace]}))
        return dict(json.loads(glimpse.chart)["spec"]["data"][0])

    small = {**trace, "x": [1e9, 1e9 + 1 / 7]}
    assert drawn_of(small) == small
    shown = drawn_of(trace)
    assert max(abs(one - other) for one, other in zip(shown["x"], trace["x"], strict=True)) < count / 7 / 1e5
    assert shown["x"] != trace["x"] and shown["width"] == [0.3]
    assert shown["y"] == [float(f"{value:.5e}") for value in trace["y"]]


def test_a_chart_is_drawn_on_a_card_when_its_run_has_ended() -> None:
    outputs = SampleOutputs((seen(Figure(b"", 0, 0, kind="plotly", spec=CHART)),))
    running = FunctionRun("growth").apply(outputs)
    for state, is_drawn in ((running, False), (running.apply(Finished("ready")), True)):
        html = card_html(state)
        assert ("data-autocode-chart" in html) == is_drawn and "bar chart; x: " in html


def test_a_card_has_a_chart_as_an_element_with_its_text_that_does_not_count_for_its_size() -> None:
    glimpse = seen(Figure(b"", 0, 0, kind="plotly", spec=CHART))
    blocks = glimpse_blocks(glimpse)
    html = blocks_html(blocks)
    assert 'class="autocode-chart"' in html and "&quot;mime_type&quot;" in html
    assert "bar chart; x: &lt;email-1&gt;, b" in html
    assert blocks_text(blocks) == [f"output out: {glimpse.text}"]
    document = Document("a", "Ready", "good", sections=(Section("Outputs", (Row("Outputs", blocks),), folded=False),))
    assert "autocode-chart" in document_html(document, 500)
