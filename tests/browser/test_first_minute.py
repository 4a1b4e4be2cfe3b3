"""The first run: a card asks which model if there is no key, what it costs, and what to do if it says nothing."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import Lab, NotebookPage, expect
from tests.browser.test_panel import barriers, offer, use_theme
from tests.scripted_model import Answer

pytestmark = [pytest.mark.browser, pytest.mark.local_sandbox, pytest.mark.usefixtures("extension")]

PATIENCE = 60_000
KEY = "sk-typed-in-the-browser"


def in_both_themes_and_widths(page: NotebookPage, name: str) -> None:
    """Save pictures, and look for barriers."""
    ARTIFACTS.mkdir(exist_ok=True)
    for width in (1400, 700):
        page.page.set_viewport_size({"width": width, "height": 1000})
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            use_theme(page, theme)
            page.output(2).screenshot(path=ARTIFACTS / f"{name}_{width}_{theme.split()[1].lower()}.png")
    use_theme(page, "JupyterLab Light")
    page.page.set_viewport_size({"width": 1400, "height": 1000})
    assert barriers(page, ".jp-AutocodeFollowed") == []


@pytest.mark.own_kernel  # a key stays in it
def test_a_key_is_typed_into_the_card_and_is_in_no_file(notebook: Open, lab: Lab, reply: Reply) -> None:
    def answer(request: dict[str, Any]) -> str:
        return "ready" if "single word" in str(request["messages"]) else scripts.answer(request)

    model = reply(answer)
    page = notebook("%config Autocode.api_key = 'NO_SUCH_VARIABLE'", scripts.CELL)
    page.run(1)
    page.wait_for_prompt(1)
    page.run(2)
    page.card(2).get_by_text("● Which model?", exact=True).wait_for(timeout=PATIENCE)
    form = page.output(2).get_by_role("form", name="Which model?")
    try:
        expect(form.get_by_label("Model", exact=True)).to_have_value("openai/scripted")
        expect(page.card(2).get_by_text("%autocode setup", exact=True)).to_be_hidden()
        key = form.get_by_label("Key", exact=True)
        expect(key).to_have_attribute("type", "password")
        in_both_themes_and_widths(page, "which_model")
        key.click()
        page.page.keyboard.type(KEY)  # letters that are shortcuts of the notebook
        page.page.keyboard.press("Enter")
        form.get_by_role("status").get_by_text("✓ openai/scripted answers (").wait_for(timeout=PATIENCE)
        expect(key).to_have_value("")
        assert model.headers[-1]["authorization"] == f"Bearer {KEY}"
        in_both_themes_and_widths(page, "which_model_answers")
        form.get_by_role("button", name="Run the cell").click()
        page.card(2).get_by_text("● Ready", exact=False).first.wait_for(timeout=PATIENCE)
        assert form.count() == 0
        assert model.headers[-1]["authorization"] == f"Bearer {KEY}"
        page.save()
        saved = json.loads((lab.folder / page.name).read_text())
        assert len(saved["cells"]) == 3
        places = [*lab.folder.parent.rglob("*"), *ARTIFACTS.glob("*.log")]
        assert [place for place in places if place.is_file() and KEY.encode() in place.read_bytes()] == []
        assert KEY not in page.page.content()
    finally:
        lab.use_settings("autocoder-jupyter/plugin", {})


@pytest.mark.own_kernel  # the time is set in it
def test_a_model_that_says_nothing_is_asked_again_or_another_one_is_chosen(notebook: Open, reply: Reply) -> None:
    release, asked = threading.Event(), []

    def answer(request: dict[str, Any]) -> Answer:
        asked.append(request)
        return Answer(scripts.answer(request), hold=release)

    model = reply(answer)
    page = notebook("from autocoder_jupyter.models import silence; silence.SILENT_SECONDS = 2", scripts.CELL)
    page.run(1)
    page.wait_for_prompt(1)
    before = len(model.requests)
    page.run(2)
    card = page.card(2)
    try:
        waiting = card.get_by_role("button", name="Wait")
        waiting.click(timeout=PATIENCE)
        waiting.wait_for(state="hidden", timeout=PATIENCE)  # the buttons of this question are gone
        model.wait_for_requests(before + 1)  # one that is not sent yet could not be cut off
        hang_ups = model.hang_ups
        card.get_by_role("button", name="Try again").click(timeout=PATIENCE)
        model.wait_for_hang_ups(hang_ups + 1)
        another = card.get_by_role("button", name="Another model")
        another.wait_for(timeout=PATIENCE)
        expect(card.get_by_text("%autocode reply growth")).to_be_hidden()  # the buttons do it
        assert len(asked) == 2 and barriers(page, ".jp-AutocodeFollowed") == []
        page.output(2).screenshot(path=ARTIFACTS / "no_answer_yet.png")
        another.click()
        card.get_by_text("● Which model?", exact=True).wait_for(timeout=PATIENCE)
        expect(page.output(2).get_by_role("form", name="Which model?")).to_be_visible()
        assert len(asked) == 2
    finally:
        release.set()


@pytest.mark.own_kernel  # a price stays in it
def test_a_limit_in_dollars_asks_for_a_price_that_is_not_known(notebook: Open) -> None:
    page = notebook(scripts.CELL.replace("growth", "growth --max-cost 1", 1))
    page.run(1)
    page.card(1).get_by_text("● What does it cost?", exact=True).wait_for(timeout=PATIENCE)
    expect(page.card(1).get_by_text("If it is free: ")).to_be_hidden()
    expect(offer(page, 1, "Set a price")).to_be_visible()
    assert barriers(page, ".jp-AutocodeFollowed") == []
    offer(page, 1, "It is free").click()
    page.card(1).get_by_text("● Ready", exact=False).first.wait_for(timeout=PATIENCE)
    expect(page.card(1).locator(".autocode-head")).to_contain_text("$0", use_inner_text=True)
