from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from autocoder_jupyter.display.strip import LINES, SHOWN_CHARACTERS, render
from autocoder_jupyter.run.events import (
    ApprovalNeeded,
    EnvironmentProgress,
    EnvironmentReady,
    Event,
    LoadingClient,
    Retrying,
    StageFinished,
    StageStarted,
    TestReported,
    TestsCollected,
    TextStreamed,
)
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import TestOutcome
from autocoder_jupyter.view.markup import Html, join
from tests.cases import each
from tests.display.test_card import HOSTILE, hostile_state

WRITING = (StageStarted("code", 1, 3), StageStarted("tests", 1, 3))
SIX = tuple(f"test_{letter}" for letter in "abcdefghij")


def render_html(state: FunctionRun) -> Html:
    """All that the strip shows."""
    shown = render(state)
    return join(shown.now, shown.pane)


def fold(*events: Event) -> FunctionRun:
    state = FunctionRun("growth")
    for event in events:
        state = state.apply(event)
    return state


def lines(page: Any, marks: str) -> list[str]:
    return re.findall(rf"[{marks}] (\w+)", page.text)


def test_the_clock_goes_on_and_silence_is_counted(read: Any) -> None:
    state = replace(FunctionRun("growth"), seconds=41.2, last_event=40.0)
    assert "00:41" in read(render_html(state)).text
    assert "sign of life" not in read(render_html(state)).text
    assert "00:52 · last update 12 s ago" in read(render_html(replace(state, seconds=52.4))).text
    assert "3 min 20 s ago" in read(render_html(replace(state, seconds=240.4))).text


def test_the_beat_goes_on_where_it_was_and_ends_when_updates_end() -> None:
    beats = [
        re.search(r"animation:autocode-beat 2s ease-in-out 2;.*?animation-delay:-([\d.]+)s", render_html(state))
        for state in (replace(FunctionRun("growth"), seconds=seconds) for seconds in (3.25, 3.5))
    ]
    assert [beat and beat[1] for beat in beats] == ["1.25", "1.50"]


def test_it_says_why_nothing_arrives(read: Any) -> None:
    waiting = fold(StageStarted("plan", 1, 3))
    assert "00:00 · Planning · waiting for the model" in read(render(waiting).now).text
    silent = replace(waiting, silent=("code",), effort="Effort quick: 2 questions")
    assert read(render(silent).now).text.endswith("Planning · no answer yet"), "a narrow page cuts a longer line"
    loading = waiting.apply(LoadingClient())
    assert "Planning · Loading the model client; this takes some seconds" in read(render(loading).now).text
    retrying = waiting.apply(Retrying("plan", "no connection to the service", 4.0))
    assert "Planning · No connection to the service; next try after 4 s" in read(render(retrying).now).text
    answering = retrying.apply(TextStreamed("plan", "{}"))
    assert "no connection" not in read(render_html(answering)).text


def test_who_wants_no_motion_gets_none() -> None:
    page = render_html(FunctionRun("growth"))
    assert "@media (prefers-reduced-motion:reduce){.autocode-beat{animation:none !important}}" in page


def test_code_and_tests_have_a_tab_each_as_they_are_written(read: Any) -> None:
    shown = render(fold(*WRITING, TextStreamed("code", "def run(sales):"), TextStreamed("tests", "def test_a():")))
    assert shown.labels == ("Code", "Tests") and "00:00 · Writing code and tests" in read(shown.now).text
    assert read(shown.now).text.count("Writing") == 1 and "waiting" not in read(shown.now).text
    _, code, tests = shown.pane.split('<div class="autocode-pane-')
    assert "def run(sales):" in code and "def test_a():" in tests
    alone = render(fold(WRITING[0], TextStreamed("code", "def run(sales):")))
    assert alone.labels == ("Code",) and '"autocode-pane-0"' not in alone.pane  # no tab hides it


def test_an_answer_is_shown_from_its_end(read: Any) -> None:
    source = "\n".join(f"line {number}" for number in range(50))
    text = read(render_html(fold(WRITING[0], TextStreamed("code", source)))).text
    assert f"line {50 - LINES}" in text and "line 49" in text
    assert f"line {49 - LINES}" not in text
    one_line = fold(WRITING[0], TextStreamed("code", "x" * 50_000))
    assert read(render_html(one_line)).text.count("x") <= SHOWN_CHARACTERS + 10


def test_tests_are_listed_as_they_report_with_the_one_that_runs(read: Any) -> None:
    state = fold(
        StageStarted("run", 1, 3),
        TestsCollected(SIX[:4]),
        TestReported(TestOutcome(id="test_a", outcome="passed", sentence="one row a month")),
        TestReported(TestOutcome(id="test_b", outcome="failed", message="E   assert 1 == 2")),
    )
    page = read(render_html(state))
    assert (lines(page, "✓"), lines(page, "✗"), lines(page, "◐"), lines(page, "○")) == (
        ["test_a"],
        ["test_b"],
        ["test_c"],
        ["test_d"],
    )
    assert "2 of 4 tests reported" in page.text
    assert "one row a month" in page.text and "assert 1 == 2" in page.text


@each("done", range(len(SIX) + 1))
def test_the_test_that_runs_is_always_in_view(done: int, read: Any) -> None:
    reported = (TestReported(TestOutcome(id=name, outcome="passed")) for name in SIX[:done])
    page = read(render_html(fold(StageStarted("run", 1, 3), TestsCollected(SIX), *reported)))
    assert len(lines(page, "✓◐○")) == LINES
    assert lines(page, "◐") == list(SIX[done : done + 1])


def test_what_the_sandbox_does_is_told_also_while_the_model_plans(read: Any) -> None:
    state = fold(StageStarted("plan", 1, 3), EnvironmentProgress("installing 31 packages"))
    assert "installing 31 packages" in read(render_html(state)).text
    assert "installing" not in read(render_html(state.apply(EnvironmentReady("image", (), 1.0)))).text


def test_a_question_is_in_view_and_its_clock_goes_on(read: Any) -> None:
    state = fold(StageStarted("environment", 1, 3)).apply(ApprovalNeeded(("fiscalmonths",)), at=10.0)
    text = read(render_html(replace(state, seconds=75.0))).text
    assert "01:15 · waiting for you for 1 min 5 s · the buttons are above" in text


def states() -> list[FunctionRun]:
    many = (TestReported(TestOutcome(id=f"test_{n}", outcome="passed", sentence="s" * 500)) for n in range(40))
    return [
        FunctionRun("growth"),
        fold(StageStarted("plan", 1, 3)),
        fold(StageStarted("plan", 1, 3), StageFinished("plan", 1, True)),
        fold(*WRITING, TextStreamed("code", "x\n" * 900), TextStreamed("tests", "y" * 9000)),
        fold(StageStarted("environment", 1, 3), *(EnvironmentProgress("z" * 300) for _ in range(30))),
        fold(StageStarted("run", 1, 3), *many),
        fold(StageStarted("run", 1, 3), *many, StageFinished("run", 1, True), StageStarted("verify", 1, 3)),
    ]


def test_an_empty_window_does_not_stand_below_a_question() -> None:
    asking = fold(StageStarted("environment", 1, 3), ApprovalNeeded(("a", "b")))
    assert render(asking).pane.count("<div") == 1 < render(fold(StageStarted("plan", 1, 3))).pane.count("<div")


def test_the_window_has_one_height_whatever_is_in_it() -> None:
    heights = [set(re.findall(r"(?<![-e])height:(min[^;]+|\d[\d.]+em)", render_html(state))) for state in states()]
    assert heights == [{f"min({LINES * 1.35:g}em,20vh)"}] * len(heights)


@pytest.mark.parametrize("phase", ["running", "waiting"])
def test_nothing_from_outside_becomes_markup(phase: Any, read: Any) -> None:
    writing = fold(WRITING[0], TextStreamed("code", HOSTILE), EnvironmentProgress(HOSTILE))
    hostile = replace(hostile_state(), phase=phase, questions=(), stages=writing.stages, answers=writing.answers)
    testing = fold(StageStarted("run", 1, 3))
    for state in (hostile, replace(hostile_state(), phase=phase, questions=(), stages=testing.stages)):
        page = read(render_html(state))
        assert page.tags <= {"div", "span", "strong", "style"}
        assert not {"\x1b", "\x00", "\u202e"} & set(page.text)
        assert "<script>alert(1)</script>" in page.text or phase == "waiting"
