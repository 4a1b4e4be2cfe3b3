"""Calls wait for each other: as many run at once as there are cores and memory, first come first served."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from typing import Any

import pytest

from autocoder_jupyter.calls import call as queue_module
from autocoder_jupyter.calls.call import CallQueue, CallTurn, call
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Wait
from autocoder_jupyter.types import InputSpec, Resources
from tests.calls.conftest import StandInPool

GIB = 2**30


class Crowd:
    """Calls that run until they are let go, and the order in which they began."""

    def __init__(self, queue: CallQueue) -> None:
        self.queue = queue
        self.began: list[str] = []
        self.at_once = self.most = 0

    async def one(self, name: str, until: asyncio.Event | None = None, **resources: Any) -> None:
        async with self.queue.wait_for(CallTurn(Resources(**resources))):
            self.began.append(name)
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            await (until.wait() if until else asyncio.sleep(0))
            self.at_once -= 1


def crowd(cores: int = 2, free: float = math.inf) -> Crowd:
    return Crowd(CallQueue(cores, lambda: free))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0.001)


async def test_a_thousand_calls_run_as_many_at_once_as_there_are_cores_in_the_order_in_which_they_came() -> None:
    calls = crowd(cores=3)
    await asyncio.gather(*(calls.one(str(number)) for number in range(1000)))
    assert calls.began == [str(number) for number in range(1000)]
    assert calls.most == 3


@pytest.mark.parametrize(("free", "most"), [(5 * GIB, 2), (1 * GIB, 1), (100 * GIB, 8)])
async def test_no_more_run_at_once_than_there_is_memory_for_and_one_always_does(free: int, most: int) -> None:
    calls = crowd(cores=8, free=free)
    await asyncio.gather(*(calls.one(str(number), memory="2Gi") for number in range(20)))
    assert calls.most == most


async def test_a_call_that_needs_all_cores_is_not_overtaken() -> None:
    calls, go = crowd(cores=2), asyncio.Event()
    tasks = [asyncio.create_task(calls.one("small", go))]
    await settle()
    tasks += [asyncio.create_task(calls.one("large", cpu=16)), asyncio.create_task(calls.one("late"))]
    await settle()
    assert calls.began == ["small"]
    go.set()
    await asyncio.gather(*tasks)
    assert calls.began == ["small", "large", "late"]


async def test_a_call_that_is_cancelled_while_it_waits_never_runs_and_holds_nobody_up() -> None:
    calls, go = crowd(cores=1), asyncio.Event()
    tasks = [asyncio.create_task(calls.one(str(number), go)) for number in range(4)]
    await settle()
    tasks[1].cancel()
    tasks[0].cancel()
    await settle()
    assert calls.began == ["0", "2"]
    go.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert calls.began == ["0", "2", "3"]


def test_callers_on_several_loops_and_threads_share_the_turns() -> None:
    calls = crowd(cores=1)

    async def some(thread: int) -> None:
        await asyncio.gather(*(calls.one(f"{thread}.{number}") for number in range(50)))

    threads = [threading.Thread(target=lambda number=number: asyncio.run(some(number))) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(calls.began) == 200 and calls.most == 1


async def test_a_waiting_call_says_how_many_are_before_it(
    function: Callable[..., Function], pool: StandInPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = CallQueue(1, lambda: math.inf)
    monkeypatch.setattr("autocoder_jupyter.calls.call.shared_queue", lambda: queue)
    waiting = function("def run():\n    started.set()\n    killed.wait(60)\n    return 1.0\n")
    first = asyncio.create_task(call(waiting, CallOptions(), [], {}))
    assert await asyncio.to_thread(pool.started.wait, 60)
    wait = Wait()
    with wait.collect_progress():
        second = asyncio.create_task(call(waiting, CallOptions(), [], {}))
    await settle()
    assert wait.awaited is not None
    assert wait.awaited.doing() == "waits for its turn, 1 call before it"
    second.cancel()
    first.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert len(pool.workers) == 1


def test_a_contract_that_calls_a_function_does_not_wait_for_its_own_call(
    function: Callable[..., Function], pool: StandInPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = CallQueue(1, lambda: math.inf)
    monkeypatch.setattr("autocoder_jupyter.calls.call.shared_queue", lambda: queue)
    inner = function("def run():\n    return 1.0\n")

    def checked_outputs(name: str, contracts: Any, values: Any) -> Any:
        return {"value": background.run(call(inner, CallOptions(), [], {}))}

    monkeypatch.setattr("autocoder_jupyter.contracts.applying.checked_outputs", checked_outputs)
    outer = function("def run(number):\n    return 2.0\n", (InputSpec(name="number", type="int"),))
    object.__setattr__(outer, "contracts", {"value": object()})

    async def in_time() -> Any:
        return await asyncio.wait_for(call(outer, CallOptions(), [1], {}), 60)

    assert background.run(in_time()) == 1.0


def test_a_forked_process_does_not_wait_for_its_parents_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = queue_module.shared_queue()
    assert queue_module.shared_queue() is parents
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert queue_module.shared_queue() is not parents


def test_a_loop_that_is_blocked_or_closed_holds_up_no_other_call(
    function: Callable[..., Function], pool: StandInPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = CallQueue(1, lambda: math.inf)
    monkeypatch.setattr("autocoder_jupyter.calls.call.shared_queue", lambda: queue)
    made = function("def run():\n    return 1.0\n")

    async def in_time() -> Any:
        return await asyncio.wait_for(call(made, CallOptions(), [], {}), 60)

    async def begun(task: asyncio.Task[Any]) -> None:
        while not (queue._running or task.done()):  # noqa: ASYNC110
            await asyncio.sleep(0)

    async def blocked() -> Any:
        tasks = [asyncio.create_task(call(made, CallOptions(), [], {})) for _ in range(3)]
        await begun(tasks[0])
        value = background.run(in_time())  # blocks this loop, as a call in a cell does
        await asyncio.gather(*tasks)
        return value

    assert asyncio.run(blocked()) == 1.0
    closed = asyncio.new_event_loop()
    left = [closed.create_task(call(made, CallOptions(), [], {})) for _ in range(3)]
    closed.run_until_complete(begun(left[0]))
    closed.close()
    assert background.run(in_time()) == 1.0
