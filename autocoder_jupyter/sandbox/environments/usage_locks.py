"""Locks on environments in use: each process that uses one holds a shared lock on a file beside it until it ends.

The file's time says when the environment was last used.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from autocoder_jupyter.concurrency import file_locks

_lock = threading.Lock()
_held: dict[str, int] = {}
"""Descriptors by file."""


def mark_used(file: Path) -> None:
    """Use what `file` stands for, now and until this process ends. Waits for a process that is just removing it."""
    with suppress(OSError):  # a cache that cannot be written cannot be cleaned up either
        with _lock:
            if file_locks.SUPPORTED and not _is_held(file):
                _held[str(file)] = _locked(file)
        os.utime(file)


@contextmanager
def lock_if_unused(file: Path) -> Iterator[bool]:
    """Whether no living process uses what `file` stands for. If so, none can start to use it until this ends."""
    if not file_locks.SUPPORTED:
        yield False
        return
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield file_locks.try_exclusive(descriptor)
    finally:
        os.close(descriptor)


def _is_held(file: Path) -> bool:
    """Whether this process uses it. A file that was removed, with the whole cache, does not count any more."""
    descriptor = _held.get(str(file))
    if descriptor is None or os.fstat(descriptor).st_nlink:
        return descriptor is not None
    os.close(_held.pop(str(file)))
    return False


def _locked(file: Path) -> int:
    while True:
        descriptor = file_locks.open_lock(file)
        file_locks.take_shared(descriptor)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # it was removed while we waited
