from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from contextvars import ContextVar

import pytest

from autocoder_jupyter.concurrency import background

WORD: ContextVar[str] = ContextVar("word", default="none")


def run(work: object, name: str = "autocode-call") -> threading.Thread:
    """Run a function on a thread, wait until that thread is idle or has ended, and give the thread."""
    used: list[threading.Thread] = []

    def marked() -> None:
        used.append(threading.current_thread())
        work()  # type: ignore[operator]

    idle = len(background._idle)
    background.start_thread(marked, name)
    while not used or (
        used[0].is_alive() and (used[0].name != background.IDLE or len(background._idle) < max(idle, 1))
    ):
        time.sleep(0.001)
    return used[0]


def test_a_thread_is_used_again_and_has_the_name_of_its_work() -> None:
    names: list[str] = []

    def note() -> None:
        names.append(threading.current_thread().name)

    first, second = run(note, "autocode-call"), run(note, "autocode-warm")
    assert first is second and first.daemon
    assert names == ["autocode-call", "autocode-warm"]


def test_work_never_waits_for_other_work() -> None:
    together = threading.Barrier(20)
    for _ in range(19):
        background.start_thread(lambda: together.wait(30), "autocode-call")
    together.wait(30)


def test_blocking_calls_one_after_the_other_start_no_thread_each() -> None:
    async def calls() -> set[int]:
        return {await background.call_blocking(threading.get_ident) for _ in range(50)}

    assert len(background.run(calls())) < 10


def test_work_sees_no_context_of_its_caller_or_of_earlier_work() -> None:
    seen: list[str] = []

    def change() -> None:
        seen.append(WORD.get())
        WORD.set("earlier work")

    token = WORD.set("caller")
    try:
        run(change)
        run(change)
    finally:
        WORD.reset(token)
    assert seen == ["none", "none"]


def test_an_idle_thread_keeps_nothing_of_its_work() -> None:
    class Table:
        pass

    table = Table()
    kept = weakref.ref(table)
    run(lambda held=table: None)
    del table
    gc.collect()
    assert kept() is None


def test_an_error_is_reported_and_the_thread_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", reported.append)

    def fail() -> None:
        raise ValueError("wrong")

    assert run(fail) is run(lambda: None)
    assert [(report.exc_type, str(report.exc_value)) for report in reported] == [(ValueError, "wrong")]


def test_a_thread_without_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "IDLE_SECONDS", 0.01)
    thread = run(lambda: None)
    thread.join(30)
    assert not thread.is_alive()
    done = threading.Event()
    background.start_thread(done.set, "autocode-call")
    assert done.wait(30)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    run(lambda: None)
    child = os.fork()
    if child == 0:
        done = threading.Event()
        background.start_thread(done.set, "autocode-call")
        os._exit(0 if done.wait(30) else 1)
    assert os.waitpid(child, 0)[1] == 0
