"""A cell with `--mode tools` in JupyterLab: the call of a tool with `ask=True` is allowed with the keyboard."""

from __future__ import annotations

import itertools

import pytest

from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import expect
from tests.browser.test_panel import use_theme

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("extension")]

PATIENCE = 60_000

TOOL = """\
import autocoder_jupyter

@autocoder_jupyter.tool(ask=True)
def remove(name: str) -> str:
    return name"""
ANSWER = """\
## Removed

- the **old** one, with `remove`
- see [the docs](https://example.org/docs)

| name | rows |
|---|---|
| old | 3 |

![pixel](https://example.org/pixel.png)"""
CELL = "%%autocode gone --mode tools --tool remove\nRemove the old one."


def test_a_call_that_asks_is_allowed_by_the_keyboard(notebook: Open, reply: Reply) -> None:
    answers = itertools.chain(["```python\nremove('old')\n```"], itertools.repeat(ANSWER))
    reply(lambda request: next(answers))
    opened = notebook(TOOL, CELL)
    page, card = opened.page, opened.card(2)
    opened.run(1)
    opened.run(2)
    page.set_viewport_size({"width": 1400, "height": 1000})
    asked = opened.output(2).get_by_text("May it call remove(name='old')?").filter(visible=True)
    asked.wait_for(timeout=PATIENCE)  # once, at its buttons
    page.screenshot(path=str(ARTIFACTS / "code-mode-asks.png"))
    for button in ("Approve", "Decline"):
        place, question = (
            one.bounding_box() for one in (opened.output(2).get_by_role("button", name=button, exact=True), asked)
        )
        assert place["x"] - question["x"] < 120 and 0 <= place["y"] - question["y"] - question["height"] < 20, button
    approve = page.get_by_role("button", name="Approve", exact=True).first
    expect(approve).to_be_enabled()
    approve.focus()
    page.keyboard.press("Enter")
    expect(card.get_by_text("● Ready")).to_have_count(1)
    expect(card.locator("li")).to_have_text(
        ["the old one, with remove", "see the docs (https://example.org/docs)"], use_inner_text=True
    )
    expect(card.locator("td")).to_have_text(["old", "3"])
    expect(card.get_by_text("[picture: pixel]")).to_have_count(1)
    assert card.locator("img, a").count() == 0
    for theme in ("Dark", "Light"):
        use_theme(opened, f"JupyterLab {theme}")
        card.scroll_into_view_if_needed()
        page.screenshot(path=str(ARTIFACTS / f"code-mode-ready-{theme.lower()}.png"))
