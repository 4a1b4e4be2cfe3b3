"""What a person sees and clicks in JupyterLab."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.browser import plays
from tests.browser.conftest import Open, Play
from tests.browser.lab import Lab, NotebookPage
from tests.scripted_model import Answer

pytestmark = [pytest.mark.browser, pytest.mark.local_sandbox]

PATIENCE = 60_000


def holding(stage: str) -> tuple[threading.Event, Any]:
    """The usual answers, but this stage's waits for the event."""
    release = threading.Event()
    marker = next(marker for marker, name in plays.STAGES.items() if name == stage)

    def script(request: dict[str, Any]) -> Answer:
        held = release if marker in json.dumps(request["messages"]) else None
        return Answer(plays.answer(request), hold=held)

    return release, script


def wait_for_title(page: NotebookPage, number: int, title: str) -> None:
    page.card(number).get_by_text(f"● {title}", exact=True).wait_for(timeout=PATIENCE)


def top(page: NotebookPage, number: int, words: str) -> float:
    """Where on the card a word stands, in pixels below the card's upper edge; measured in one go."""
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
    """How far the notebook is scrolled, in pixels."""
    return float(page.page.locator(".jp-WindowedPanel-outer").first.evaluate("panel => panel.scrollTop"))


def test_the_card_follows_the_stages_without_jumping(notebook: Open, play: Play) -> None:
    release, script = holding("plan")
    play(script)
    page = notebook(plays.CELL)
    page.run(1)
    wait_for_title(page, 1, "Planning")
    before = (
        top(page, 1, "Environment"),
        scrolled(page),
    )
    release.set()
    wait_for_title(page, 1, "Ready")
    after = (
        top(page, 1, "Environment"),
        scrolled(page),
    )
    assert after == before
    text = page.card(1).inner_text()
    assert "6 of 6 tests passed" in text
    assert "A month is the calendar month of order_date." in text
    assert "two runs agree" in text and "revenue is never negative" in text


def test_what_a_person_opened_stays_open_while_the_model_writes(notebook: Open, play: Play) -> None:
    release, script = holding("code")
    play(script)
    page = notebook(plays.CELL)
    page.run(1)
    wait_for_title(page, 1, "Writing code and tests")
    page.card(1).get_by_text("✓ Tests").wait_for(timeout=PATIENCE)
    page.page.wait_for_timeout(500)  # the last update of that event
    page.card(1).locator("summary", has_text="Plan").click()
    page.page.wait_for_timeout(2500)  # more than two ticks of the clock
    assert page.card(1).get_by_text("Add up revenue by calendar month").is_visible()
    release.set()
    wait_for_title(page, 1, "Ready")


def test_the_kernel_is_free_and_cancel_works_by_a_click(notebook: Open, play: Play) -> None:
    release, script = holding("code")
    model = play(script)
    model.hung_up.clear()
    page = notebook(plays.CELL, "1 + 1")
    page.run(1)
    wait_for_title(page, 1, "Writing code and tests")
    page.run(2)
    page.output(2).get_by_text("2").wait_for(timeout=5_000)
    page.output(1).get_by_role("button", name="Cancel").click()
    wait_for_title(page, 1, "Cancelled")
    assert model.hung_up.wait(10)
    assert page.output(1).locator(".jupyter-widgets").count() == 0
    release.set()


@pytest.mark.parametrize("button", ["Approve", "Decline"])
def test_a_package_is_allowed_or_refused_by_a_click(notebook: Open, button: str) -> None:
    page = notebook(f"{plays.CELL} Ask first.")
    page.run(1)
    wait_for_title(page, 1, "Waiting for approval")
    assert "May it install fiscalmonths?" in page.card(1).inner_text()
    page.output(1).get_by_role("button", name=button).click()
    wait_for_title(page, 1, "Ready")
    page.card(1).locator("summary", has_text="Log").click()
    said = {"Approve": "approved: fiscalmonths", "Decline": "declined: fiscalmonths"}[button]
    assert said in page.card(1).inner_text()


def test_an_interrupt_lets_go_of_the_waiting_cell_only(notebook: Open, play: Play) -> None:
    release, script = holding("code")
    play(script)
    page = notebook(plays.CELL, "growth.wait()", "growth.state")
    page.run(1)
    wait_for_title(page, 1, "Writing code and tests")
    page.run(2)
    page.page.keyboard.press("Escape")
    page.cell(2).locator(".jp-InputPrompt", has_text="[*]").wait_for(timeout=10_000)
    page.page.keyboard.press("i")
    page.page.keyboard.press("i")
    page.output(2).get_by_text("KeyboardInterrupt").first.wait_for(timeout=10_000)
    page.run(3)
    page.output(3).get_by_text("running").wait_for(timeout=10_000)
    release.set()
    wait_for_title(page, 1, "Ready")


def test_a_failure_shows_the_test_and_what_it_says(notebook: Open) -> None:
    page = notebook(f"{plays.CELL} Never right.")
    page.run(1)
    wait_for_title(page, 1, "Failed")
    text = page.card(1).inner_text()
    assert "test_growth_is_over_the_month_before" in text
    assert "== 0.5" in text
    assert "✗ Run" in text


def test_a_saved_notebook_shows_the_card_and_no_remains_of_widgets(notebook: Open, lab: Lab) -> None:
    page = notebook(plays.CELL, "growth")
    page.run(1)
    wait_for_title(page, 1, "Ready")
    page.run(2)
    page.output(2).locator(".autocode-result").wait_for(timeout=PATIENCE)
    height = page.output(1).bounding_box()["height"]
    page.save()
    assert "widget-view" not in (lab.folder / page.name).read_text()
    again = NotebookPage(page.page.context.new_page(), lab, page.name)
    wait_for_title(again, 1, "Ready")
    assert again.output(1).bounding_box()["height"] == pytest.approx(height, abs=12)
    assert "model not found" not in again.page.content() and "Loading widget" not in again.page.content()
    again.output(2).locator(".autocode-result").wait_for()
