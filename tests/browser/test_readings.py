"""A second opinion on the card: another interpretation, in numbers, which one click adds to the request."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import expect
from tests.browser.test_lab import wait_for_title
from tests.scripted_model import prompt_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.local_sandbox,
    pytest.mark.usefixtures("extension"),
]

CELL = scripts.CELL.replace("%%autocode growth", "%%autocode growth --second-opinion on")
LINE = "Growth compares the revenue per order of a month with that of the month before."
SECOND = scripts.MODULE.replace(
    "import pandas", '"""- growth is that of the mean order\n"""\n\nimport pandas', 1
).replace('monthly["revenue"].pct_change()', '(monthly["revenue"] / monthly["orders"]).pct_change()')
NAMED = {"readings": [{"assumption": 3, "words": "per order", "line": LINE}]}
DERIVED = {"derivation": "100, then 50", "sentence": "Monthly revenue growth", "decided": False, "values": []}


def answer(request: dict[str, Any]) -> str:
    prompt = prompt_of(request)
    if "You are an experienced analyst" in prompt:
        return scripts.fenced(SECOND)
    if "Two analysts answered one request" in prompt:
        return json.dumps(NAMED)
    if "You work out by hand what a function must return" in prompt:
        return json.dumps(DERIVED)
    if "You decide which tests of a function still hold" in prompt:
        return json.dumps({"choices": []})
    return scripts.answer(request)


def test_a_reading_is_shown_in_numbers_and_one_click_makes_it_a_line_of_the_request(
    notebook: Open, reply: Reply
) -> None:
    model = reply(answer)
    page = notebook(CELL)
    page.run(1)
    wait_for_title(page, 1, "Ready")
    card = page.card(1)
    card.get_by_text(re.compile(r"reading “per order”, .* would ")).wait_for()
    expect(card.get_by_text("It depends on: Growth compares with the month kept before")).to_be_visible()
    page.page.screenshot(path=ARTIFACTS / "a_reading.png")
    use = card.get_by_role("button", name="Use this reading")
    use.focus()
    page.page.keyboard.press("Enter")
    added = page.cell(2).locator(".cm-content")
    added.filter(has_text=f"--refine{LINE}").wait_for()
    model.wait_for_requests(len(model.requests) + 1)
    page.card(2).wait_for()
    expect(page.card(2).get_by_text(LINE).first).to_be_visible()
