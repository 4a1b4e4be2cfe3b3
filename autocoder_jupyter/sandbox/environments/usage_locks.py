"""Locks on environments in use. A process that uses one has a shared lock on its usage file until the process ends.

The time of the file is that of the last use.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from autocoder_jupyter.concurrency import file_locks

_lock = threading.Lock()
_held: dict[str, int] = {}
"""The descriptor of each locked usage file, by its path."""


def mark_used(file: Path) -> None:
    """Mark the environment of a usage file as used until this process ends. Waits if it is just being removed."""
    with suppress(OSError):  # a cache that cannot be written cannot be cleaned up, either
        with _lock:
            if file_locks.SUPPORTED and not _is_held(file):
                _held[str(file)] = _locked(file)
        os.utime(file)


def _is_held(file: Path) -> bool:
    """Whether this process has the lock. A lock on a file that was removed with the cache does not count."""
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
        os.close(descriptor)  # the file was removed during the wait
