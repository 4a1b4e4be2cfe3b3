"""Charts of Plotly and Altair in a page."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Open

pytestmark = [pytest.mark.browser]

CHART = """
import altair, json, pandas as pd
from autocoder_jupyter import Figure
sales = pd.DataFrame({"month": ["Jan", "Feb"], "revenue": [1.5, 2.0]})
bars = altair.Chart(sales, title="Sales").mark_bar().encode(x="month", y="revenue")
Figure(b"", 0, 0, kind="altair", spec=json.loads(bars.to_json()))
"""


def test_a_chart_of_altair_is_drawn_by_the_page(notebook: Open) -> None:
    page = notebook(CHART.strip())
    page.run(1)
    page.page.locator(".vega-embed canvas, .vega-embed svg").first.wait_for(timeout=60_000)


HOSTILE = """
import json, pandas as pd
from autocoder_jupyter import Figure
address = "https://evil.example/"
marks = "arc area bar boxplot circle errorband errorbar line point rect rule square text tick trail".split()
table = [{"image": f"{address}{mark}", "title": address, "href": address, "url": address, "n": n, "m": n % 3}
         for mark in marks for n in range(3)]
def spec(mark, tooltip):
    axes = {"x": {"field": "image", "type": "nominal"}, "y": {"field": "n", "type": "quantitative"}}
    if mark == "arc":
        axes = {"theta": axes["y"], "color": axes["x"]}
    shown = [{"field": name} for name in ("image", "['image']", "title", "href", "n")]
    more = {"tooltip": shown} if tooltip == "fields" else {"tooltip": {"field": "image"}} if tooltip == "one" else {}
    return {"mark": {"type": mark, "tooltip": True}, "width": 300, "height": 60,
            "encoding": {**axes, **more, "text": {"field": "image"}}, "data": {"values": table}}
for mark in marks:
    for tooltip in ("fields", "one", "mark"):
        display(Figure(b"", 0, 0, kind="altair", spec=spec(mark, tooltip)))
"""

PLOTLY = """
from autocoder_jupyter import Figure
address = "https://evil.example/"
texts = [f"<a href='{address}'>x</a>", f"<img src='{address}'>", f"<b style='background:url({address})'>x</b>",
         f"&lt;img src='{address}'&gt;", address, "x"]
layout = {"title": {"text": texts[0]}, "images": [{"source": address}], "xaxis": {"title": {"text": texts[2]}},
          "annotations": [{"text": texts[1], "x": 1, "y": 1}]}
for kind in ("scatter", "bar", "box", "histogram", "violin"):
    trace = {"type": kind, "x": [1, 2, 3, 4, 5, 6], "y": [3, 1, 2, 4, 6, 5], "text": texts, "hovertext": texts,
             "name": texts[0], "hovertemplate": "%{text}" + texts[1],
             "marker": {"color": "\\\\75rl(" + address + ")", "pattern": {"shape": "/"}}}
    display(Figure(b"", 0, 0, kind="plotly", spec={"data": [trace], "layout": layout}))
"""


@pytest.mark.own_page
@pytest.mark.parametrize(
    ("cell", "drawn", "count"),
    [(HOSTILE, ".vega-embed", 45), (PLOTLY, ".js-plotly-plot", 5)],
    ids=["altair", "plotly"],
)
def test_no_mark_and_no_tooltip_of_a_chart_requests_anything(notebook: Open, cell: str, drawn: str, count: int) -> None:
    page = notebook(cell.strip())
    tab = page.page
    requested: list[str] = []
    tab.on("request", lambda request: requested.append(request.url))
    tab.on("popup", lambda opened: requested.append(f"a new page: {opened.url}"))
    page.run(1)
    charts = tab.locator(drawn)
    charts.first.wait_for(timeout=60_000)
    tab.wait_for_function("([what, count]) => document.querySelectorAll(what).length >= count", arg=[drawn, count])
    hovered = 0
    for number in range(count):
        charts.nth(number).scroll_into_view_if_needed()
        box = charts.nth(number).bounding_box()
        assert box is not None
        for across in (0.15, 0.3, 0.45, 0.6, 0.75, 0.9):
            for down in (0.3, 0.5, 0.7):
                tab.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
                hovered += tab.locator("#vg-tooltip-element.visible, .hoverlayer .hovertext").count() > 0
        tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert hovered > count / 3, "the test shows something only if there are tooltips"
    assert [address for address in requested if "evil" in address or "new page" in address] == []
