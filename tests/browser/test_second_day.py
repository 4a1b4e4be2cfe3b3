"""Features after the first success: questions before the code, another assumption, an own edit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import expect
from tests.browser.test_panel import barriers, in_focus, press_tab_until, unfold
from tests.first_answers import joined
from tests.scripted_model import prompt_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.local_sandbox,
    pytest.mark.usefixtures("extension"),
]

PATIENCE = 90_000

ASSUMPTION = "Orders without a revenue count as orders, with a revenue of 0."
INSTEAD = "Orders without a revenue are left out."
QUESTIONS = [
    {"text": "What is a month?", "options": ["calendar month of order_date", "30 days"], "assumed": "30 days"},
    {"text": "Which growth?", "options": ["over the month before", "year on year"], "assumed": "over the month before"},
]
MODULE = scripts.MODULE.replace('sales.assign(revenue=sales["revenue"].fillna(0.0))', 'sales.dropna(subset="revenue")')
FURTHER = '''\
from solution import run


def test_orders_without_a_revenue_are_left_out():
    """Orders without a revenue are left out."""
    frame = orders(m01=[10, 20, 30], m02=[60])
    frame.loc[0, "revenue"] = None
    assert run(sales=frame, min_orders=1)[0]["orders"].tolist() == [2, 1]
'''


def answer(request: dict[str, Any]) -> str:
    """The usual answers, with questions if the request asks for them, and the answers for a change (`--refine`)."""
    prompt = prompt_of(request)
    if "You decide which tests of a function remain valid" in prompt:
        return json.dumps({"verdicts": []})
    stage = next(stage for marker, stage in scripts.STAGES.items() if marker in prompt)
    plan = json.loads(scripts.PLAN)
    if "up to three questions" in prompt:
        return joined(json.dumps({**plan, "questions": QUESTIONS}), scripts.fenced(scripts.MODULE))
    if "<wishes>" in prompt:
        assumptions = [INSTEAD if line == ASSUMPTION else line for line in plan["assumptions"]]
        return {
            "code": joined(json.dumps({**plan, "assumptions": assumptions}), scripts.fenced(MODULE)),
            "tests": scripts.fenced(FURTHER),
        }.get(stage) or scripts.answer(request)
    return scripts.answer(request)


def test_questions_are_answered_an_assumption_is_changed_and_an_edit_is_tested(notebook: Open, reply: Reply) -> None:
    model = reply(answer)
    page = notebook(scripts.CELL.replace("growth -o", "growth --ask -o"), "growth")
    keyboard = page.page.keyboard
    page.run(1)

    strip = page.output(1).locator(".autocode-questions")
    strip.get_by_text("1. What is a month?").wait_for(timeout=PATIENCE)
    assert strip.get_by_label("30 days").is_checked()
    page.output(1).screenshot(path=ARTIFACTS / "second-day-questions.png")
    expect(page.card(1).get_by_text("1. What is a month?")).to_be_hidden()  # the form asks it
    assert barriers(page, ".autocode-questions", ".autocode-card") == []
    page.cell(1).locator(".jp-InputPrompt").click()
    press_tab_until(page, "it.type === 'radio' && it.closest('label').innerText === '30 days'")
    keyboard.press("ArrowUp")  # the notebook would go to another cell
    expect(strip.get_by_label("calendar month of order_date")).to_be_checked()
    press_tab_until(page, "it.innerText === 'Answer'")
    keyboard.press("Enter")
    in_focus(page, "it.matches('.jp-Cell.jp-mod-active')")
    card = page.card(1)
    card.get_by_text("● Ready").wait_for(timeout=PATIENCE)
    expect(card).to_contain_text("What is a month? calendar month of order_date", use_inner_text=True)
    assert "Which growth? over the month before" in prompt_of(model.requests[-1])

    line = card.locator("span", has_text=ASSUMPTION).last
    line.get_by_role("button", name="Change").focus()
    keyboard.press("Enter")
    keyboard.type(INSTEAD)
    page.output(1).screenshot(path=ARTIFACTS / "second-day-change.png")
    keyboard.press("Enter")
    page.cell(2).get_by_text("--refine").wait_for()
    refined = page.card(2)
    refined.get_by_text("● Ready").wait_for(timeout=PATIENCE)
    shown = refined.inner_text()
    assert f'Instead of "{ASSUMPTION}": {INSTEAD}' in shown
    assert "6 earlier tests kept" in shown and "monthly, best_month: as before" in shown
    page.output(2).screenshot(path=ARTIFACTS / "second-day-refined.png")

    page.run(3)
    inspector = page.output(3)
    inspector.get_by_role("button", name="Edit", exact=True).click(timeout=PATIENCE)
    asked = len(model.requests)
    code = page.page.get_by_role("region", name="Code of growth")
    code.locator(".cm-content").click()
    keyboard.press("Control+Home")
    keyboard.insert_text("# by me\n")
    page.page.get_by_role("tab", name="growth – code").locator("..").locator(".jp-mod-dirty").wait_for(timeout=PATIENCE)
    page.page.screenshot(path=ARTIFACTS / "second-day-editing.png")
    page.page.get_by_role("button", name="Test it").click()
    edited = page.card(2)
    expect(edited).to_contain_text("edited by you", use_inner_text=True, timeout=PATIENCE)
    edited.get_by_text("● Ready").wait_for(timeout=PATIENCE)
    assert len(model.requests) == asked
    page.page.screenshot(path=ARTIFACTS / "second-day-edited.png")


def test_new_rows_keep_the_function_and_the_panel_restores_a_version(notebook: Open, reply: Reply) -> None:
    model = reply(answer)
    cell = scripts.CELL.replace("growth -o", "daily --cache auto -o")
    further = "sales = pd.concat([sales, sales.tail(1)], ignore_index=True)"
    page = notebook(cell, further, cell, cell.replace("--cache auto", "--refresh"))
    page.run(1)
    page.card(1).get_by_text("● Ready").wait_for(timeout=PATIENCE)

    asked = len(model.requests)
    page.run(2)
    page.run(3)
    page.card(3).get_by_text("● Ready").wait_for(timeout=PATIENCE)
    expect(page.card(3)).to_contain_text("kept: verified on", use_inner_text=True)
    assert len(model.requests) == asked
    page.output(3).screenshot(path=ARTIFACTS / "second-day-kept.png")

    page.run(4)
    page.card(4).get_by_text("● Ready").wait_for(timeout=PATIENCE)
    assert len(model.requests) > asked
    versions = unfold(page, "daily").locator(".jp-AutocodePanel-versions")
    versions.locator("summary").click()
    versions.get_by_text("ready, not fully checked · current").wait_for(timeout=PATIENCE)
    assert barriers(page, ".jp-AutocodePanel") == []
    versions.get_by_role("button", name="Restore version 1 of daily").click()
    versions.get_by_text("daily is version 1 again").wait_for(timeout=PATIENCE)
    versions.get_by_role("button", name="Restore version 2 of daily").wait_for(timeout=PATIENCE)
    page.page.screenshot(path=ARTIFACTS / "second-day-versions.png")
