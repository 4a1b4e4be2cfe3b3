"""A finished result in JupyterLab: used with the keyboard, called with a frame that fits, saved and opened again."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import Lab, NotebookPage, expect
from tests.browser.test_panel import barriers
from tests.first_answers import joined
from tests.scripted_model import prompt_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.local_sandbox,
    pytest.mark.usefixtures("extension"),
]

PATIENCE = 60_000

MENDED = f"{scripts.CELL} Mend it."

OTHERS = """\
sales_2025 = sales.assign(order_date=sales.order_date + pd.DateOffset(years=1)).head(500)
customers = pd.DataFrame({"name": ["Jane"]})
del sales"""

PICTURE_PLAN = {
    "description": "A picture of the revenue.",
    "approach": "Draw it.",
    "inputs": [{"name": "sales", "type": "DataFrame"}],
    "outputs": [{"name": "chart", "type": "Figure", "meaning": "revenue"}, {"name": "rows", "type": "int"}],
}

PICTURE_MODULE = '''\
import struct
import zlib

import pandas as pd


class Drawing:
    """A figure without a library: blue bars on white."""

    def savefig(self, target, **options):
        lines = [bytes(0 if (x // 20) % 2 and y > 150 - x // 2 else 255 for x in range(300)) for y in range(150)]
        header = struct.pack(">IIBBBBB", 300, 150, 8, 0, 0, 0, 0)
        target.write(b"\\x89PNG\\r\\n\\x1a\\n" + self._chunk(b"IHDR", header)
                     + self._chunk(b"IDAT", zlib.compress(b"".join(b"\\0" + line for line in lines)))
                     + self._chunk(b"IEND", b""))

    def _chunk(self, kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def run(sales: pd.DataFrame) -> tuple[object, int]:
    return Drawing(), len(sales)
'''

PICTURE_TESTS = '''\
import pandas as pd
from solution import run


def test_it_counts_the_rows():
    """A picture of @sales"""
    _, rows = run(sales=pd.DataFrame({"revenue": [1.0, 2.0]}))
    assert rows == 2
'''


def picture(request: dict[str, Any]) -> str:
    """The answers to a request for a figure."""
    stage = next(stage for marker, stage in scripts.STAGES.items() if marker in prompt_of(request))
    return {
        "code": joined(json.dumps(PICTURE_PLAN), scripts.fenced(PICTURE_MODULE)),
        "tests": scripts.fenced(PICTURE_TESTS),
    }[stage]


def inspect(page: NotebookPage, number: int) -> Any:
    """Run the cell, and wait until its output has tabs."""
    page.run(number)
    output = page.output(number)
    output.get_by_role("tab", name="Result and code").wait_for(timeout=PATIENCE)
    return output


def open_tab(output: Any, name: str) -> None:
    output.get_by_role("tab", name=name).click()
    output.get_by_role("tab", name=name, selected=True).wait_for()


def run_all(page: NotebookPage, *numbers: int) -> None:
    for number in numbers:
        page.run(number)
        page.wait_for_prompt(number)


def take_picture(output: Any, name: str) -> None:
    ARTIFACTS.mkdir(exist_ok=True)
    output.screenshot(path=ARTIFACTS / f"inspector-{name}.png")


def test_it_is_looked_through_by_keyboard_its_tabs_stay_in_place_and_hold_what_they_name(
    notebook: Open,
) -> None:
    page = notebook(MENDED, "growth.wait();", "growth")
    run_all(page, 1, 2)
    output = inspect(page, 3)
    tabs = output.get_by_role("tablist")
    place, heights = place_in(tabs, output), []
    output.get_by_role("tab", name="Result and code").focus()
    seen = {
        "Evidence": ("test_growth_is_over_the_month_before",),
        "Sent": ("Exactly what was sent",),
        "History": ("diff() is divided by the revenue of the same month", "Landlock"),
    }
    for title, found in seen.items():
        page.page.keyboard.press("ArrowRight")
        page.page.keyboard.press("Enter")
        output.get_by_role("tab", name=title, selected=True).wait_for()
        for words in found:
            output.get_by_text(words).locator("visible=true").first.wait_for()
        assert place_in(tabs, output) == place
        heights.append(output.bounding_box()["height"])
        assert scrolled_inside(output) == []
    assert min(heights) < max(heights) / 2  # each is as high as its content
    output.locator("summary", has_text="Conversation").click()
    output.get_by_text("openai/scripted").locator("visible=true").first.wait_for()
    compares_attempts_side_by_side(output)
    shows_the_profile_of_the_sample(output)
    is_read_in_both_themes_and_not_cut_on_a_narrow_page(page, output)


def scrolled_inside(output: Any) -> list[str]:
    """The parts of an inspector that scroll up and down by themselves."""
    return output.locator(".autocode-inspector").evaluate(
        """it => [...it.querySelectorAll('*')]
            .filter(part => ['auto', 'scroll'].includes(getComputedStyle(part).overflowY))
            .filter(part => part.scrollHeight > part.clientHeight + 1).map(part => part.outerHTML.slice(0, 200))"""
    )


def place_in(part: Any, output: Any) -> list[float]:
    """Left, top, width and height in the output. The page may scroll to a cell at any time."""
    places = part.evaluate_all(
        "(parts, output) => [...parts, output].map(it => it.getBoundingClientRect().toJSON())", output.element_handle()
    )
    inner, outer = places
    return [inner["x"] - outer["x"], inner["y"] - outer["y"], inner["width"], inner["height"]]


def compares_attempts_side_by_side(output: Any) -> None:
    open_tab(output, "History")
    assert output.locator("del:visible").first.inner_text().startswith("diff")
    expect(output.locator("ins:visible").first).to_contain_text("pct_change", use_inner_text=True)
    output.get_by_label("Compare").select_option("attempt 2")
    output.get_by_text("attempt 2 and attempt 2 are equal.").wait_for()


def shows_the_profile_of_the_sample(output: Any) -> None:
    """It comes from the kernel when its tab is opened."""
    open_tab(output, "Sent")
    output.get_by_text("order_date", exact=True).locator("visible=true").first.wait_for(timeout=PATIENCE)
    bars = output.locator('[role="img"]:visible')
    expect(bars).to_have_count(2)  # a number and a time
    assert re.search(r": \d", bars.last.locator("span").first.get_attribute("title"))


def is_read_in_both_themes_and_not_cut_on_a_narrow_page(page: NotebookPage, output: Any) -> None:
    page.page.set_viewport_size({"width": 400, "height": 900})
    expect(page.page.locator("body")).to_have_js_property("clientWidth", 400)
    for title in ("Result and code", "Evidence", "Sent", "History"):
        open_tab(output, title)
        take_picture(output, title.lower().replace(" ", "-"))
        assert barriers(page, ".autocode-inspector") == [], title
        shown = output.locator(".widget-html-content:visible").all()
        assert all(text.evaluate("it => it.clientWidth <= it.parentElement.clientWidth") for text in shown), title


def test_run_inserts_a_call_with_the_frame_that_fits_and_runs_it(notebook: Open) -> None:
    page = notebook(MENDED, "growth.wait();", OTHERS, "growth")
    run_all(page, 1, 2, 3)
    output = inspect(page, 4)
    take_picture(output, "result")
    output.get_by_role("button", name="Run", exact=True).click()
    expect(page.cell(2)).to_contain_text("growth.run(sales_2025)", use_inner_text=True)
    page.output(2).get_by_text("2025-01-01").locator("visible=true").first.wait_for(timeout=PATIENCE)


def test_a_figure_is_a_picture_with_a_link_that_saves_it(notebook: Open, reply: Reply) -> None:
    reply(picture)
    cell = '%%autocode picture -o "chart: Figure" -o "rows: int"\nA picture of @sales.'
    page = notebook(cell, "picture.wait();", "picture.run()")
    run_all(page, 1, 2, 3)
    output = page.output(3)
    shown = output.get_by_role("img", name="chart")
    shown.wait_for(timeout=PATIENCE)
    assert shown.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [300, 150]
    with page.page.expect_download() as saved:
        output.get_by_text("Save outputs-chart.png").click()
    assert saved.value.suggested_filename == "outputs-chart.png"
    take_picture(output, "figure")


@pytest.mark.own_kernel
def test_a_saved_notebook_shows_the_static_form(notebook: Open, lab: Lab) -> None:
    page = notebook(MENDED, "growth.wait();", "growth", "%autocode show growth")
    run_all(page, 1, 2)
    inspect(page, 3)
    inspect(page, 4)
    page.save()
    assert "widget-view" not in (lab.folder / page.name).read_text()
    end_kernel(page, lab)  # the next one knows nothing of the widget
    again = NotebookPage(page.page, lab, page.name)  # loads it anew
    for number in (3, 4):
        form = again.output(number).locator(".autocode-result")
        form.wait_for(timeout=PATIENCE)
        expect(form).to_contain_text("6 of 6 tests passed", use_inner_text=True)
        for part in ("History", "Attempts"):
            form.locator("summary", has_text=part).first.click()
        form.get_by_text("diff() is divided by the revenue of the same month").locator("visible=true").wait_for()
    assert "model not found" not in again.page.content() and "Loading widget" not in again.page.content()
    take_picture(again.output(3), "static")


def end_kernel(page: NotebookPage, lab: Lab) -> None:
    """Shut down the kernel of a notebook."""
    found = page.page.request.get(f"{lab.address}/api/sessions").json()
    (session,) = (session["id"] for session in found if session["path"] == page.name)
    cookies = {cookie["name"]: cookie["value"] for cookie in page.page.context.cookies()}
    answer = page.page.request.delete(
        f"{lab.address}/api/sessions/{session}", headers={"X-XSRFToken": cookies["_xsrf"]}
    )
    assert answer.ok, answer.text()
