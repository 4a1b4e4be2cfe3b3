"""Claude as an agent, from the cell to card and inspector: the real SDK and its program, with scripted answers."""

from __future__ import annotations

import importlib.util

import pytest

from tests.browser.agent_scripts import CELL, FINDING, held_after
from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import expect
from tests.browser.test_inspector import inspect, open_tab, take_picture
from tests.browser.test_lab import PATIENCE, wait_for_title, wait_until_gone
from tests.browser.test_panel import barriers

pytestmark = [
    pytest.mark.browser,
    pytest.mark.local_sandbox,
    pytest.mark.usefixtures("extension"),
    pytest.mark.skipif(importlib.util.find_spec("claude_agent_sdk") is None, reason="the SDK is not installed"),
]


def test_what_an_agent_does_is_seen_on_the_card_and_in_the_inspector(notebook: Open, reply: Reply) -> None:
    release, script = held_after(FINDING)
    model = reply(script)
    page = notebook(f'%config Autocode.api_base = "{model.root}"', CELL, "growth")
    page.run(1)
    page.wait_for_prompt(1)
    page.run(2)
    page.output(2).get_by_text(FINDING).wait_for(timeout=PATIENCE)
    card = page.card(2)
    for words in ("turn 5 of 50", "backend: claude", "⊘ denied", "there is no network in the workspace", "✗ failed"):
        expect(card.get_by_text(words).first).to_be_visible()
    page.page.screenshot(path=ARTIFACTS / "agent_working.png")
    release.set()
    wait_for_title(page, 2, "Ready, not fully checked")
    warning = "Tests changed by the agent since it first wrote them: test_growth_is_over_the_month_before"
    calls = "7 calls: Bash 4, Write 2, Edit 1; 4 safe, 2 intercepted, 1 denied; 1 failed"
    for fold, words in (("Evidence", warning), ("History", calls)):
        card.locator("summary", has_text=fold).click()
        expect(card.get_by_text(words)).to_be_visible()
    assert barriers(page, ".autocode-card") == []
    page.page.screenshot(path=ARTIFACTS / "agent_ready.png")
    page.run(3)
    output = inspect(page, 3)
    open_tab(output, "History")
    take_picture(output, "trace")
    output.get_by_label("Show").select_option(label="denied (1)")
    wait_until_gone(output.locator(".autocode-inspector").get_by_text("ls data; head -3 data/sales.csv", exact=True))
    denied = output.get_by_role("list", name="Calls of turn").get_by_text("curl -s https://example.org/sales.csv")
    expect(denied).to_be_visible()
