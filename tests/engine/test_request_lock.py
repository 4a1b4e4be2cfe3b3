"""The lock of a request, and the removal of its file when no process has used it for long."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.engine import loop
from autocoder_jupyter.errors import RequestInUse
from autocoder_jupyter.run.events import TokensUsed, WaitsForRun
from autocoder_jupyter.sandbox.environments import installed
from autocoder_jupyter.versions.request_lock import (
    Holder,
    LockPatience,
    hold_lock,
    is_held,
    lock_of,
    remove_old,
)
from tests.runner import CODE, PLAN, TESTS, Runner, fenced

pytestmark = pytest.mark.real_sandbox

AGO = 1_000_000.0


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return lock_of(tmp_path, tmp_path / ".autocode", "growth", "key")


def aged(lock: Path) -> None:
    """Make the file look as if it was last used before `AGO` seconds."""
    os.utime(lock, (time.time() - 2 * AGO,) * 2)


def is_removed(lock: Path) -> bool:
    """Whether a removal of old files removes it."""
    remove_old(lock.parent.parent, time.time() - AGO)
    return not lock.exists()


def delete(lock: Path) -> None:
    lock.unlink()


def write(lock: Path, content: bytes) -> None:
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_bytes(content)


async def test_an_old_file_is_removed_and_a_new_one_stays(lock: Path) -> None:
    async with hold_lock(lock, lambda _: None):
        pass
    assert not is_removed(lock)
    aged(lock)
    assert is_removed(lock)


async def test_a_request_makes_its_old_file_new(lock: Path) -> None:
    async with hold_lock(lock, lambda _: None):
        pass
    aged(lock)
    async with hold_lock(lock, lambda _: None):
        pass
    assert not is_removed(lock)


async def test_a_file_stays_while_its_request_is_worked_on(lock: Path) -> None:
    async with hold_lock(lock, lambda _: None):
        aged(lock)
        assert not is_removed(lock) and is_held(lock)
    assert is_removed(lock)


async def test_who_waits_for_a_file_that_is_removed_locks_the_file_that_others_find(lock: Path) -> None:
    waits = asyncio.Event()
    entered = asyncio.Event()

    async def wait() -> None:
        async with hold_lock(lock, lambda _: waits.set()):
            entered.set()
            assert is_held(lock)

    async with hold_lock(lock, lambda _: None):
        waiting = asyncio.create_task(wait())
        await waits.wait()
        delete(lock)
        async with hold_lock(lock, lambda _: None):
            assert not entered.is_set()
    await asyncio.wait_for(waiting, 60)
    assert entered.is_set()


# A holder that does not go on

QUICK = LockPatience(beat=0.05, stopped=0.5, silent=30.0)

HOLDS = """
import asyncio, os, sys
from pathlib import Path
from autocoder_jupyter.versions.request_lock import LockPatience, hold_lock

async def main():
    async with hold_lock(Path(sys.argv[1]), lambda _: None, patience=LockPatience(beat=0.05)):
        if sys.argv[2] == "child" and not os.fork():
            os.read(0, 1)
            return
        print("held", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


class OtherKernel:
    """Another process that holds a lock."""

    def __init__(self, lock: Path, how: str = "") -> None:
        command = [sys.executable, "-c", HOLDS, str(lock), how]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self._process.pid
        assert self._process.stdout is not None and self._process.stdout.readline() == b"held\n"

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)
        if number is signal.SIGKILL:
            self._process.wait()
        while number is signal.SIGSTOP and replace(Holder.this_process(), **self._known()).state != "stopped":
            time.sleep(0.01)

    def _known(self) -> dict[str, Any]:
        started = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[19]
        return {"pid": self.pid, "started": started}

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()  # a forked child ends when its input does


@pytest.fixture
def other(lock: Path) -> Iterator[Callable[..., OtherKernel]]:
    kernels: list[OtherKernel] = []

    def start(how: str = "") -> OtherKernel:
        kernels.append(OtherKernel(lock, how))
        return kernels[-1]

    yield start
    for kernel in kernels:
        kernel.end()


async def test_a_stopped_kernel_is_named_and_not_waited_for_for_ever(lock: Path, other: Any) -> None:
    kernel = other()
    kernel.send(signal.SIGSTOP)
    told: list[str] = []
    with pytest.raises(RequestInUse) as caught:
        async with hold_lock(lock, told.append, patience=QUICK):
            pytest.fail("the lock of a stopped kernel is not taken: it may go on")
    who = f"Another kernel (process {kernel.pid}, which is stopped) works on the same request."
    assert [words.startswith(who) for words in told] == [True]
    assert f"process {kernel.pid}, which is stopped" in str(caught.value)
    assert f"kill -CONT {kernel.pid}" in caught.value.hint


async def test_a_kernel_that_is_stopped_only_for_a_while_is_waited_for(lock: Path, other: Any) -> None:
    kernel, waits = other(), asyncio.Event()

    async def wait() -> None:
        async with hold_lock(lock, lambda _: waits.set(), patience=LockPatience(stopped=60.0)) as held:
            assert held

    kernel.send(signal.SIGSTOP)
    waiting = asyncio.create_task(wait())
    await waits.wait()
    kernel.send(signal.SIGCONT)
    kernel.send(signal.SIGTERM)
    await asyncio.wait_for(waiting, 30)


async def test_a_kernel_that_works_is_waited_for_longer_than_a_stopped_one(lock: Path, other: Any) -> None:
    other()
    patience = LockPatience(stopped=0.2, silent=0.4)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2), hold_lock(lock, lambda _: None, patience=patience):
            pytest.fail("another process holds it")


async def test_a_kernel_of_which_nothing_is_known_is_given_up_after_its_silence(lock: Path, other: Any) -> None:
    kernel = other()
    kernel.send(signal.SIGSTOP)
    write(lock, b"7 8 pid:[another]\n")
    with pytest.raises(RequestInUse, match="no sign of life"):
        async with hold_lock(lock, lambda _: None, patience=LockPatience(stopped=60.0, silent=0.5)):
            pytest.fail("another process holds it")


async def test_a_wait_can_be_cancelled_at_once(lock: Path, other: Any) -> None:
    other().send(signal.SIGSTOP)
    waits = asyncio.Event()

    async def wait() -> None:
        async with hold_lock(lock, lambda _: waits.set()):
            pytest.fail("another process holds it")

    waiting = asyncio.create_task(wait())
    await waits.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_killed_kernel_whose_forked_child_lives_holds_nobody_up(lock: Path, other: Any) -> None:
    other("child").send(signal.SIGKILL)
    assert is_held(lock)
    async with asyncio.timeout(30), hold_lock(lock, lambda _: None) as held:
        assert held and is_held(lock)


@pytest.mark.parametrize("content", [b"", b"x", b"-1 2 3", b"1 2", b"99999999999 1 a", b"\xff" * 500, b"1 2 3 4\n"])
async def test_a_lock_file_with_other_content_is_a_lock_like_any(lock: Path, content: bytes) -> None:
    write(lock, content)
    async with hold_lock(lock, lambda _: None) as held:
        assert held
        assert Holder.this_process().state == "alive"


@pytest.mark.local_sandbox
async def test_a_generation_beside_a_stopped_kernel_ends_without_a_question(
    runner: Runner, lock: Path, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = other()
    kernel.send(signal.SIGSTOP)
    monkeypatch.setattr(loop, "lock_of", lambda *where: lock)
    monkeypatch.setattr(loop, "hold_lock", functools.partial(hold_lock, patience=QUICK))
    events: list[Any] = []
    with pytest.raises(RequestInUse, match=f"process {kernel.pid}"):
        await runner.generate({}, hear=events.append)
    assert not any(isinstance(event, TokensUsed) for event in events)
    assert any(isinstance(event, WaitsForRun) and f"process {kernel.pid}" in event.words for event in events)


@pytest.mark.local_sandbox
async def test_a_generation_orders_the_daily_removal(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    ordered: dict[str, Callable[[float], object]] = {}
    monkeypatch.setattr(installed, "daily", lambda name, work: ordered.setdefault(name, work))
    removed: list[float] = []
    monkeypatch.setattr(loop, "remove_old", lambda cache, before: removed.append(before))
    await runner.generate({"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]})
    ordered["request_locks"](5.0)
    assert removed == [5.0]
