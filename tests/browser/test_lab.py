"""What a user sees and clicks in JupyterLab."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import Lab, NotebookPage, expect
from tests.browser.scripts import holding
from tests.browser.test_panel import barriers
from tests.scripted_model import Answer

pytestmark = [pytest.mark.browser, pytest.mark.local_sandbox]

PATIENCE = 60_000


def wait_for_title(page: NotebookPage, number: int, title: str) -> None:
    """Wait for a title on a card; "Ready" is the beginning of three."""
    page.card(number).get_by_text(re.compile(f"^● {title}(,|$)")).wait_for(timeout=PATIENCE)


def wait_until_gone(found: Any) -> None:
    found.first.wait_for(state="detached", timeout=PATIENCE)


def top(page: NotebookPage, number: int, words: str) -> float:
    """The position of a word on the card, in pixels from the card's top, measured in one script."""
    return float(
        page.output(number).evaluate(
            """(output, words) => {
                const card = output.querySelector(".autocode-card");
                const named = [...card.querySelectorAll("span")].find(span => span.textContent.includes(words));
                return named.getBoundingClientRect().top - card.getBoundingClientRect().top;
            }""",
            words,
        )
    )


def scrolled(page: NotebookPage) -> float:
    """The scroll position of the notebook, in pixels."""
    return float(page.page.locator(".jp-WindowedPanel-outer").first.evaluate("panel => panel.scrollTop"))


def the_beat_stops_for_who_wants_no_motion(page: NotebookPage) -> None:
    moves = """name => {
        const beat = document.querySelector(".autocode-beat");
        return beat && getComputedStyle(beat).animationName === name;
    }"""
    page.page.emulate_media(reduced_motion="no-preference")
    page.page.wait_for_function(moves, arg="autocode-beat", timeout=PATIENCE)
    page.page.emulate_media(reduced_motion="reduce")
    page.page.wait_for_function(moves, arg="none", timeout=PATIENCE)


def test_the_card_follows_the_stages_without_jumping_and_its_beat_stops_on_request(
    notebook: Open, reply: Reply
) -> None:
    planned, tested, script = holding("plan", "tests")
    reply(script)
    page = notebook(scripts.CELL)
    page.run(1)
    wait_for_title(page, 1, "Planning")
    the_beat_stops_for_who_wants_no_motion(page)
    before = top(page, 1, "Environment"), scrolled(page)
    planned.set()
    wait_for_title(page, 1, "Writing code and tests")
    assert (top(page, 1, "Environment"), scrolled(page)) == before
    tested.set()
    wait_for_title(page, 1, "Ready")
    assert scrolled(page) == before[1]
    text = page.card(1).inner_text()
    assert "6 of 6 tests passed" in text
    assert "A month is the calendar month of order_date." in text
    assert "your check" in text and "two runs agree" not in text
    page.card(1).locator("summary", has_text="Evidence").click()
    expect(page.card(1)).to_contain_text("revenue is never negative", use_inner_text=True)


SLOW_TESTS = scripts.TESTS.replace("import pandas as pd\n", "import time\n\nimport pandas as pd\n", 1).replace(
    "    monthly, _ = run(sales=orders(m01=[1] * 5, m02",
    "    time.sleep(4)\n    monthly, _ = run(sales=orders(m01=[1] * 5, m02",
)
"""The fourth of six tests takes some seconds."""


def in_the_middle_of_all() -> tuple[threading.Event, threading.Event, Any]:
    """The usual answers, with slow tests. The plan stops in its middle until the first event, code and tests until the
    second."""
    plan, release = threading.Event(), threading.Event()

    def script(request: dict[str, Any]) -> Answer:
        prompt = json.dumps(request["messages"])
        stage = next(name for marker, name in scripts.STAGES.items() if marker in prompt)
        if stage == "code":
            return scripts.held_first(scripts.answer(request), plan=plan, code=release, piece=20)
        text = scripts.fenced(SLOW_TESTS) if stage == "tests" else scripts.answer(request)
        return Answer(text, hold=release if stage == "tests" else None, hold_after=len(text) // 2, piece=20)

    return plan, release, script


def pane(page: NotebookPage, number: int) -> Any:
    """The live part of the strip below a running card."""
    return page.output(number).locator(".autocode-live")


def height_without_buttons(page: NotebookPage, number: int) -> float:
    """The height of an output, without our buttons below the card, which come when the page follows the job."""
    page.page.add_style_tag(content=".jp-AutocodeStrip { display: none !important }")
    return float(page.output(number).bounding_box()["height"])


def strip_shape(page: NotebookPage, number: int) -> dict[str, float]:
    """The height of the live part, its distance from the card, and the position of Cancel, in pixels, in one script.

    With our lab extension, Cancel is in the card's head; without it, below the card.
    """
    return dict(
        page.output(number).evaluate(
            """output => {
                const box = selector => output.querySelector(selector).getBoundingClientRect();
                const { top, bottom } = box(".autocode-card");
                const inHead = output.querySelector(".jp-AutocodeStrip-head button");
                return {
                    height: box(".autocode-live").height,
                    pane: box(".autocode-live").top - bottom,
                    button: inHead ? inHead.getBoundingClientRect().top - top : box(".jupyter-button").top - bottom,
                };
            }"""
        )
    )


def test_a_person_sees_the_model_write_and_every_test_report(notebook: Open, reply: Reply) -> None:
    plan, release, script = in_the_middle_of_all()
    reply(script)
    page = notebook(scripts.CELL)
    page.run(1)
    live = pane(page, 1)
    now = page.output(1).locator(".autocode-now")
    now.get_by_text("Planning").wait_for(timeout=PATIENCE)
    live.get_by_text("first day of the month").first.wait_for(timeout=PATIENCE)
    before = strip_shape(page, 1)
    plan.set()
    live.get_by_text(".groupby(month)").wait_for(timeout=PATIENCE)
    now.get_by_text("Writing code and tests").wait_for(timeout=PATIENCE)
    page.output(1).get_by_role("button", name="Tests", exact=True).click()
    live.get_by_text("run(sales=orders(m01=[40, 60]").wait_for(timeout=PATIENCE)
    expect(live.get_by_text(".groupby(month)")).to_be_hidden()
    now.get_by_text("last update").wait_for(timeout=PATIENCE)  # and the clock goes on
    assert strip_shape(page, 1) == before
    assert before["height"] < page.page.viewport_size["height"] / 3
    page.page.screenshot(path=ARTIFACTS / "card_writing.png")
    scroll = scrolled(page)  # the notebook has brought the cell of the click into view
    release.set()
    now.get_by_text("3 of 6 tests reported").wait_for(timeout=PATIENCE)
    shown = live.inner_text()
    assert "✓ test_each_month_has_one_row_in_order" in shown
    assert "◐ test_months_with_few_orders_are_skipped" in shown
    assert "○ test_the_best_month_grew_most" in shown
    assert (strip_shape(page, 1), scrolled(page)) == (before, scroll)
    page.page.screenshot(path=ARTIFACTS / "card_testing.png")
    wait_for_title(page, 1, "Ready")


def test_what_a_person_reads_further_down_stays_where_it_is(notebook: Open, reply: Reply) -> None:
    release, script = holding("code")
    reply(script)
    below = [f"# {number}\n" + "\n".join(f"x = {line}" for line in range(12)) for number in range(8)]
    page = notebook(scripts.CELL, *below)
    page.run(1)
    wait_for_title(page, 1, "Writing code and tests")
    page.cell(8).scroll_into_view_if_needed()
    page.page.wait_for_timeout(500)
    assert page.output(1).bounding_box()["y"] + page.output(1).bounding_box()["height"] < 0
    before = page.cell(7).bounding_box()["y"]
    release.set()
    page.card(1).get_by_text(re.compile("^● Ready")).wait_for(state="attached", timeout=PATIENCE)
    page.page.wait_for_timeout(1000)
    wait_until_gone(page.output(1).locator(".jupyter-widgets"))
    assert page.cell(7).bounding_box()["y"] == pytest.approx(before, abs=2)


def test_notebook_7_shows_the_card_and_the_strip(notebook: Open, reply: Reply) -> None:
    planned, release, script = in_the_middle_of_all()
    planned.set()
    reply(script)
    page = notebook(f"{scripts.CELL} Ask first.", "growth.run()", view="notebooks")
    page.page.set_viewport_size({"width": 1100, "height": 1250})
    page.run(1)
    pane(page, 1).get_by_text(".groupby(month)").wait_for(timeout=PATIENCE)
    before = strip_shape(page, 1)
    page.page.screenshot(path=ARTIFACTS / "notebook_7_writing.png")
    release.set()
    wait_for_title(page, 1, "Waiting for approval")
    page.output(1).locator(".autocode-now").get_by_text("· waiting for ").wait_for(timeout=PATIENCE)
    asking = strip_shape(page, 1)
    assert asking["pane"] > before["pane"]  # the buttons of the question stand between the card and the live part
    assert asking == {**before, "pane": asking["pane"], "height": 0}  # nothing is written while it asks
    page.page.screenshot(path=ARTIFACTS / "notebook_7_waiting.png")
    page.output(1).get_by_role("button", name="Decline").click()
    wait_for_title(page, 1, "Ready")
    page.card(1).locator("summary", has_text="History").click()
    expect(page.card(1)).to_contain_text("declined: fiscalmonths", use_inner_text=True)
    wait_until_gone(page.output(1).locator(".jupyter-widgets"))
    page.run(2)
    page.output(2).locator(".autocode-outputs").get_by_text("best_month").wait_for(timeout=PATIENCE)
    page.page.screenshot(path=ARTIFACTS / "notebook_7_ready.png")


def test_what_a_person_opened_stays_open_while_the_model_writes(notebook: Open, reply: Reply) -> None:
    release, script = holding("code")
    reply(script)
    page = notebook(scripts.CELL)
    page.run(1)
    wait_for_title(page, 1, "Writing code and tests")
    page.card(1).get_by_text("✓ Tests").wait_for(timeout=PATIENCE)
    page.page.wait_for_timeout(500)  # the last update of that event
    page.card(1).locator("summary", has_text="Code").click()
    page.page.wait_for_timeout(2500)  # more than two ticks of the clock
    expect(page.card(1).get_by_text("Revenue a month, its growth over the month before")).to_be_visible()
    release.set()
    wait_for_title(page, 1, "Ready")


def test_the_kernel_is_free_and_cancel_works_by_a_click(notebook: Open, reply: Reply) -> None:
    release, script = holding("code")
    model = reply(script)
    model.hung_up.clear()
    page = notebook(scripts.CELL, "1 + 1")
    page.run(1)
    wait_for_title(page, 1, "Writing code and tests")
    page.run(2)
    page.output(2).get_by_text("2", exact=True).wait_for(timeout=PATIENCE)
    page.output(1).get_by_role("button", name="Cancel").click()
    wait_for_title(page, 1, "Cancelled")
    assert model.hung_up.wait(60)
    wait_until_gone(page.output(1).locator(".jupyter-widgets"))
    release.set()


def test_a_package_is_allowed_by_a_click(notebook: Open) -> None:
    page = notebook(f"{scripts.CELL} Ask first.")
    page.run(1)
    wait_for_title(page, 1, "Waiting for approval")
    question = page.output(1).get_by_text("May it install fiscalmonths?").filter(visible=True)
    expect(question).to_have_count(1)  # at the buttons, and no longer on the card
    expect(page.output(1).locator(".autocode-strip")).to_contain_text("is not in the list of known packages")
    expect(page.card(1).get_by_text("%autocode reply growth yes")).to_be_hidden()  # there are buttons
    page.page.set_viewport_size({"width": 400, "height": 900})
    expect(page.page.locator("body")).to_have_js_property("clientWidth", 400)
    live, asked = page.output(1).locator(".autocode-live"), page.output(1).get_by_role("button", name="Approve")
    window, place, card = live.bounding_box(), asked.bounding_box(), page.card(1).bounding_box()
    assert place["y"] + place["height"] <= window["y"], "the button covers the window"
    assert window["x"] + window["width"] <= card["x"] + card["width"], "the window is cut"
    assert barriers(page, ".jp-AutocodeFollowed", ".autocode-live", ".jupyter-button") == []
    asked.click()
    wait_for_title(page, 1, "Ready")
    page.card(1).locator("summary", has_text="History").click()
    expect(page.card(1)).to_contain_text("approved: fiscalmonths", use_inner_text=True)


def test_an_interrupt_lets_go_of_the_waiting_cell_only(notebook: Open, reply: Reply) -> None:
    release, script = holding("code")
    reply(script)
    page = notebook(scripts.CELL, "growth.wait()", "growth.state")
    page.run(1)
    wait_for_title(page, 1, "Writing code and tests")
    page.run(2)
    page.page.keyboard.press("Escape")
    line = page.output(2).locator(".autocode-wait")
    line.get_by_text("interrupt to stop waiting, it goes on").wait_for(timeout=PATIENCE)
    page.page.screenshot(path=ARTIFACTS / "waiting_line.png")
    page.page.keyboard.press("i")
    page.page.keyboard.press("i")
    page.output(2).get_by_text("KeyboardInterrupt").first.wait_for(timeout=PATIENCE)
    page.wait_for_prompt(2)
    wait_until_gone(line)
    page.run(3)
    page.output(3).get_by_text("running").wait_for(timeout=PATIENCE)
    release.set()
    wait_for_title(page, 1, "Ready")


def test_a_saved_notebook_shows_the_card_and_no_remains_of_widgets(notebook: Open, lab: Lab, reply: Reply) -> None:
    def in_dollars(request: dict[str, Any]) -> str:
        return scripts.answer(request).replace("A month is the calendar", "Between $5 and $6, a month is the calendar")

    reply(in_dollars)
    page = notebook(scripts.CELL)
    page.run(1)
    wait_for_title(page, 1, "Ready")
    wait_until_gone(page.output(1).locator(".jupyter-widgets"))
    height = height_without_buttons(page, 1)
    page.save()
    assert "widget-view" not in (lab.folder / page.name).read_text()
    again = NotebookPage(page.page.context.new_page(), lab, page.name)
    wait_for_title(again, 1, "Ready")
    assert height_without_buttons(again, 1) == pytest.approx(height, abs=12)
    assert "model not found" not in again.page.content() and "Loading widget" not in again.page.content()
    again.page.wait_for_timeout(1000)  # MathJax would have found a formula
    for shown in (page, again):
        assert "Between $5 and $6, a month" in shown.card(1).inner_text()
        expect(shown.card(1).locator("mjx-container")).to_have_count(0)
