"""The lock of a request, and the removal of its file when no process has used it for long."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autocoder_jupyter.engine import loop
from autocoder_jupyter.sandbox.environments import cleanup
from autocoder_jupyter.versions.request_lock import hold_lock, is_held, lock_of, remove_old
from tests.theatre import CODE, PLAN, TESTS, Theatre, fenced

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


async def test_an_old_file_is_removed_and_a_new_one_stays(lock: Path) -> None:
    async with hold_lock(lock, lambda: None):
        pass
    assert not is_removed(lock)
    aged(lock)
    assert is_removed(lock)


async def test_a_request_makes_its_old_file_new(lock: Path) -> None:
    async with hold_lock(lock, lambda: None):
        pass
    aged(lock)
    async with hold_lock(lock, lambda: None):
        pass
    assert not is_removed(lock)


async def test_a_file_stays_while_its_request_is_worked_on(lock: Path) -> None:
    async with hold_lock(lock, lambda: None):
        aged(lock)
        assert not is_removed(lock) and is_held(lock)
    assert is_removed(lock)


async def test_who_waits_for_a_file_that_is_removed_locks_the_file_that_others_find(lock: Path) -> None:
    waits = asyncio.Event()
    entered = asyncio.Event()

    async def wait() -> None:
        async with hold_lock(lock, waits.set):
            entered.set()
            assert is_held(lock)

    async with hold_lock(lock, lambda: None):
        waiting = asyncio.create_task(wait())
        await waits.wait()
        delete(lock)
        async with hold_lock(lock, lambda: None):
            assert not entered.is_set()
    await asyncio.wait_for(waiting, 10)
    assert entered.is_set()


@pytest.mark.local_sandbox
async def test_a_generation_orders_the_daily_removal(theatre: Theatre, monkeypatch: pytest.MonkeyPatch) -> None:
    ordered: dict[str, Callable[[float], object]] = {}
    monkeypatch.setattr(cleanup, "daily", lambda name, work: ordered.setdefault(name, work))
    removed: list[float] = []
    monkeypatch.setattr(loop, "remove_old", lambda cache, before: removed.append(before))
    await theatre.play({"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]})
    ordered["request_locks"](5.0)
    assert removed == [5.0]
