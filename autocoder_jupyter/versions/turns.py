"""One process at a time works on a request: whoever comes second waits, and finds the function that the first made.

The lock is in the cache of this machine, so that nothing of it
is in a folder that is shared; kernels on two machines do not see each other.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from autocoder_jupyter.concurrency import file_locks

LOOK_SECONDS = 0.2


@contextlib.asynccontextmanager
async def turn(lock: Path, waits: Callable[[], object]) -> AsyncIterator[None]:
    """Be the only one who works on a request, as soon as nobody else does.

    Args:
        lock: see `lock_of`.
        waits: told once, when somebody else is at it.
    """
    descriptor = _opened(lock)
    if descriptor is None:  # without such locks, or a place for them, both work
        yield
        return
    try:
        told = False
        while not file_locks.try_exclusive(descriptor):
            if not told:
                waits()
                told = True
            await asyncio.sleep(LOOK_SECONDS)
        yield
    finally:
        os.close(descriptor)


def lock_of(cache: Path, root: Path, name: str, request_key: str) -> Path:
    """The file that stands for a request of one name in one folder.

    Args:
        cache: of this machine.
        root: the `.autocode` folder.
        name: of the function.
        request_key: of the request.
    """
    what = f"{root.resolve()}\n{name}\n{request_key}"
    return cache / "turns" / f"{hashlib.sha256(what.encode()).hexdigest()[:32]}.lock"


def is_taken(lock: Path) -> bool:
    """Whether somebody works on a request at this moment."""
    descriptor = _opened(lock) if lock.exists() else None
    if descriptor is None:
        return False
    try:
        return not file_locks.try_exclusive(descriptor)
    finally:
        os.close(descriptor)


def _opened(lock: Path) -> int | None:
    if file_locks.SUPPORTED:
        with contextlib.suppress(OSError):
            return file_locks.open_lock(lock)
    return None
