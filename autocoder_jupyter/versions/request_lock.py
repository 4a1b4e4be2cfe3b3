"""A lock for each request: one process at a time works on it; a second one waits and finds what the first has made.

The lock file is in the cache of this machine, not in the `.autocode` folder, which may be shared. So it does not work
between machines.
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
async def hold_lock(lock: Path, on_wait: Callable[[], object]) -> AsyncIterator[None]:
    """Hold the lock of a request; wait until no other process holds it.

    If the file system has no locks, or the file cannot be opened, there is no lock and no wait.

    Args:
        lock: see `lock_of`.
        on_wait: called once if another process holds the lock.
    """
    descriptor = _opened(lock)
    if descriptor is None:
        yield
        return
    try:
        told = False
        while not file_locks.try_exclusive(descriptor):
            if not told:
                on_wait()
                told = True
            await asyncio.sleep(LOOK_SECONDS)
        yield
    finally:
        os.close(descriptor)


def lock_of(cache: Path, root: Path, name: str, request_key: str) -> Path:
    """The lock file of a request.

    Args:
        cache: the cache folder of this machine.
        root: the `.autocode` folder.
        name: the name of the function.
        request_key: the key of the request.
    """
    what = f"{root.resolve()}\n{name}\n{request_key}"
    return cache / "request_locks" / f"{hashlib.sha256(what.encode()).hexdigest()[:32]}.lock"


def is_held(lock: Path) -> bool:
    """Whether a process currently works on a request."""
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
