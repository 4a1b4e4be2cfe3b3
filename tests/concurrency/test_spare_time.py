"""Work for which nobody waits runs when nothing else does, ends when something begins, and begins again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from autocoder_jupyter.concurrency import spare_time
from autocoder_jupyter.concurrency.spare_time import SpareTime


@pytest.fixture
def spare(monkeypatch: pytest.MonkeyPatch) -> SpareTime:
    monkeypatch.setattr(spare_time, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(spare_time, "_POLL_SECONDS", 0.001)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    return SpareTime()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_it_waits_for_the_end_of_what_is_done_for_somebody(spare: SpareTime) -> None:
    begun = list[int]()

    async def work() -> str:
        begun.append(1)
        return "done"

    with spare.in_use():
        with spare.in_use():
            running = asyncio.create_task(spare.run(work))
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.05)
        assert not begun
    assert await running == "done" and begun == [1]


async def test_it_is_ended_at_once_and_begins_again(spare: SpareTime) -> None:
    begun, ended, may_end = list[int](), list[int](), asyncio.Event()

    async def work() -> int:
        begun.append(1)
        try:
            await may_end.wait()
        except asyncio.CancelledError:
            ended.append(1)
            raise
        return len(begun)

    running = asyncio.create_task(spare.run(work))
    await until(lambda: len(begun) == 1)
    with spare.in_use():
        await until(lambda: len(ended) == 1)
    await until(lambda: len(begun) == 2)
    may_end.set()
    assert await running == 2


async def test_a_cancel_ends_it_for_good_and_an_error_is_that_of_the_work(spare: SpareTime) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(1000)
        finally:
            ended.set()

    running = asyncio.create_task(spare.run(work))
    await begun.wait()
    running.cancel()
    await asyncio.wait({running})
    await asyncio.wait_for(ended.wait(), 60)
    assert running.cancelled()

    async def fails() -> None:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        await spare.run(fails)


async def test_one_runs_at_a_time_and_none_while_the_machine_is_busy(
    spare: SpareTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, most, load = 0, 0, 1000.0
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))

    async def work() -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.01)
        at_once -= 1

    running = [asyncio.create_task(spare.run(work)) for _ in range(3)]
    await asyncio.sleep(0.05)
    assert most == 0
    load = 0.0
    await asyncio.gather(*running)
    assert most == 1


async def test_work_that_cancels_itself_does_not_begin_again(spare: SpareTime) -> None:
    begun = list[int]()

    async def work() -> None:
        begun.append(1)
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(0.5):
            await spare.run(work)
    assert begun == [1]
