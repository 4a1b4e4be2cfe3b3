"""How far a call with many pieces is."""

from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.concurrency import awaited
from autocoder_jupyter.scaling.tally import Tally, look


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_number_of_pieces_follows_from_those_that_were_made() -> None:
    told: list[Any] = []
    tally = Tally("growth.over", lambda *each: told.append(each), unit="pieces", rows=1_000)
    tally.begin()
    for rows in (300, 300, 300, 100):
        tally.make(rows)
        tally.count(rows=rows)
    tally.finish()
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_without_a_number_of_rows_the_total_is_known_at_the_end() -> None:
    told: list[Any] = []
    tally = Tally("growth.over", lambda *each: told.append(each), unit="pieces")
    tally.begin()
    for _ in range(2):
        tally.make(10)
        tally.count(rows=10)
    tally.finish()
    assert told == [(1, 0), (2, 0), (2, 2)]


def test_the_line_has_a_rate_and_the_time_that_is_left() -> None:
    clock = Clock()
    tally = Tally("growth.over", None, unit="pieces", of=10, rows=1_000_000, now=clock)
    assert tally.step == "the rows are read"
    clock.now = 50
    tally.begin(10)
    assert tally.step == "" and tally.words() == "0 of 10 pieces"
    clock.now = 54
    tally.count(2, 200_000)
    assert tally.words() == "2 of 10 pieces, 50.0K rows/s, 16 s left"


def test_what_was_kept_counts_as_done_and_not_for_the_rate() -> None:
    clock, told = Clock(), list[Any]()
    tally = Tally("growth.over", lambda *each: told.append(each), unit="pieces", of=10, rows=1_000, now=clock)
    tally.begin(10)
    for second in range(5):
        clock.now = second
        tally.count(rows=100, kept=1)
    assert told == [] and tally.words() == "5 of 10 pieces, 5 of them kept from before"
    clock.now = 14
    tally.count(rows=100)
    assert told == [(6, 10)]
    assert tally.words() == "6 of 10 pieces, 5 of them kept from before, 10 rows/s, 40 s left"


def test_if_all_was_kept_the_end_is_told() -> None:
    told: list[Any] = []
    tally = Tally("growth.map", lambda *each: told.append(each), unit="items", of=2)
    tally.begin()
    tally.count(2, kept=2)
    tally.finish()
    assert told == [(2, 2)]


def test_a_wait_shows_it_where_waits_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Watch:
        def __init__(self, wait: awaited.Wait) -> None:
            self.wait = wait

        def __enter__(self) -> Any:
            def show() -> None:
                assert self.wait.awaited is not None
                shown.append(f"{self.wait.awaited.name}: {self.wait.awaited.doing()}")

            return show

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(awaited, "_watch", Watch)
    tally = Tally("growth.map", None, unit="items", of=7)
    look()
    with tally.shown():
        look()
        tally.begin()
        look()
    look()
    assert shown == ["growth.map: the rows are read", "growth.map: 0 of 7 items"]
