"""A second opinion on the card: what runs while the function is used, and an error that it found."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import expect
from tests.browser.test_lab import wait_for_title
from tests.browser.test_panel import barriers, offer
from tests.engine import test_second_opinion as opinions
from tests.first_answers import joined
from tests.runner import CODE, MARKERS, PLAN, TESTS, fenced
from tests.scripted_model import Answer, prompt_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.local_sandbox,
    pytest.mark.usefixtures("extension"),
]

FEW = 'sales = pd.DataFrame({"price": [10.0, 20.0, 30.0], "quantity": [1, 2, 3]})'
TAKINGS = '%%autocode takings --second-opinion on --cache auto -o "total: float"\nTotal revenue of @sales.'
FOUND = "the second opinion found an error in version 1"


def test_a_function_is_used_while_its_second_opinion_runs_and_the_card_says_what_that_changed(
    notebook: Open, reply: Reply
) -> None:
    second, fixed = threading.Event(), threading.Event()

    def mended(request: dict[str, Any]) -> Answer:
        stage = next(stage for stage, marker in MARKERS.items() if marker in prompt_of(request))
        texts = {
            "code": joined(PLAN, fenced(opinions.WRONG)),
            "tests": fenced(TESTS),
            "second": fenced(opinions.AGREEING),
            "name": opinions.NO_READING[0],
            "fix_code": opinions.MENDED,
        }
        text = texts.get(stage) or opinions.hand_derived(request)
        return Answer(text, hold={"second": second, "fix_code": fixed}.get(stage))

    reply(mended)
    page = notebook(FEW, TAKINGS)
    page.run(1)
    page.run(2)
    wait_for_title(page, 2, "Ready")
    card = page.card(2)
    expect(card).to_contain_text("second opinion running", use_inner_text=True)
    expect(card).to_contain_text("total 110", use_inner_text=True)
    for label in ("Run", "Insert call", "Inspect"):
        expect(offer(page, 2, label)).to_be_visible()
    assert barriers(page, ".jp-AutocodeFollowed") == []

    second.set()
    wait_for_title(page, 2, "Fixing")
    expect(card).to_contain_text("takings.last_good is the last good one.", use_inner_text=True)
    expect(card).to_contain_text(FOUND, use_inner_text=True)
    expect(offer(page, 2, "Run")).to_be_hidden()
    assert barriers(page, ".jp-AutocodeFollowed") == []

    fixed.set()
    wait_for_title(page, 2, "Ready")
    expect(card).to_contain_text(FOUND, use_inner_text=True)
    expect(card).to_contain_text("total: 110 → 140", use_inner_text=True)
    expect(card).to_contain_text("It is a test now: test_second_opinion_1.")  # in the fold
    expect(card).not_to_contain_text("written from scratch", use_inner_text=True)
    assert barriers(page, ".jp-AutocodeFollowed") == []
    page.output(2).screenshot(path=ARTIFACTS / "changed_by_a_second_opinion.png")


def test_a_question_is_answered_beside_it_and_not_asked_again(notebook: Open, reply: Reply) -> None:
    texts = {
        "code": joined(PLAN, fenced(CODE)),
        "tests": fenced(TESTS),
        "second": fenced(opinions.OTHERWISE),
        "name": opinions.NAMED,
    }

    def told(request: dict[str, Any]) -> Answer:
        stage = next(stage for stage, marker in MARKERS.items() if marker in prompt_of(request))
        return Answer(texts.get(stage) or opinions.hand_derived(request))

    reply(told)
    page = notebook(FEW, TAKINGS.replace("takings", "earned"))  # another function than in the test above
    page.run(1)
    page.run(2)
    wait_for_title(page, 2, "Ready, with a question for you")
    card = page.card(2)
    first = card.locator("[data-autocode-refines]").first
    expect(first).to_contain_text("total would be 60 instead of 140", use_inner_text=True)
    expect(first.get_by_role("button", name="Use this reading")).to_be_visible()
    assert barriers(page, ".jp-AutocodeFollowed") == []
    page.output(2).screenshot(path=ARTIFACTS / "question.png")
    first.get_by_role("button", name="Keep it as it is").click()
    card.get_by_text("● Ready", exact=True).or_(card.get_by_text("● Ready, not fully checked")).wait_for()
    expect(card).to_contain_text("kept by you", use_inner_text=True)
    expect(card.get_by_role("button", name="Keep it as it is")).to_have_count(0)
    page.output(2).screenshot(path=ARTIFACTS / "question_answered.png")
    page.run(2)  # the same function on the same data
    expect(card).to_contain_text("kept: verified on", use_inner_text=True)
    expect(card).to_contain_text("kept by you", use_inner_text=True)
    expect(card).not_to_contain_text("with a question", use_inner_text=True)
