"""The limit of a layer of evidence: processor time, with a clock behind it."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from autocoder_jupyter.engine.evidence.time_limit import LONGEST_WAIT, PATIENCE, TimeLimit


def burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_what_is_taken_of_a_part_is_taken_of_the_whole_and_the_whole_limits_the_part() -> None:
    whole = TimeLimit(10)
    part = whole.part(4)
    part.take(3)
    assert (part.seconds_left, whole.seconds_left) == (1, 7)
    whole.take(6.5)
    assert part.seconds_left == whole.seconds_left == 0.5
    part.take(1)
    assert part.is_over and whole.is_over and part.seconds_left == 0


def test_a_busy_machine_has_all_its_time_and_a_blocked_one_ends_by_the_clock() -> None:
    now = 100.0
    limit = TimeLimit(10, now=lambda: now)
    part = limit.part(1)
    now += 9
    assert limit.seconds_left == 10 and part.seconds_left == 1 and not part.is_over
    now += 1
    assert part.is_over and not limit.is_over
    now += 10 * PATIENCE
    assert limit.is_over and limit.seconds_left == 10


def test_the_clock_of_a_long_limit_is_bounded() -> None:
    assert TimeLimit(120, now=lambda: 0.0).clock_left == 120 + LONGEST_WAIT
    assert TimeLimit(120, clock=5, now=lambda: 0.0).clock_left == 5


def test_the_time_of_this_thread_and_of_the_workers_is_counted() -> None:
    limit, worker = TimeLimit(10), SimpleNamespace(processor_seconds=50.0)
    known: Any = worker
    with limit.counting(known):
        time.sleep(0.3)  # somebody else has the processor
        burn(0.1)
        worker.processor_seconds += 2
    assert 7.0 < limit.seconds_left <= 7.9
