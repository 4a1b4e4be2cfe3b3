"""Locks between processes, on open files. The system releases the locks of a process that ends.

A lock of `flock` belongs to the open file. A forked process shares the locks of its parent; a lock is released when
both have closed the file.
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
"""Whether this system has `flock`. Without it, one cannot find out whether something is in use."""

_POLL_SECONDS = 0.1


def open_lock(file: Path) -> int:
    """Open the file of a lock and return its descriptor. The file and its folder are created if they are missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_exclusive(descriptor: int) -> bool:
    """Try to take an exclusive lock on an open file or folder, without waiting. Returns whether it was taken."""
    try:
        _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def take_shared(descriptor: int) -> None:
    """Take a shared lock on an open file. It waits while another process has an exclusive lock."""
    _fcntl.flock(descriptor, _fcntl.LOCK_SH)


@contextmanager
def lock_if_unused(file: Path) -> Iterator[bool]:
    """A context that gives whether no process has a lock on this file. If it is True, none can take one meanwhile.

    On a system without `flock` it is always False.

    Raises:
        OSError: the file cannot be created or opened.
    """
    if not SUPPORTED:
        yield False
        return
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield try_exclusive(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def exclusive(file: Path, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Take an exclusive lock for the time of this context. It waits while another process has it. Works on Windows."""
    from filelock import FileLock, Timeout  # a slow import that most calls do not need

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
