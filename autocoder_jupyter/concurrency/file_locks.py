"""Locks between processes, on open files. The system releases the lock of a process that dies.

`flock` belongs to the open file: a forked process shares its parent's locks, which last until both have closed it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_fcntl: Any = None if sys.platform == "win32" else importlib.import_module("fcntl")

SUPPORTED = _fcntl is not None
"""Whether this system has `flock`. Without it, it is unknown whether something is in use."""

_POLL_SECONDS = 0.1


def open_lock(file: Path) -> int:
    """The descriptor of a lock's file, which is made with its folder if need be.

    Raises:
        OSError: it cannot be.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_exclusive(descriptor: int) -> bool:
    """Take an exclusive lock on an open file or folder, unless another process holds one. Does not wait."""
    try:
        _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def take_shared(descriptor: int) -> None:
    """Take a shared lock on an open file; waits while another process holds an exclusive one."""
    _fcntl.flock(descriptor, _fcntl.LOCK_SH)


@contextmanager
def exclusive(file: Path, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold an exclusive lock; waits while another process holds it. Works on Windows too.

    Args:
        file: of the lock; it stays.
        while_waiting: called ten times a second; what it raises ends the waiting.
    """
    from filelock import FileLock, Timeout  # slow to import, and a call in a known environment needs no lock

    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    while True:
        while_waiting()
        try:
            lock.acquire(timeout=_POLL_SECONDS)
            break
        except Timeout:
            continue
    try:
        yield
    finally:
        lock.release()
