from __future__ import annotations

import threading
from typing import Any

import pytest

from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.events import CodeStarted, Event, Finished, FunctionCalled, Noticed, StageStarted, TurnBegun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker


def test_a_listener_finds_the_event_in_the_record() -> None:
    now = [100.0]
    seen: list[tuple[Any, float]] = []
    tracker = RunTracker(
        FunctionRun("growth"), lambda event: seen.append((tracker.run.stage, tracker.run.seconds)), now=lambda: now[0]
    )
    now[0] += 2.5
    tracker(StageStarted("plan", 1, 3))
    assert seen == [("plan", 2.5)]
    assert tracker.run.doing == "attempt 1 of 3, step plan"


def test_the_end_counts_when_the_owner_says_so_and_nothing_after_it() -> None:
    heard: list[Event] = []
    tracker = RunTracker(FunctionRun("growth"), heard.append)
    tracker(Finished("over_budget", "spent"))
    tracker(Noticed("too late"))
    assert not tracker.run.finished and tracker.last == Finished("over_budget", "spent") and not heard
    tracker.finish(Finished("failed"))
    tracker.finish(Finished("failed"))
    tracker(Noticed("too late"))
    assert (tracker.run.phase, tracker.run.reason, tracker.run.notice) == ("over_budget", "spent", ())
    assert heard == [Finished("over_budget", "spent")]


def test_a_run_that_told_no_end_gets_one() -> None:
    tracker = RunTracker(CodeRun("prices"))
    tracker(TurnBegun(1, 10))
    tracker(CodeStarted(1, "fetch('a')"))
    tracker(FunctionCalled("call-1", 1, "fetch", "'a'", 1))
    assert tracker.run.doing == "turn 1 of 10"
    tracker.finish(Finished("cancelled", "A newer run."))
    (call,), (block,) = tracker.run.calls, tracker.run.blocks
    assert (tracker.run.phase, call.outcome, block.ok) == ("cancelled", "cancelled", False)


def test_neither_a_listener_nor_a_strange_event_stops_a_run(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("broken display")

    tracker = RunTracker(FunctionRun("growth"), broken)
    tracker(StageStarted(None, None, 3))  # type: ignore[arg-type]
    tracker(StageStarted("plan", 1, 3))
    assert tracker.run.stage == "plan"
    assert "could not take an event" in caplog.text and "a listener failed" in caplog.text


def test_events_of_many_threads_are_all_there() -> None:
    tracker = RunTracker(FunctionRun("growth"))

    def tell(number: int) -> None:
        for count in range(50):
            tracker(Noticed(f"{number} {count}"))

    threads = [threading.Thread(target=tell, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tracker.run.notice) == 200


def test_the_report_and_the_card_have_the_same_seconds_although_the_run_ends_later() -> None:
    now = [100.0]
    tracker = RunTracker(FunctionRun("growth"), now=lambda: now[0])
    now[0] += 136.0
    reported = tracker.stop()
    now[0] += 4.0  # the report is written
    tracker(Finished("ready"))
    now[0] += 3.0  # the job ends
    tracker.finish(Finished("failed"))
    assert tracker.run.seconds == reported == tracker.seconds == 136.0
