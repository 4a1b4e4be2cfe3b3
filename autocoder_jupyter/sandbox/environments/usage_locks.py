"""Who uses an environment: every process that does holds a shared lock on a file beside it, until the process ends.

The system takes the lock away from a process that dies, so there is nothing to clean up and nobody to ask. The file's
time says when it was last used.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_fcntl: Any = None if sys.platform == "win32" else importlib.import_module("fcntl")
"""Without such locks nothing can be told to be unused."""

_lock = threading.Lock()
_held: dict[str, int] = {}
"""Descriptors by file. A forked process shares its parent's locks, which then last until both have ended."""


def claim(file: Path) -> None:
    """Use what `file` stands for, now and until this process ends. Waits for whoever is just removing it."""
    with suppress(OSError):  # a cache that cannot be written is nobody's to clear either
        with _lock:
            if not _is_held(file) and _fcntl is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                _held[str(file)] = _locked(file)
        os.utime(file)


@contextmanager
def unclaimed(file: Path) -> Iterator[bool]:
    """Whether no living process uses what `file` stands for; if so nobody can begin to before this ends."""
    if _fcntl is None:
        yield False
        return
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _is_held(file: Path) -> bool:
    """Whether this process claims it; a file that somebody removed, with its whole cache, claims nothing any more."""
    descriptor = _held.get(str(file))
    if descriptor is None or os.fstat(descriptor).st_nlink:
        return descriptor is not None
    os.close(_held.pop(str(file)))
    return False


def _locked(file: Path) -> int:
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        _fcntl.flock(descriptor, _fcntl.LOCK_SH)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # it was removed while we waited
