from __future__ import annotations

import threading
from typing import Any

import pytest

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, Wait
from autocoder_jupyter.display.wait_line import WaitLine, watch_in_notebook
from tests.display.test_card import HOSTILE


class Place:
    """A display that records what it showed."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, dict[str, str]]] = []

    def display(self, bundle: dict[str, str], *, raw: bool) -> None:
        self.shown.append(("new", bundle))

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        self.shown.append(("update", bundle))


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def place() -> Place:
    return Place()


def call(what: str = "docker sandbox", obstacle: str = "") -> Awaited:
    return Awaited("growth.run", lambda: what, "interrupt to stop it", lambda: obstacle, since=100.0)


def line(wait: Wait, clock: Clock, place: Place) -> WaitLine:
    shown = WaitLine(now=clock, display=lambda: place)
    shown.begin(wait)
    return shown


def look_for(seconds: float, at: WaitLine, clock: Clock) -> None:
    """Poll five times per second, as a waiting call does."""
    for _ in range(round(seconds * 5)):
        clock.now += 0.2
        at.look()


def test_a_short_wait_shows_nothing(clock: Clock, place: Place) -> None:
    wait = Wait(call())
    shown = line(wait, clock, place)
    look_for(1.4, shown, clock)
    shown.end(wait)
    assert place.shown == []


def test_a_long_wait_is_one_line_that_is_updated_at_most_once_a_second_and_then_gone(
    clock: Clock, place: Place
) -> None:
    wait = Wait(call())
    shown = line(wait, clock, place)
    look_for(12.1, shown, clock)
    kinds = [kind for kind, _ in place.shown]
    assert kinds[0] == "new" and set(kinds[1:]) == {"update"}
    assert 9 <= len(kinds) <= 12
    assert place.shown[-1][1]["text/plain"] == "growth.run · 11 s · docker sandbox · interrupt to stop it"
    shown.end(wait)
    assert place.shown[-1] == ("update", {})


def test_many_short_waits_are_one_line_that_counts_them(clock: Clock, place: Place) -> None:
    shown = WaitLine(now=clock, display=lambda: place)
    for _ in range(1000):
        wait = Wait(call())
        shown.begin(wait)
        clock.now += 0.025
        shown.end(wait)
    texts = [bundle["text/plain"] for _, bundle in place.shown]
    assert 20 <= len(texts) <= 25
    assert texts[0] == "growth.run · 1 s · 60 calls done · interrupt to stop it"
    assert texts[-1].startswith("growth.run · 24 s · 9")
    shown.clear()
    assert place.shown[-1] == ("update", {})


def test_calls_at_once_say_how_many_are_done_and_how_many_are_not(clock: Clock, place: Place) -> None:
    shown = WaitLine(now=clock, display=lambda: place)
    waits = [Wait(call()) for _ in range(1000)]
    for wait in waits:
        shown.begin(wait)
    for wait in waits[:400]:
        clock.now += 0.01
        shown.end(wait)
    assert place.shown[-1][1]["text/plain"] == "growth.run · 3 s · 350 calls done, 650 to go · interrupt to stop it"


def test_a_short_wait_after_a_long_one_of_something_else_shows_nothing(clock: Clock, place: Place) -> None:
    long, short = Wait(call()), Wait(Awaited("other.run", lambda: "", "", since=100.0))
    shown = line(long, clock, place)
    look_for(5, shown, clock)
    shown.end(long)
    before = len(place.shown)
    shown.begin(short)
    look_for(1, shown, clock)
    shown.end(short)
    assert len(place.shown) == before


def test_calls_long_after_others_are_counted_anew(clock: Clock, place: Place) -> None:
    shown = WaitLine(now=clock, display=lambda: place)
    for _ in range(2):
        wait = Wait(call())
        shown.begin(wait)
        look_for(2, shown, clock)
        shown.end(wait)
        clock.now += 10
    assert "done" not in str(place.shown)


def test_work_that_says_nothing_is_not_shown(clock: Clock, place: Place) -> None:
    look_for(10, line(Wait(), clock, place), clock)
    assert place.shown == []


def test_what_stands_in_the_way_takes_the_place_of_the_rest(clock: Clock, place: Place) -> None:
    look_for(2, line(Wait(call(obstacle="growth waits for your consent.")), clock, place), clock)
    assert place.shown[-1][1]["text/plain"].endswith("· growth waits for your consent.")


def test_the_words_are_text(clock: Clock, place: Place, read: Any) -> None:
    look_for(2, line(Wait(call(HOSTILE)), clock, place), clock)
    page = read(place.shown[-1][1]["text/html"])
    assert page.tags == {"div"}
    assert "<script>alert(1)</script>" in page.text
    assert "\x1b" not in place.shown[-1][1]["text/plain"]


def test_a_page_that_is_gone_does_not_disturb_the_wait(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    def no_page() -> Any:
        raise OSError("front end gone")

    shown = WaitLine(now=clock, display=no_page)
    shown.begin(Wait(call()))
    look_for(3, shown, clock)
    assert "front end gone" in caplog.text


def test_where_nobody_looks_only_obstacles_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with watch_in_notebook(lambda: False, WaitLine())(Wait(call(obstacle="consent, please"))) as look:
        look()
        look()
    assert capsys.readouterr().out == "consent, please\n"


def test_a_wait_in_another_thread_belongs_to_no_cell(capsys: pytest.CaptureFixture[str]) -> None:
    def wait() -> None:
        with watch_in_notebook(lambda: True, WaitLine())(Wait(call(obstacle="consent, please"))) as look:
            look()

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    assert capsys.readouterr().out == "consent, please\n"


def test_work_on_the_background_thread_is_known_to_who_waits_for_it() -> None:
    seen: list[str] = []
    wait = Wait()

    async def work() -> None:
        from autocoder_jupyter.concurrency.awaited import report_progress

        report_progress(call("first"))
        report_progress(call("then"))

    with wait.collect_progress():
        future = background.submit(work())
    background.wait(future)
    assert wait.awaited is not None
    seen.append(wait.awaited.doing())
    assert seen == ["then"]
