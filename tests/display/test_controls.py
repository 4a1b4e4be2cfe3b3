from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from autocoder_jupyter.display.actions import ASKED
from autocoder_jupyter.display.controls import SEEN_SECONDS, Controls
from autocoder_jupyter.display.live import UPDATE_SECONDS, LiveCard, card_html
from autocoder_jupyter.display.strip import LAST_HTML
from autocoder_jupyter.run.events import Finished, SampleOutputs, StageStarted, TextStreamed
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types import PlanQuestion
from autocoder_jupyter.types.records import Glimpse


class Job:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def cancel(self) -> None:
        self.asked.append("cancel")

    def approve(self, question: str = "") -> bool:
        self.asked.append(f"approve {question}")
        return True

    def decline(self, question: str = "") -> bool:
        self.asked.append(f"decline {question}")
        return True

    def answer(self, answers: Sequence[str]) -> bool:
        self.asked.append(f"answer {list(answers)}")
        return True


STATE = FunctionRun("growth")


def messages(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Records what widgets send to the front end from now on."""
    from ipywidgets.widgets.widget import Widget

    sent: list[Any] = []
    monkeypatch.setattr(Widget, "_send", lambda self, message, buffers=None: sent.append(message))
    return sent


def labels(strip: Controls) -> list[str]:
    shown = [*strip._box.children[1:], *(strip._decisions if strip._consent in strip._strip.children else ())]
    return [button.description for button in shown]


def test_buttons_ask_the_job_and_nothing_else() -> None:
    job = Job()
    strip = Controls(job, STATE)
    strip(replace(STATE, phase="waiting", approval=("x", "y")))
    for button in (strip._cancel, *strip._decisions):
        button.click()
    assert job.asked == ["cancel", "approve x, y", "decline x, y"]


def test_the_second_click_of_a_double_click_does_not_answer_the_next_question(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("autocoder_jupyter.display.controls.time.monotonic", lambda: now[0])
    job = Job()
    strip = Controls(job, STATE)
    first, second = (replace(STATE, phase="waiting", approval=(name,)) for name in "ab")
    strip(first)
    approve, _ = strip._decisions
    assert approve.disabled
    now[0] += SEEN_SECONDS
    strip(first)
    assert not approve.disabled
    strip(second)
    approve.click()  # the page had not heard of the second question yet
    assert job.asked == ["approve a"] and approve.comm is None
    assert all(button.disabled for button in strip._decisions)


def test_approve_and_decline_are_there_while_they_are_needed() -> None:
    strip = Controls(Job(), STATE)
    assert labels(strip) == ["Cancel"]
    strip(replace(STATE, phase="waiting", approval=("x",)))
    assert labels(strip) == ["Cancel", "Approve", "Decline"]
    asks, buttons = strip._consent.children
    assert strip._strip.children == (strip._consent, strip._box) and buttons.children == strip._decisions
    assert "May it install x?" in asks.value
    strip(STATE)
    assert labels(strip) == ["Cancel"]


def test_a_question_from_outside_does_not_become_markup() -> None:
    strip = Controls(Job(), STATE)
    strip(replace(STATE, phase="waiting", approval=("<script>alert(1)</script>\x1b\u202e",)))
    shown = strip._consent.children[0].value
    assert "&lt;script&gt;" in shown and not {"\x1b", "\u202e"} & set(shown)


def test_questions_of_the_plan_are_a_form_while_they_wait() -> None:
    job = Job()
    strip = Controls(job, STATE)
    dates = PlanQuestion(text="Which date?", options=("order_date", "ship_date"), assumed="order_date")
    gaps = PlanQuestion(text="And <gaps>?", options=("zero", "left out"))
    strip(replace(STATE, phase="waiting", questions=(dates, gaps)))
    form = strip._form
    assert form is not None and strip._strip.children == (form.widget, strip._box)
    assert labels(strip) == ["Cancel"] and "&lt;gaps&gt;" in form.widget.children[3].value
    card = card_html(replace(STATE, phase="waiting", questions=(dates, gaps)))
    assert f'class="{ASKED}"' in card, "the form hides them on the card"
    assert form.widget.children[-1].value == f"<style>.{ASKED} {{ display: none !important; }}</style>"
    form._go.click()  # what the plan took is chosen, and a question without a choice is left to it
    form._choices[1].index = 1
    form._words[0].value = " the day it was paid "
    form._go.click()
    form._leave.click()
    assert job.asked == [
        "answer ['order_date', '']",
        "answer ['the day it was paid', 'left out']",
        "answer ['', '']",
    ]
    strip(STATE)
    assert strip._form is None and strip._strip.children == (strip._box,)
    assert form.widget.comm is None


def test_the_strip_shows_the_pane_from_the_start() -> None:
    strip = Controls(Job(), STATE)
    assert "00:00" in strip._now.value
    strip(replace(STATE, seconds=41.0))
    assert "00:41" in strip._now.value


def test_the_tabs_are_those_of_what_is_written() -> None:
    strip = Controls(Job(), STATE)
    assert strip._tabs.options == ()
    writing = STATE.apply(StageStarted("code", 1, 3)).apply(StageStarted("tests", 1, 3))
    strip(writing)
    assert strip._tabs.options == ("Code", "Tests") and strip._tabs.index == 0
    strip._tabs.index = 1
    strip(writing.apply(TextStreamed("code", "import pandas")))
    assert strip._tabs.index == 1 and "import pandas" in strip._live.value
    strip(replace(writing, phase="waiting", approval=("x",)))
    assert strip._tabs.options == ()


def test_an_update_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    strip = Controls(Job(), STATE)
    sent = messages(monkeypatch)
    strip(replace(STATE, seconds=1.0))
    assert len(sent) == 1
    strip(replace(STATE, seconds=1.0))  # nothing new is not sent
    assert len(sent) == 1
    strip(replace(STATE, seconds=2.0, phase="waiting", approval=("x",)))
    assert len(sent) == 7  # and the question, its buttons, where both stand, and that pane and tabs are gone


def test_pictures_are_marked_until_they_are_verified_and_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    strip = Controls(Job(), STATE)
    assert strip._strip.children == (strip._box,)
    glimpses = Glimpse("drawn", "a picture", picture=b"png"), Glimpse("bars", "bar chart", chart='{"spec": {}}')
    drawn = replace(STATE, outputs=SampleOutputs((*glimpses, Glimpse("rows", "41")), is_verified=False))
    assert "a picture" in card_html(drawn) and "<img" not in card_html(drawn)
    strip(drawn)
    assert strip._strip.children == (strip._mark, strip._pictures, strip._box)
    shown = strip._pictures.value
    assert 'alt="drawn: a picture"' in shown and "data-autocode-chart" in shown and "41" not in shown
    sent = messages(monkeypatch)
    strip(replace(drawn, outputs=SampleOutputs(glimpses)))
    assert strip._strip.children == (strip._pictures, strip._box)
    assert len(sent) == 1 and "png" not in str(sent)
    strip(replace(drawn, phase="ready"))
    assert strip._pictures.value == "" and strip._box.comm is None
    assert "<img" in card_html(replace(drawn, phase="ready")), "the last card has them"


def test_a_flood_of_events_makes_at_most_four_messages_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    strip = Controls(Job(), STATE)
    sent = messages(monkeypatch)
    tracker = RunTracker(STATE)
    card = LiveCard(tracker, strip)
    card.start()
    tracker(StageStarted("code", 1, 3))
    began, told = time.monotonic(), 0
    while len(sent) < 14:
        tracker(TextStreamed("code", "import pandas\n"))
        told += 1
    updates, seconds = len(sent), time.monotonic() - began
    tracker.finish(Finished("ready"))
    assert card.wait(60)
    assert told > 500
    assert updates <= 2 * (seconds / UPDATE_SECONDS + 1) + 3  # the line and the pane; once the tabs


def test_the_strip_closes_at_the_end_and_stays_closed() -> None:
    strip = Controls(Job(), STATE)
    strip(replace(STATE, phase="ready"))
    assert strip._box.comm is None
    assert strip._live.value == LAST_HTML and labels(strip) == []  # it had no height when it was removed
    strip(STATE)


def test_without_ipywidgets_there_is_no_strip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError):
        Controls(Job(), STATE)


@pytest.mark.parametrize("for_page", [True, False])
def test_where_no_widget_lives_our_page_shows_nothing_and_others_show_words(
    monkeypatch: pytest.MonkeyPatch, for_page: bool
) -> None:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.DisplayHandle.display", lambda self, bundle, raw: shown.append(bundle))
    strip = Controls(Job(), STATE, for_page=for_page)
    (bundle,) = shown
    (offered,) = (value for key, value in bundle.items() if "widget" in key)
    assert offered["model_id"] == strip._strip.model_id
    assert "%autocode cancel" in bundle["text/plain"]
    assert bundle.get("text/html") == ("" if for_page else None)
