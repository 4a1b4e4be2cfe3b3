from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.data.glimpse import CHARACTERS, CHART_CHARACTERS, COLUMNS, PICTURE_BYTES, ROWS, glimpses
from autocoder_jupyter.display.sample_outputs import glimpse_blocks, output_blocks
from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.types import Figure
from autocoder_jupyter.types.overview import Glimpse
from autocoder_jupyter.view.as_html import blocks_html, document_html
from autocoder_jupyter.view.as_text import blocks_text
from autocoder_jupyter.view.document import Document, Row, Section


def seen(value: Any, **secrets: str) -> Glimpse:
    (glimpse,) = glimpses({"out": value}, secrets)
    return glimpse


def test_a_table_is_its_first_rows_and_no_more() -> None:
    table = seen(pd.DataFrame([["x" * 500] * 30] * 1000)).table
    assert table is not None and (len(table.rows), len(table.headings)) == (ROWS, COLUMNS)
    assert table.size == "1,000 rows × 30 columns" and len(table.rows[0][0]) < CHARACTERS + 10


def test_private_values_and_secrets_are_replaced_before_anything_is_cut() -> None:
    frame = pd.DataFrame({"who": ["jane.roe.with.a.long.name@example.com"], "key": ["hunter2hunter2"]})
    table = seen(frame, TOKEN="hunter2hunter2").table
    assert table is not None and table.rows == (("<email-1>", "<TOKEN>"),)
    assert seen("write to jane.roe@example.com").text == "write to <email-1>"
    labels = seen(pd.DataFrame({"jane.roe@example.com": [1]}, index=["joe.doe@example.com"])).table
    assert labels is not None and "example.com" not in str(labels)


@pytest.mark.parametrize(
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


def test_a_small_picture_is_in_the_preview_and_a_large_one_only_by_its_size() -> None:
    small, large = Figure(b"\x89PNG small", 610, 333), Figure(b"\x89PNG" + bytes(PICTURE_BYTES), 6100, 3330)
    one, other = glimpses({"chart": small, "poster": large}, {})
    assert glimpses({"chart": small}, {"TOKEN": "correct-horse"})[0].picture == b""
    assert one.picture == small.png and one.text == "a picture of 610 × 333 pixels"
    assert other.picture == b"" and other.text == "a picture of 6100 × 3330 pixels"
    bomb = Figure(b"\x89PNG of one colour", 20_000, 5_000)
    assert glimpses({"chart": bomb}, {})[0] == Glimpse("chart", "a picture of 20000 × 5000 pixels")


def test_the_figures_of_a_list_are_pictures_while_all_together_are_not_larger_than_two_of_the_largest() -> None:
    third = Figure(b"\x89PNG" + bytes(PICTURE_BYTES // 3), 640, 480)
    many = glimpses({"charts": [third] * 14, "one": Figure(b"\x89PNG small", 640, 480)}, {})
    assert [bool(glimpse.picture) for glimpse in many] == [*[True] * 5, *[False] * 8, True]
    assert (many[4].name, many[12]) == ("charts[4]", Glimpse("charts", "and 2 more"))
    wide = glimpses({"charts": [Figure(b"\x89PNG", 2000, 1500)] * 3}, {})  # pixels, which a page decodes
    assert [bool(glimpse.picture) for glimpse in wide] == [True, True, False]
    html = blocks_html(output_blocks(SampleOutputs(many), "growth"))
    assert html.count("<img") == 6 and "charts[4]" in html and "a picture of 640 × 480 pixels" in html


CHART = {"data": [{"type": "bar", "x": ["jane.roe@example.com", "b"], "y": [1, 2]}], "layout": {"images": [{}]}}


def test_a_small_chart_is_in_the_preview_without_private_values_and_unsafe_parts() -> None:
    glimpse = seen(Figure(b"", 0, 0, kind="plotly", spec=CHART))
    drawn = json.loads(glimpse.chart)
    assert drawn["spec"] == {"data": [{"type": "bar", "x": ["<email-1>", "b"], "y": [1, 2]}], "layout": {}}
    assert drawn["mime_type"] == "application/vnd.plotly.v1+json"
    assert glimpse.text == "bar chart; x: <email-1>, b; y: 1 to 2; 2 marks"
    assert seen(Figure(b"", 0, 0, kind="plotly", spec=CHART), TOKEN="correct-horse").chart == ""
    large = {"data": [{"type": "bar", "y": list(range(CHART_CHARACTERS))}]}
    assert seen(Figure(b"", 0, 0, kind="plotly", spec=large)).chart == ""
    unsafe: tuple[dict[str, Any], ...] = ({"data": [{"type": "image"}]}, {"data": [{"type": "bar", "y": [1e999]}]})
    for spec in (*unsafe, {"data": [{"type": "bar", "y": [10**5000]}]}):
        assert seen(Figure(b"", 0, 0, kind="plotly", spec=spec)).chart == ""


def test_a_card_has_a_chart_as_an_element_with_its_text_that_does_not_count_for_its_size() -> None:
    glimpse = seen(Figure(b"", 0, 0, kind="plotly", spec=CHART))
    blocks = glimpse_blocks(glimpse)
    html = blocks_html(blocks)
    assert 'class="autocode-chart"' in html and "&quot;mime_type&quot;" in html
    assert "bar chart; x: &lt;email-1&gt;, b" in html
    assert blocks_text(blocks) == [f"output out: {glimpse.text}"]
    document = Document("a", "Ready", "good", sections=(Section("Outputs", (Row("Outputs", blocks),), folded=False),))
    assert "autocode-chart" in document_html(document, 500)
