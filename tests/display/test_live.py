from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from autocoder_jupyter.display import live
from autocoder_jupyter.display.live import LiveCard
from autocoder_jupyter.run.events import Event, Finished, FunctionVerified, SampleOutputs, StageStarted, TextStreamed
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types.interface import KnownSplits


class Screen:
    """A view that records its states, and when they came."""

    def __init__(self) -> None:
        self.states: list[FunctionRun] = []
        self.times: list[float] = []
        self.threads: set[str] = set()
        self.came = threading.Condition()

    def __call__(self, state: FunctionRun) -> None:
        with self.came:
            self.states.append(state)
            self.times.append(time.monotonic())
            self.threads.add(threading.current_thread().name)
            self.came.notify_all()

    def wait_for(self, count: int) -> None:
        with self.came:
            assert self.came.wait_for(lambda: len(self.states) >= count, 60)


def test_a_flood_of_events_makes_at_most_four_updates_a_second() -> None:
    screen = Screen()
    tracker = RunTracker(FunctionRun("growth"))
    card = LiveCard(tracker, screen)
    card.start()
    began = time.monotonic()
    told = 0
    while time.monotonic() - began < 1.5:
        tracker(TextStreamed("code", "x"))
        told += 1
    tracker.finish(Finished("ready"))
    assert card.wait(60)
    gaps = [later - earlier for earlier, later in zip(screen.times, screen.times[1:], strict=False)]
    assert told > 1000
    assert min(gaps[:-1]) >= live.UPDATE_SECONDS * 0.95  # the end is shown at once
    assert len(screen.states) <= 1.5 / live.UPDATE_SECONDS + 2


def test_what_a_user_waits_for_is_shown_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "UPDATE_SECONDS", 1_000)
    screen = Screen()
    tracker = RunTracker(FunctionRun("growth"))
    card = LiveCard(tracker, screen)
    card.start()
    tracker(StageStarted("code", 1, 3))
    screen.wait_for(1)
    awaited: tuple[Event, ...] = (SampleOutputs(is_verified=False), FunctionVerified(1, ("second",)))
    for number, event in enumerate(awaited):
        tracker(event)
        screen.wait_for(number + 2)
    assert screen.states[-1].is_ready
    tracker.finish(Finished("ready"))
    assert card.wait(60)


def test_the_last_state_is_always_shown_and_nothing_after_it() -> None:
    screen = Screen()
    tracker = RunTracker(FunctionRun("growth"))
    card = LiveCard(tracker, screen, complete=lambda state: replace(state, sent="what was sent"))
    card.start()
    tracker(StageStarted("plan", 1, 3))
    tracker.finish(Finished("failed", "because"))
    tracker(StageStarted("code", 1, 3))
    assert card.wait(60)
    assert (screen.states[-1].phase, screen.states[-1].reason, screen.states[-1].sent) == (
        "failed",
        "because",
        "what was sent",
    )
    assert sum(state.finished for state in screen.states) == 1


def test_the_clock_goes_on_when_nothing_happens_but_not_faster_than_once_a_second() -> None:
    screen = Screen()
    tracker = RunTracker(FunctionRun("growth"))
    card = LiveCard(tracker, screen)
    card.start()
    screen.wait_for(2)
    assert screen.times[1] - screen.times[0] >= live.HEARTBEAT_SECONDS * 0.95
    assert screen.states[1].seconds > screen.states[0].seconds >= 0.9
    tracker.finish(Finished("ready"))
    assert card.wait(60)


def test_views_are_called_on_a_thread_of_the_card_and_telling_returns_at_once() -> None:
    screen = Screen()
    release = threading.Event()

    released: list[bool] = []

    def hold(_: FunctionRun) -> None:
        released.append(release.wait(60))

    tracker = RunTracker(FunctionRun("growth"))
    card = LiveCard(tracker, hold, screen)
    card.start()
    tracker(StageStarted("plan", 1, 3))
    for _ in range(100):
        tracker(TextStreamed("plan", "x"))
    tracker.finish(Finished("ready"))
    release.set()
    assert card.wait(60)
    assert all(released)  # so no sender of an event waited for this view
    assert screen.threads == {"autocode-card"}


def test_a_view_that_fails_hurts_neither_the_engine_nor_the_other_views(caplog: pytest.LogCaptureFixture) -> None:
    def broken(state: FunctionRun) -> None:
        raise RuntimeError("front end gone")

    screen = Screen()

    def nothing_there(state: FunctionRun) -> FunctionRun:
        raise OSError("no journal")

    tracker = RunTracker(FunctionRun("growth"))
    card = LiveCard(tracker, broken, screen, complete=nothing_there)
    card.start()
    tracker.finish(Finished("ready"))
    assert card.wait(60)
    assert screen.states[-1].phase == "ready"
    assert "front end gone" in caplog.text and "no journal" in caplog.text


def test_what_was_sent_belongs_to_the_last_state_from_then_on() -> None:
    screen = Screen()
    tracker = RunTracker(FunctionRun("growth"))
    card = LiveCard(tracker, screen, complete=lambda state: replace(state, sent="all of it"))
    card.start()
    tracker.finish(Finished("ready"))
    assert card.wait(60)
    assert screen.states[-1].sent == "all of it" and card.state == screen.states[-1]


def test_what_is_added_after_the_end_is_shown_once_and_stays() -> None:
    screen = Screen()
    tracker = RunTracker(FunctionRun("growth"))
    card = LiveCard(tracker, screen, complete=lambda state: replace(state, sent="all of it"))
    card.add(splits=KnownSplits(doing="rows"))
    card.start()
    tracker.finish(Finished("ready"))
    assert card.wait(60)
    assert screen.states[-1].splits.doing == "rows"
    for number in range(3):
        card.add(splits=KnownSplits(failed=str(number)))
        with screen.came:
            assert screen.came.wait_for(lambda: screen.states[-1].splits.failed == str(number), 60)  # noqa: B023
    assert card.state == screen.states[-1] and card.state.sent == "all of it" and card.state.is_ready
