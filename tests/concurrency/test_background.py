from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from autocoder_jupyter.concurrency import background


def test_a_coroutine_runs_beside_a_loop_that_is_running_already() -> None:
    async def beside() -> str:
        return background.run(asyncio.sleep(0, "done"))

    assert asyncio.run(beside()) == "done"


def test_waiting_on_the_loop_for_the_loop_is_refused_and_leaves_nothing_behind() -> None:
    async def forgotten() -> None:
        await asyncio.sleep(60)

    async def outer() -> None:
        background.run(forgotten())

    with pytest.raises(RuntimeError, match="await it instead"):
        background.run(outer())
    background.run(asyncio.sleep(0))
    assert not [task for task in asyncio.all_tasks(background.loop()) if "forgotten" in repr(task)]


Run = Callable[[Coroutine[Any, Any, Any]], Any]
EACH_RUN = pytest.mark.parametrize("run", [background.run, background.run_on_thread])


@EACH_RUN
@pytest.mark.parametrize("raised", [StopIteration("over"), SystemExit(3), KeyboardInterrupt()])
def test_what_a_loop_cannot_carry_comes_as_an_ordinary_error(raised: BaseException, run: Run) -> None:
    def call() -> None:
        raise raised

    with pytest.raises(RuntimeError, match=type(raised).__name__):
        run(background.call_blocking(call))
    assert background.run(asyncio.sleep(0, "alive")) == "alive"


@EACH_RUN
def test_an_ordinary_error_of_a_blocking_call_comes_as_it_is(run: Run) -> None:
    def call() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        run(background.call_blocking(call))


def test_a_coroutine_on_a_thread_blocks_there_and_needs_a_loop_for_what_waits_by_asyncio() -> None:
    threads: list[str] = []

    async def work() -> str:
        await background.on_loop(background.call_blocking(lambda: threads.append(threading.current_thread().name)))
        return await background.with_loop(asyncio.sleep(0, threading.current_thread().name))

    assert background.run_on_thread(work()) == "autocode-call"
    assert threads == ["autocode-call"]
    with pytest.raises(RuntimeError, match="loop"):
        background.run_on_thread(asyncio.sleep(0))


@pytest.mark.parametrize("waits_for", ["a call", "a future"])
def test_an_interrupt_of_the_caller_ends_what_a_thread_waits_for(waits_for: str) -> None:
    told, over = threading.Event(), threading.Event()
    future: concurrent.futures.Future[None] = concurrent.futures.Future()
    ended: list[object] = []

    async def work() -> None:
        _thread.interrupt_main()
        try:
            if waits_for == "a call":
                await background.call_blocking(lambda: told.wait(30), on_cancel=told.set)
            else:
                await background.outcome(future)
        finally:
            ended.append(sys.exc_info()[0])
            over.set()

    with pytest.raises(KeyboardInterrupt):
        background.run_on_thread(work())
    assert over.wait(30)
    assert ended == [asyncio.CancelledError]
    assert told.is_set() == (waits_for == "a call")
    assert future.cancelled() == (waits_for == "a future")


def test_cancelling_a_blocking_call_tells_it_at_once() -> None:
    told, began = threading.Event(), threading.Event()

    def call() -> None:
        began.set()
        told.wait(30)

    future = background.submit(background.call_blocking(call, on_cancel=told.set))
    assert began.wait(30)
    future.cancel()
    assert told.wait(30)


def test_a_timeout_leaves_the_work_running() -> None:
    go_on = threading.Event()
    future = background.submit(background.call_blocking(lambda: go_on.wait(30)))
    with pytest.raises(TimeoutError, match="goes on"):
        background.wait(future, timeout=0.01)
    go_on.set()
    assert background.wait(future, timeout=30)


FORK = """
import asyncio, os, signal, sys
from autocoder_jupyter.concurrency import background
background.run(asyncio.sleep(0))
child = os.fork()
if not child:
    signal.alarm(20)
    os._exit(background.run(asyncio.sleep(0, 7)))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_process_has_a_loop_of_its_own() -> None:
    assert subprocess.run([sys.executable, "-c", FORK], timeout=60, check=False).returncode == 7


async def test_long_work_on_the_loop_pauses_after_so_much_of_it_and_not_before() -> None:
    worked = 0.0
    pauses = background.Pauses(lambda: worked)
    others = 0

    async def other() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    waiting = asyncio.create_task(other())
    for _ in range(4):
        worked += background.WORK_SECONDS / 4.5
        await pauses.pause_when_due()
    assert others == 0, "a little work needs no pause"
    worked += background.WORK_SECONDS / 4.5
    await pauses.pause_when_due()
    assert others > 0
    seen = others
    worked += background.WORK_SECONDS / 2
    await pauses.pause_when_due()
    assert others == seen, "it counts anew after a pause"
    waiting.cancel()
