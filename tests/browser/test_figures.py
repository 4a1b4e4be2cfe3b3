"""Charts of Plotly and Altair in a page."""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import VIEWPORT, Open, Reply
from tests.browser.lab import Lab, NotebookPage, expect
from tests.browser.test_panel import barriers, unfold
from tests.first_answers import joined
from tests.runner import MARKERS
from tests.scripted_model import Answer, prompt_of

pytestmark = [pytest.mark.browser]

PATIENCE = 60_000

STANDARD = """
from autocoder_jupyter import Figure
def as_other_pages_do(figure):
    display({mime: spec for mime, spec in figure._repr_mimebundle_().items() if "autocoder" not in mime}, raw=True)
"""
"""Shows a figure with the renderers of the page, as a page without our extension does."""

CHART = """
import altair, json, pandas as pd
sales = pd.DataFrame({"month": ["Jan", "Feb"], "revenue": [1.5, 2.0]})
bars = altair.Chart(sales, title="Sales").mark_bar().encode(x="month", y="revenue")
as_other_pages_do(Figure(b"", 0, 0, kind="altair", spec=json.loads(bars.to_json())))
"""


def test_a_chart_of_altair_is_drawn_by_the_page(notebook: Open) -> None:
    page = notebook(f"{STANDARD}{CHART}".strip())
    page.run(1)
    page.page.locator(".vega-embed canvas, .vega-embed svg").first.wait_for(timeout=60_000)


HOSTILE = """
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
    for tooltip in ("fields", "one", "mark") if mark in ("bar", "point") else ("fields",):
        as_other_pages_do(Figure(b"", 0, 0, kind="altair", spec=spec(mark, tooltip)))
"""

PLOTLY = """
address = "https://evil.example/"
texts = [f"<a href='{address}'>x</a>", f"<img src='{address}'>", f"<b style='background:url({address})'>x</b>",
         f"&lt;img src='{address}'&gt;", address, "x"]
layout = {"title": {"text": texts[0]}, "images": [{"source": address}], "xaxis": {"title": {"text": texts[2]}},
          "annotations": [{"text": texts[1], "x": 1, "y": 1}]}
for kind in ("scatter", "bar", "box", "histogram", "violin"):
    trace = {"type": kind, "x": [1, 2, 3, 4, 5, 6], "y": [3, 1, 2, 4, 6, 5], "text": texts, "hovertext": texts,
             "name": texts[0], "hovertemplate": "%{text}" + texts[1],
             "marker": {"color": "\\\\75rl(" + address + ")", "pattern": {"shape": "/"}}}
    as_other_pages_do(Figure(b"", 0, 0, kind="plotly", spec={"data": [trace], "layout": layout}))
"""


def test_no_mark_and_no_tooltip_of_a_chart_requests_anything(notebook: Open) -> None:
    page = notebook(f"{STANDARD}{HOSTILE}".strip(), PLOTLY.strip())
    tab = page.page
    requested: list[str] = []
    tab.on("request", lambda request: requested.append(request.url))
    tab.on("popup", lambda opened: requested.append(f"a new page: {opened.url}"))
    for cell, drawn, count in ((1, ".vega-embed", 19), (2, ".js-plotly-plot", 5)):
        page.run(cell)
        charts = tab.locator(drawn)
        charts.first.wait_for(timeout=60_000)
        tab.wait_for_function("([what, count]) => document.querySelectorAll(what).length >= count", arg=[drawn, count])
        hovered = 0
        for number in range(count):
            charts.nth(number).scroll_into_view_if_needed()
            box = charts.nth(number).bounding_box()
            assert box is not None
            for across in (0.15, 0.3, 0.5, 0.75):
                for down in (0.2, 0.5):
                    tab.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
                    tab.evaluate("() => new Promise(requestAnimationFrame)")  # Chromium passes moves on once a frame
                    hovered += tab.locator("#vg-tooltip-element.visible, .hoverlayer .hovertext").count() > 0
            tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert hovered > count / 3, "the test shows something only if there are tooltips"
    assert [address for address in requested if "evil" in address or "new page" in address] == []


class Canary:
    """A server that notes each request."""

    def __init__(self) -> None:
        noted: list[str] = []
        self.requested = noted

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                noted.append(self.path)
                self.send_response(404)
                self.end_headers()

            do_POST = do_HEAD = do_OPTIONS = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def canary() -> Iterator[Canary]:
    canary = Canary()
    yield canary
    canary.close()


FRAME = ".jp-AutocodeChart > iframe"
UNCHECKED = """
def show(mime, *specs):
    for spec in specs:
        display({"application/vnd.autocoder-jupyter.chart+json": {"mime_type": mime}, mime: spec}, raw=True)
"""
"""Shows charts in frames without the lists of allowed parts. The policy of the frame alone must hold."""

UNCHECKED_VEGA = """
rows = {"values": [{"image": ADDRESS + f"/tooltip{n}", "href": ADDRESS + "/link", "n": n} for n in range(3)]}
axes = {"x": {"field": "image", "type": "nominal"}, "y": {"field": "n", "type": "quantitative"}}
def chart(mark, data=rows, **more):
    return {"mark": mark, "data": data, "encoding": {**axes, **more}, "width": 400, "height": 60, "title": "hostile"}
tooltip = {"tooltip": [{"field": "image"}, {"field": "href"}], "href": {"field": "href"}}
show("application/vnd.vegalite.v5+json",
     {"layer": [chart(mark, **tooltip) for mark in ("bar", "rect", "tick", "point", "text")], "width": 400},
     chart("image", url={"field": "image"}),
     chart({"type": "image", "url": ADDRESS + "/mark"}),
     chart("bar", {"url": ADDRESS + "/data.json"}),
     chart("bar", {"url": ADDRESS + "/data.csv", "format": {"type": "csv"}}),
     chart({"type": "bar", "color": f"url({ADDRESS}/color)", "href": ADDRESS + "/mark-link"}),
     {**chart("geoshape"), "data": {"url": ADDRESS + "/topo.json", "format": {"type": "topojson", "feature": "x"}}},
     {**chart("bar"), "params": [{"name": "p", "expr": f"open('{ADDRESS}/expr')"}]},
     {**chart("bar"), "usermeta": {"embedOptions": {"patch": ADDRESS + "/patch", "config": ADDRESS + "/config"}}},
     {**chart("bar"), "config": {"background": f"url({ADDRESS}/background)", "font": f"x;url({ADDRESS}/font)"}})
"""

UNCHECKED_PLOTLY = """
link = f"<a href='{ADDRESS}/link'>x</a>"
image = f"<img src='{ADDRESS}/img'>"
style = f"<span style='background:url({ADDRESS}/style)'>x</span>"
texts = [link, image, style]
layout = {"title": {"text": link + image + style}, "images": [{"source": ADDRESS + "/image", "sizex": 1, "sizey": 1}],
          "font": {"family": f"url({ADDRESS}/font)"}, "paper_bgcolor": f"url({ADDRESS}/paper)",
          "annotations": [{"text": image, "x": 1, "y": 1, "hovertext": link}], "height": 400, "hovermode": "closest"}
def trace(kind, **more):
    return {"type": kind, "text": texts, "hovertext": texts, **more}
def figure(*traces, **more):
    return {"data": traces, "layout": {**layout, **more},
            "config": {"plotlyServerURL": ADDRESS + "/server", "topojsonURL": ADDRESS + "/topo"}}
show("application/vnd.plotly.v1+json",
     figure(trace("bar", x=[1, 2, 3], y=[3, 3, 3], name=link, hovertemplate="%{text}" + image),
            trace("scatter", x=[1, 2, 3], y=[3, 1, 2], marker={"symbol": f"url({ADDRESS}/symbol)"}),
            trace("image", source=ADDRESS + "/trace.png", xaxis="x2", yaxis="y2"),
            trace("scatterpolar", r=[1, 2], theta=[1, 2]),
            xaxis={"domain": [0, 0.7]}, xaxis2={"domain": [0.8, 1]}, yaxis2={"domain": [0, 0.4], "anchor": "x2"},
            polar={"domain": {"x": [0.8, 1], "y": [0.6, 1]}}),
     figure(trace("choropleth", locations=["DEU"], z=[1], geojson=ADDRESS + "/geo.json"),
            trace("scattergeo", lon=[1], lat=[1])),
     figure(trace("scattermap", lon=[1], lat=[1])))
"""


def frames_inside(page: NotebookPage, cell: int, count: int) -> list[tuple[Any, Any]]:
    """The frames of the charts below a cell, as an element and as what is drawn in it, when they have answered."""
    output = page.output(cell)
    settled = """([output, what, count]) => [...output.querySelectorAll(what)].filter(one => one.style.height).length
        + output.querySelectorAll(".jp-AutocodeChart-note").length >= count"""
    page.page.wait_for_function(settled, arg=[output.element_handle(), FRAME, count], timeout=120_000)
    handles = output.locator(FRAME).element_handles()
    return [(handle, handle.content_frame().child_frames[0]) for handle in handles]


class Requests:
    """What Chromium requests from now on, and which new pages it opens.

    It also reports what it refuses to request, and then that a policy was the reason; or, if the element was removed
    before that was said, only that the request was aborted. Whether one of these was sent is what the canary noted.
    """

    def __init__(self, lab: Lab, context: Any, canary: Canary) -> None:
        self._own = (lab.address, "about:srcdoc", "data:")
        self._canary = canary
        self._sent: list[Any] = []
        self._refused: list[Any] = []
        self._opened: list[str] = []
        context.on("request", lambda request: self._sent.append(request))
        context.on("requestfailed", self._note_failure)
        context.on("page", lambda page: self._opened.append(f"a new page: {page.url}"))

    def _note_failure(self, request: Any) -> None:
        unsent = request.failure == "net::ERR_ABORTED" and request.url.startswith(self._canary.address)
        if unsent or request.failure in ("csp", "net::ERR_BLOCKED_BY_CSP"):
            self._refused.append(request)

    def outside(self) -> list[str]:
        """Those that are not of JupyterLab itself. What a frame contains is given to it as a text."""
        sent = [f"{request.url} {request.failure}" for request in self._sent if request not in self._refused]
        return [*(address for address in sent if not address.startswith(self._own)), *self._opened]


@pytest.mark.usefixtures("extension")
def test_a_chart_in_its_frame_requests_nothing_whatever_it_contains(notebook: Open, lab: Lab, canary: Canary) -> None:
    page = notebook(f"ADDRESS = {canary.address!r}\n{UNCHECKED}{UNCHECKED_VEGA}".strip(), UNCHECKED_PLOTLY.strip())
    tab = page.page
    requests = Requests(lab, tab.context, canary)
    page.run(1)
    page.run(2)
    for cell, count, least in ((1, 10, 5), (2, 3, 1)):
        drawn = frames_inside(page, cell, count)
        assert len(drawn) >= least, "most of what is in these charts is drawn, without what they would fetch"
        shown, seen = set[str](), set[int]()
        for element, frame in drawn * 3:  # a chart that is still drawn shows nothing under the pointer
            element.scroll_into_view_if_needed()
            box = element.bounding_box()
            assert box is not None
            if any(canary.address in text for text in shown) and len(seen) == len(drawn):
                break
            seen.add(id(element))
            for across in (0.1, 0.2, 0.3, 0.5, 0.7):
                for down in (0.3, 0.6):
                    tab.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
                    tab.wait_for_timeout(30)
                    shown |= set(frame.locator(".tooltip, .hoverlayer").all_text_contents())
            tab.mouse.click(box["x"] + box["width"] / 5, box["y"] + box["height"] / 2)
        assert any(canary.address in text for text in shown), "the values under the pointer are text"
    assert canary.requested == []
    assert requests.outside() == []


STAYING = """to => {
    const add = (tag, facts) => {
        const made = document.createElement(tag);
        for (const [name, value] of Object.entries(facts)) made.setAttribute(name, value);
        document.body.append(made);
        return made;
    };
    const attempts = [
        () => { new Image().src = to("image"); },
        () => fetch(to("fetch"), {mode: "no-cors"}),
        () => navigator.sendBeacon(to("beacon")),
        () => { const request = new XMLHttpRequest(); request.open("GET", to("request")); request.send(); },
        () => new WebSocket(to("socket").replace("http", "ws")),
        () => new EventSource(to("events")),
        () => new WebTransport(to("transport").replace("http", "https")),
        () => new Worker(to("worker")),
        () => new SharedWorker(to("shared-worker")),
        () => new Worker(URL.createObjectURL(new Blob([`fetch("${to("blob")}")`]))),
        () => navigator.serviceWorker.register(to("service-worker")),
        () => import(to("import")),
        () => new FontFace("x", `url(${to("font")})`).load(),
        () => open(to("window")),
        () => { document.body.style.background = `url(${to("background")})`; },
        () => { document.body.style.cursor = `url(${to("cursor")}), auto`; },
        () => { add("style", {}).textContent = `@import url(${to("sheet")});`; },
        () => { document.body.innerHTML += `<img src="${to("markup")}">`; },
        () => { const text = `<script>fetch("${to("text")}")</script>`; add("iframe", {srcdoc: text}); },
        () => { add("script", {type: "speculationrules"}).textContent =
            JSON.stringify({prefetch: [{source: "list", urls: [to("rules")]}]}); },
        () => add("a", {href: "#", ping: to("ping")}).click(),
        () => add("object", {data: to("object"), type: "text/html"}),
        () => add("embed", {src: to("embed"), type: "text/html"}),
        () => add("video", {src: to("video"), poster: to("poster"), autoplay: ""}),
        () => add("input", {type: "image", src: to("input")}),
    ];
    for (const tag of ["script", "img", "iframe", "audio", "fencedframe", "portal", "frame"]) {
        attempts.push(() => add(tag, {src: to(tag)}));
    }
    const rels = "prefetch preconnect dns-prefetch preload modulepreload icon manifest prerender stylesheet expect";
    for (const rel of rels.split(" ")) {
        attempts.push(() => add("link", {rel, href: to(rel), as: "image"}));
    }
    for (const attempt of attempts) {
        try { Promise.resolve(attempt()).catch(() => 0); } catch {}
    }
}"""

LEAVING = [
    """location.href = to("assign")""",
    """location.replace(to("replace"))""",
    """parent.location = to("parent")""",
    """top.location = to("top")""",
    """parent.frames[0].location = to("self")""",
    """location.href = `javascript:fetch("${to("script-address")}")`""",
    """location.href = `data:text/html,<img src="${to("data")}">`""",
    """location.href = URL.createObjectURL(new Blob([`<img src="${to("blob")}">`], {type: "text/html"}))""",
    """document.open(); document.write(`<img src="${to("written")}">`); document.close()""",
    """add("form", {action: to("form"), method: "post"}).submit()""",
    """add("form", {action: to("form-top"), target: "_top"}).submit()""",
    """add("a", {href: to("link")}).click()""",
    """add("a", {href: to("link-download"), download: "x"}).click()""",
    """add("a", {href: to("link-parent"), target: "_parent"}).click()""",
    """add("a", {href: to("link-blank"), target: "_blank"}).click()""",
    """add("meta", {"http-equiv": "refresh", content: `0;url=${to("refresh")}`})""",
    """navigation.navigate(to("navigate"))""",
]
"""Each of these may end the document, so each gets a new one."""

LEAVE = """address => {{
    const to = name => `${{address}}/${{name}}`;
    const add = (tag, facts) => {{
        const made = document.createElement(tag);
        for (const [name, value] of Object.entries(facts)) made.setAttribute(name, value);
        document.body.append(made);
        return made;
    }};
    setTimeout(() => {{ {} }}, 20);
}}"""

LOAD_AGAIN = """frame => new Promise(done => {
    frame.addEventListener("load", () => done(), {once: true});
    frame.srcdoc = frame.srcdoc;
})"""


@pytest.mark.usefixtures("extension")
def test_a_script_that_got_into_the_frame_of_a_chart_requests_nothing_and_leads_nowhere(
    notebook: Open, lab: Lab, canary: Canary
) -> None:
    """By an error in a library of charts, for example. In an open frame, the same script does reach the server."""
    chart = {"mark": "bar", "data": {"values": [{"n": 1}]}, "encoding": {"x": {"field": "n"}}}
    page = notebook(f"{UNCHECKED}show('application/vnd.vegalite.v5+json', {chart})".strip())
    tab = page.page
    page.run(1)
    ((element, frame),) = frames_inside(page, 1, 1)
    requests = Requests(lab, tab.context, canary)
    assert frame.evaluate("typeof RTCPeerConnection") == "undefined"
    staying = f"address => ({STAYING})(name => `${{address}}/${{name}}`)"
    frame.evaluate(staying, canary.address)
    tab.wait_for_timeout(500)
    for code in LEAVING:
        element.evaluate(LOAD_AGAIN)
        element.content_frame().child_frames[0].evaluate(LEAVE.format(code), canary.address)
        tab.wait_for_timeout(150)
    assert canary.requested == []
    assert requests.outside() == [] and tab.url.startswith(lab.address)
    assert element.is_visible()

    tab.evaluate("document.body.append(Object.assign(document.createElement('iframe'), {id: 'open', srcdoc: 'x'}))")
    tab.locator("#open").element_handle().content_frame().evaluate(staying, canary.address)
    tab.wait_for_timeout(500)
    assert len(canary.requested) > 10, "the test shows something only if these attempts do request something"


CHART_PLAN = {
    "description": "The revenue by region.",
    "approach": "Add up the revenue of each region.",
    "packages": ["altair"],
    "inputs": [{"name": "sales", "type": "DataFrame", "meaning": "orders"}],
    "outputs": [{"name": "bars", "type": "Figure", "meaning": "one bar a region"}],
    "assumptions": [],
}

CHART_MODULE = '''\
import altair
import pandas as pd


def run(sales: pd.DataFrame) -> altair.TopLevelMixin:
    """A bar chart."""
    totals = sales.groupby("region", as_index=False)["revenue"].sum()
    return altair.Chart(totals, title="Revenue", width=600).mark_bar().encode(x="region", y="revenue")
'''

CHART_TESTS = '''\
import pandas as pd
from solution import run


def test_each_region_has_a_bar():
    """one bar a region"""
    bars = run(sales=pd.DataFrame({"region": ["N", "N", "S"], "revenue": [1.0, 2.0, 4.0]}))
    assert [row["revenue"] for row in bars.data] == [3.0, 4.0]
'''


LARGE_PLAN = {
    **CHART_PLAN,
    "packages": ["matplotlib", "plotly", "altair"],
    "outputs": [
        {"name": name, "type": "Figure", "meaning": "all points"} for name in ("drawn", "of_plotly", "of_altair")
    ],
}

LARGE_MODULE = '''\
import altair
import numpy as np
import pandas as pd
import plotly.express
from matplotlib.figure import Figure


def run(sales: pd.DataFrame) -> tuple[Figure, object, object]:
    """Three charts of 2,000 points, which were too large for a card once."""
    noise = np.random.default_rng(len(sales))
    points = pd.DataFrame({"x": noise.normal(size=2000), "y": noise.normal(size=2000), "part": ["a", "b"] * 1000})
    drawn = Figure(figsize=(10, 6))
    drawn.subplots().scatter(points["x"], points["y"], c=points["x"], alpha=0.5)
    return (
        drawn,
        plotly.express.scatter(points, x="x", y="y", color="part", title="Points"),
        altair.Chart(points, title="Points").mark_point().encode(x="x", y="y", color="part"),
    )
'''

LARGE_TESTS = '''\
import pandas as pd
from solution import run


def test_all_points_are_drawn():
    """all points"""
    for figure in run(sales=pd.DataFrame({"revenue": [1.0]})):
        assert figure.data
'''


def chart_answers(request: dict[str, Any]) -> str:
    """The answers to a request for a chart of Altair."""
    return answers_of(request, CHART_PLAN, CHART_MODULE, CHART_TESTS)


def large_answers(request: dict[str, Any]) -> str:
    """The answers to a request for a large chart of each library."""
    return answers_of(request, LARGE_PLAN, LARGE_MODULE, LARGE_TESTS)


def answers_of(request: dict[str, Any], plan: dict[str, Any], module: str, tests: str) -> str:
    stage = next(stage for marker, stage in scripts.STAGES.items() if marker in prompt_of(request))
    return {"code": joined(json.dumps(plan), scripts.fenced(module)), "tests": scripts.fenced(tests)}[stage]


def chart_of(place: Any) -> Any:
    """The document of a card's chart, when it is drawn. It is looked up for each use: a new theme loads it anew."""
    shown = place.get_by_role("img", name=re.compile('bar chart "Revenue"; x: region, North, South, West; y: revenue'))
    shown.wait_for(timeout=PATIENCE)
    expect(shown).to_have_attribute("style", re.compile("height"))  # it has answered
    inside = shown.content_frame.frame_locator("iframe")
    inside.locator("canvas").wait_for(timeout=PATIENCE)
    return inside.locator("html")


ARE_ABOVE = """([card, areAbove]) => {
    const box = part => part.getBoundingClientRect();
    const isRow = part => part.style.flexWrap !== "" && part.children.length === 2;
    const rows = [...card.querySelectorAll(":scope > div")].filter(isRow);
    return rows.every(row => box(row.children[1]).top >= box(row.children[0]).bottom === areAbove) && rows.length > 1;
}"""
"""Whether all labels of a card stand above their contents, or beside them. JupyterLab lays a page out anew later."""

FITS = "html => html.scrollWidth <= html.clientWidth && html.clientWidth < 400"


def on_a_narrow_page_labels_stand_above_their_text_and_the_tabs_are_one_row_that_scrolls(page: NotebookPage) -> None:
    """Check it with the card of cell 1 and the inspector of cell 3."""
    output = page.output(3)
    output.get_by_role("tab", name="Result and code").wait_for(timeout=PATIENCE)
    card = page.output(1).locator(".autocode-card")
    for width, are_above in ((1100, False), (400, True)):
        page.page.set_viewport_size({"width": width, "height": 900})
        expect(page.page.locator("body")).to_have_js_property("clientWidth", width)
        page.page.wait_for_function(ARE_ABOVE, arg=[card.element_handle(), are_above], timeout=PATIENCE)
        tops = [tab.bounding_box()["y"] for tab in output.get_by_role("tab").all()]
        assert len(set(tops)) == 1
    assert barriers(page, ".autocode-card", ".autocode-inspector") == []
    drawn = chart_of(card)
    for _ in range(200):  # a locator in a frame cannot wait for a function
        if drawn.evaluate(FITS):
            break
        page.page.wait_for_timeout(100)
    assert drawn.evaluate(FITS)
    last = output.get_by_role("tab").last
    last.click()
    bar, box = output.get_by_role("tablist").bounding_box(), last.bounding_box()
    rounding = 2  # a scroll position is a whole number
    assert bar["x"] - rounding <= box["x"] and box["x"] + box["width"] <= bar["x"] + bar["width"] + rounding
    shown = page.output(1).get_by_text("your files and processes")
    expect(shown).to_be_hidden()
    page.output(1).locator("summary", has_text="History").click()
    page.output(1).locator("summary", has_text="local, tier").click()
    expect(shown).to_be_visible()
    unfold(page, "chart").locator(".jp-AutocodePanel-thumbnail iframe").wait_for(timeout=PATIENCE)
    page.page.set_viewport_size(VIEWPORT)


@pytest.mark.local_sandbox
@pytest.mark.usefixtures("extension")
def test_a_chart_is_drawn_on_its_card_in_the_inspector_and_in_a_saved_notebook_of_somebody_else(
    notebook: Open, lab: Lab, reply: Reply
) -> None:
    reply(chart_answers)
    cell = '%%autocode chart -o "bars: Figure"\nThe revenue of @sales by region as bars, with altair.'
    page = notebook(cell, "chart.wait();", "chart")
    for number in (1, 2, 3):
        page.run(number)
        page.wait_for_prompt(number)
    chart_of(page.output(1))
    output = page.output(3)
    chart_of(output)
    page.save()
    on_a_narrow_page_labels_stand_above_their_text_and_the_tabs_are_one_row_that_scrolls(page)
    saved = json.loads((lab.folder / page.name).read_text())
    saved["metadata"]["from"] = "somebody else"  # so its signature is another, and it is not trusted
    (lab.folder / "received.ipynb").write_text(json.dumps(saved))
    received = NotebookPage(page.page, lab, "received.ipynb")
    chart_of(received.output(1))
    edge = received.card(1).evaluate(
        "card => getComputedStyle(card.closest('[style*=border-left-color]')).borderLeftColor"
    )
    assert edge == "rgb(119, 119, 119)"  # not fully checked, although the page removes each variable
    assert not any(button.is_visible() for button in received.card(1).locator("button").all())  # they could do nothing
    assert barriers(received, ".jp-AutocodeFollowed", ".jp-AutocodeResult") == []


LARGE_CELL = """%%autocode points -o "drawn: Figure" -o "of_plotly: Figure" -o "of_altair: Figure"
All points of @sales, with each library."""


@pytest.mark.local_sandbox
@pytest.mark.usefixtures("extension")
def test_charts_of_thousands_of_points_of_each_library_are_seen_on_the_card_and_in_the_saved_notebook(
    notebook: Open, lab: Lab, reply: Reply
) -> None:
    release = threading.Event()
    reply(
        lambda request: Answer(large_answers(request), hold=release if MARKERS["tests"] in prompt_of(request) else None)
    )
    page = notebook(LARGE_CELL, "points.wait();")
    page.run(1)
    page.card(1).get_by_text("not verified yet").wait_for(timeout=PATIENCE)
    charts_of_thousands_of_points_are_seen(page)
    strip = page.output(1).locator(".autocode-strip")
    frames, clock = strip.locator("iframe").element_handles(), strip.get_by_text(re.compile(r"^\d\d:\d\d")).inner_text()
    expect(strip.get_by_text(clock)).to_be_hidden()  # it goes on
    assert [frame.is_visible() for frame in frames] == [True, True]  # they are still the same
    assert barriers(page, ".autocode-strip") == []
    release.set()
    strip.wait_for(state="detached", timeout=PATIENCE)
    page.run(2)
    page.wait_for_prompt(2)
    charts_of_thousands_of_points_are_seen(page)
    small = unfold(page, "points").get_by_role("img", name=re.compile("drawn: scatter chart; .* 2,000 marks"))
    expect(small).to_be_visible()
    assert small.evaluate("image => [image.naturalWidth, image.height]") == [640, 96]
    assert barriers(page, ".jp-AutocodeFollowed", ".jp-AutocodePanel") == []
    page.save()
    assert 50_000 < (lab.folder / page.name).stat().st_size < 500_000
    page.page.set_viewport_size({"width": 400, "height": 900})
    charts_of_thousands_of_points_are_seen(NotebookPage(page.page, lab, page.name))
    page.page.set_viewport_size(VIEWPORT)


def charts_of_thousands_of_points_are_seen(page: NotebookPage) -> None:
    """Check it with the card of cell 1: most of the width of each is what it shows, not its margins."""
    picture = page.output(1).get_by_role("img", name=re.compile("drawn: scatter chart; x: .* 2,000 marks"))
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.complete && image.naturalWidth") == 640
    for marks, drawn, plot, least in (
        ("scattergl", ".plot-container canvas", ".nsewdrag", 0.6),
        ("point", "canvas", "canvas", 0.3),
    ):
        frame = page.output(1).get_by_role("img", name=re.compile(f'{marks} chart "Points"; x: x, .* 2,000 marks'))
        expect(frame).to_have_attribute("style", re.compile("height"), timeout=PATIENCE)  # it has answered
        inside = frame.element_handle().content_frame().child_frames[0]
        inside.locator(drawn).first.wait_for(timeout=PATIENCE)
        width = inside.locator(plot).first.evaluate("plot => plot.getBoundingClientRect().width")
        assert width > least * frame.bounding_box()["width"]
