from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from autocoder_jupyter.display.live import (
    FOLLOWED,
    OUR_WIDGET,
    WIDGET,
    NotebookView,
    card_bundle,
    card_html,
    step,
    widget_bundle,
)
from autocoder_jupyter.run import events
from autocoder_jupyter.run import events as code_events
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import CodePlan, Evidence, TestOutcome, Usage
from tests.cases import each

BEGUN = FunctionRun("growth").apply(events.StageStarted("plan", 1, 3), 0.2)
PASSED = TestOutcome(id="test_a", outcome="passed")


def test_a_card_says_which_run_it_is_of_to_our_page_only() -> None:
    bundle = card_bundle(BEGUN, 7.5, for_page=True)
    assert list(bundle) == [FOLLOWED, "text/html", "text/plain"]
    assert bundle[FOLLOWED] == {
        "shows": "card",
        "name": "growth",
        "started": 7.5,
        "step": step(BEGUN),
        "finished": False,
    }
    assert json.loads(json.dumps(bundle)) == bundle
    assert set(card_bundle(BEGUN, 7.5, for_page=False)) == {"text/html", "text/plain"}
    ended = BEGUN.apply(events.Finished("ready"))
    assert card_bundle(ended, 7.5, for_page=True)[FOLLOWED]["finished"] is True


@each(
    "event",
    [
        events.StageFinished("plan", 1, True),
        events.StageStarted("code", 1, 3),
        events.StageStarted("plan", 2, 3),
        events.TokensUsed("plan", Usage(input_tokens=10, output_tokens=2), Usage(input_tokens=10, output_tokens=2)),
        events.PlanReady(CodePlan(description="Sums.", approach="")),
        events.SourceWritten("solution", 1, "x = 1\n"),
        events.TestsCollected(("test_a",)),
        events.TestReported(PASSED),
        events.ApprovalNeeded(("fiscalmonths",)),
        events.EvidenceGathered(1, Evidence(tests=(PASSED,))),
        events.Finished("cancelled"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_the_step_is_another_after_what_changes_the_card(event: Any) -> None:
    after = BEGUN.apply(event, 1.5)
    assert card_html(after) != card_html(BEGUN)
    assert step(after) != step(BEGUN)


@pytest.mark.parametrize(
    "later",
    [replace(BEGUN, seconds=9.0), BEGUN.apply(events.TextStreamed("plan", "words"), 1.5)],
    ids=["clock", "text"],
)
def test_the_step_is_the_same_while_the_card_is(later: FunctionRun) -> None:
    assert card_html(later) == card_html(BEGUN)
    assert step(later) == step(BEGUN)


STREAM: tuple[Any, ...] = (
    events.StageStarted("plan", 1, 3),
    events.TextStreamed("plan", "words"),
    events.StageFinished("plan", 1, True),
    events.StageStarted("code", 1, 3),
    events.AgentText(1, "I begin."),
    events.TurnBegun(1, 50),
    events.TextStreamed("code", "x = 1"),
    events.SourceWritten("solution", 1, "x = 1\n"),
    events.TestsCollected(("test_a",)),
    events.TestReported(PASSED),
    events.EvidenceGathered(1, Evidence(tests=(PASSED,))),
    events.Finished("ready"),
)


ANSWER_STREAM: tuple[Any, ...] = (
    code_events.TurnBegun(1, 9),
    code_events.TextStreamed("tools", "words"),
    code_events.Finished("ready"),
)


@pytest.mark.parametrize("seconds", [0.1, 20.0], ids=["quick", "slow"])
def test_a_card_is_drawn_from_what_is_still(seconds: float) -> None:
    first: tuple[Any, ...] = (FunctionRun("growth"), CodeRun("rates"))
    for state, stream in zip(first, (STREAM, ANSWER_STREAM), strict=True):
        for number, event in enumerate(stream, 1):
            state = state.apply(event, number * seconds)
            assert card_bundle(state, 7.5, for_page=False) == card_bundle(state.still, 7.5, for_page=False)


def test_a_last_card_with_what_was_sent_is_another_step() -> None:
    ended = BEGUN.apply(events.Finished("ready"))
    assert step(replace(ended, sent="all of it")) != step(ended)


def test_a_widget_is_offered_as_what_the_page_knows() -> None:
    assert widget_bundle("w", for_page=True) == {OUR_WIDGET: {"model_id": "w"}}
    assert widget_bundle("w", for_page=False) == {WIDGET: {"version_major": 2, "version_minor": 0, "model_id": "w"}}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What is displayed."""
    bundles: list[dict[str, Any]] = []

    class Handle:
        def display(self, bundle: dict[str, Any], raw: bool) -> None:
            bundles.append(bundle)

        update = display

    monkeypatch.setattr("IPython.display.DisplayHandle", Handle)
    return bundles


def test_a_view_draws_what_changed_only_and_says_it_to_a_page_that_comes_later(
    monkeypatch: pytest.MonkeyPatch, shown: list[dict[str, Any]]
) -> None:
    pages: list[str] = []
    view = NotebookView(BEGUN, 7.5, lambda: bool(pages))
    with monkeypatch.context() as patch:
        patch.setattr("autocoder_jupyter.display.live.card_bundle", lambda *_, **__: pytest.fail("it is drawn again"))
        view(replace(BEGUN, seconds=9.0))
        view(BEGUN.apply(events.TextStreamed("plan", "words"), 9.5))
    assert len(shown) == 1 and FOLLOWED not in shown[0]
    pages.append("one")
    view(BEGUN)
    assert shown[1][FOLLOWED]["started"] == 7.5
