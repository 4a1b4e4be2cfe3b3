"""How a function may be split: a quiet button of its card, which shows what is found, also in the inspector."""

from __future__ import annotations

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open
from tests.browser.lab import Lab, expect
from tests.browser.test_lab import wait_for_title

pytestmark = [
    pytest.mark.browser,
    pytest.mark.local_sandbox,
    pytest.mark.usefixtures("extension"),
]

OFFER = "Large tables: check how it may be split"
FOUND = "monthly: sales cannot be split"


def test_the_card_checks_how_a_function_may_be_split_and_shows_it(notebook: Open, lab: Lab) -> None:
    page = notebook(scripts.CELL, "growth")
    page.run(1)
    wait_for_title(page, 1, "Ready")
    check = page.output(1).get_by_role("button", name=OFFER)
    check.focus()
    page.page.keyboard.press("Enter")
    page.card(1).get_by_text(FOUND).wait_for(timeout=60_000)
    expect(check).to_have_count(0)
    page.page.screenshot(path=ARTIFACTS / "split_light.png")
    page.run(2)
    inspector = page.output(2)
    inspector.get_by_text(FOUND).wait_for()
    expect(inspector.get_by_role("button", name=OFFER)).to_be_hidden()
    page.save()
    assert FOUND in (lab.folder / page.name).read_text("utf-8"), "a saved notebook has it"
