"""Jobs whose model says nothing: what their card asks, and what each reply does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.display.live import card_html, card_text, status_line, strip_of
from autocoder_jupyter.errors import Cancelled
from autocoder_jupyter.jobs import GenerationJob, registry, submit
from autocoder_jupyter.models import offers
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.run.events import Event, ModelOffer, NoAnswerYet
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types import OutputSpec
from tests.engine.test_second_opinion import AGREEING
from tests.runner import CODE, MARKERS, PLAN, TESTS, fenced, sales
from tests.scripted_model import Answer, ScriptedModel, always, by_marker

pytestmark = pytest.mark.local_sandbox

SAID = {"plan": PLAN, "code": fenced(CODE), "tests": fenced(TESTS), "second": fenced(AGREEING)}
ASKED = {"plan": "code", "tests": "tests", "second": "second"}
"""For the stage whose answer is held the stage of the question."""


class Silenced:
    """A job. The first answer of one stage, for which it `asked`, is held until `release` is set."""

    def __init__(
        self, job: GenerationJob, model: ScriptedModel, asked: threading.Event, release: threading.Event
    ) -> None:
        self.job, self.model, self.asked, self.release = job, model, asked, release
        self.changed = threading.Condition()
        self.told: list[Event] = []
        job.tracker.listen(self._hear)

    def _hear(self, event: Event) -> None:
        with self.changed:
            self.told.append(event)
            self.changed.notify_all()

    def wait_for(self, holds: Callable[[FunctionRun], bool]) -> FunctionRun:
        with self.changed:
            assert self.changed.wait_for(lambda: holds(self.job.tracker.run), 300), self.job.tracker.run
            return self.job.tracker.run


@contextmanager
def silenced(stage: str, tmp_path: Path) -> Iterator[Silenced]:
    asked, release = threading.Event(), threading.Event()

    def answer(request: object) -> str | Answer:
        if asked.is_set():
            return SAID[stage]
        asked.set()
        return Answer(SAID[stage], hold=release)

    routes: dict[str, Any] = {MARKERS[name]: always(said) for name, said in SAID.items()}
    routes[MARKERS[stage]] = answer
    with ScriptedModel(by_marker(routes)) as model:
        settings: dict[str, Any] = {"sandbox": "local", "effort": "quick", **model.settings}
        settings |= {"second_opinion": "on" if stage == "second" else "off"}
        request = Request(
            "growth", "Total revenue of @sales.", {"sales": sales()}, outputs=(OutputSpec(name="total", type="float"),)
        )
        job = submit(
            request,
            AgentConfig(**settings),
            journal_root=tmp_path / ".autocode",
            tracker=RunTracker(FunctionRun("growth")),
        )
        try:
            yield Silenced(job, model, asked, release)
        finally:
            release.set()
            job.cancel()
            with suppress(Cancelled):
                job.result.wait(60)
            registry._jobs.clear()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocoder_jupyter.models.silence.SILENT_SECONDS", 0.01)


@pytest.mark.parametrize("stage", list(ASKED))
def test_the_card_asks_and_the_question_goes_with_the_answer(stage: str, tmp_path: Path) -> None:
    with silenced(stage, tmp_path) as it:
        run = it.wait_for(lambda run: run.silent == (ASKED[stage],))
        html, text = card_html(run), card_text(run)
        label = {"plan": "", "tests": ": Tests", "second": ": Second opinion"}[stage]
        assert f"No answer yet{label}" in html and f"no answer yet{label}" in strip_of(run).now
        assert [html.count(f'aria-label="{words}"') for words in ("Wait", "Try again", "Another model")] == [1, 1, 1]
        assert "Write %autocode reply growth wait, again or model." in text
        assert f"no answer yet{label}" in status_line(run)
        it.release.set()
        it.job.result.wait(120)
        run = it.job.tracker.run
        assert run.phase == "ready" and run.silent == () and "No answer yet" not in card_html(run)


@pytest.mark.parametrize("stage", list(ASKED))
def test_asked_again_it_goes_on_with_the_second_answer(stage: str, tmp_path: Path) -> None:
    with silenced(stage, tmp_path) as it:
        assert it.asked.wait(300)
        it.wait_for(lambda run: run.silent == (ASKED[stage],))
        assert it.job.answer_silence("again")
        it.model.wait_for_hang_ups(1)
        result = it.job.result.wait(120)
        assert result.success and not it.release.is_set()
        assert it.job.tracker.run.usage == result.report.usage


def test_another_model_is_chosen_in_place_of_one_that_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = ModelOffer("OPENAI_API_KEY is set.", ("openai/gpt-4.1",))

    async def offered() -> tuple[ModelOffer, ...]:
        return (offer,)

    monkeypatch.setattr(offers, "offers", offered)
    with silenced("plan", tmp_path) as it:
        it.wait_for(lambda run: bool(run.silent))
        assert it.job.answer_silence("model")
        with pytest.raises(Cancelled, match="gave no answer"):
            it.job.result.wait(60)
        run = it.job.tracker.run
        assert run.asks_model and run.offers == (offer,)
        assert "● growth  Which model?" in card_text(run) and "-m openai/gpt-4.1" in card_text(run)
        assert not it.job.answer_silence("model")


def test_a_function_that_can_be_used_is_kept_when_its_second_opinion_needs_another_model(tmp_path: Path) -> None:
    with silenced("second", tmp_path) as it:
        it.wait_for(lambda run: run.is_ready and run.silent == ("second",))
        assert it.job.answer_silence("model")
        assert it.job.result.wait(60).run(sales()) == 140.0
        run = it.job.tracker.run
        assert run.phase == "ready" and run.asks_model
        assert "● growth  Ready, not fully checked" in card_text(run)


def test_who_waits_gets_the_answer(tmp_path: Path) -> None:
    with silenced("tests", tmp_path) as it:
        it.wait_for(lambda run: run.silent == ("tests",))
        assert it.job.answer_silence("wait")
        it.wait_for(lambda run: NoAnswerYet(()) in it.told)
        it.release.set()
        assert it.job.result.wait(120).success
        assert not it.job.answer_silence("wait")
        assert len(it.model.requests) == 2
