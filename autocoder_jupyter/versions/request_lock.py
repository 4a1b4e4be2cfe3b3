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
async def hold_lock(lock: Path, on_wait: Callable[[], object]) -> AsyncIterator[bool]:
    """Hold the lock of a request; wait until no other process holds it. Gives whether it is held.

    If the file system has no locks, or the file cannot be opened, there is no lock and no wait.

    Args:
        lock: see `lock_of`.
        on_wait: called once if another process holds the lock.
    """
    descriptor = _opened(lock)
    told = False
    try:
        while descriptor is not None and not _is_taken(descriptor):
            if os.fstat(descriptor).st_nlink:
                if not told:
                    on_wait()
                    told = True
                await asyncio.sleep(LOOK_SECONDS)
            else:  # it was removed meanwhile; another process locks the file that has its name now
                os.close(descriptor)
                descriptor = _opened(lock)
        yield descriptor is not None
    finally:
        if descriptor is not None:
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
    return _folder(cache) / f"{hashlib.sha256(what.encode()).hexdigest()[:32]}.lock"


def remove_old(cache: Path, before: float) -> None:
    """Remove the lock files of requests on which no process works.

    Args:
        cache: the cache folder of this machine.
        before: seconds since 1970. Files of requests that were last worked on before this time are removed.
    """
    for lock in _folder(cache).glob("*.lock"):
        with contextlib.suppress(OSError):
            if lock.stat().st_mtime < before:
                with file_locks.lock_if_unused(lock) as unused:
                    if unused:
                        lock.unlink()


def is_held(lock: Path) -> bool:
    """Whether a process currently works on a request."""
    if file_locks.SUPPORTED and lock.exists():
        with contextlib.suppress(OSError), file_locks.lock_if_unused(lock) as unused:
            return not unused
    return False


def _folder(cache: Path) -> Path:
    return cache / "request_locks"


def _is_taken(descriptor: int) -> bool:
    """Try to take the lock on an open file. A file that was removed is of no use: its name may be locked again."""
    if not file_locks.try_exclusive(descriptor) or not os.fstat(descriptor).st_nlink:
        return False
    with contextlib.suppress(OSError):
        os.utime(descriptor)  # the time of the last use, for `remove_old`
    return True


def _opened(lock: Path) -> int | None:
    if file_locks.SUPPORTED:
        with contextlib.suppress(OSError):
            return file_locks.open_lock(lock)
    return None
