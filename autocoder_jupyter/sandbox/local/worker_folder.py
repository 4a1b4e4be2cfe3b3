"""The folder in which a local worker may write: private, in the system's temporary folder, and removed at the end.

A process that needs a folder has a lock on it, which the system releases when the process ends. So a folder that can be
locked was left by a dead kernel, and is removed. Process ids cannot be used instead, because kernels in different
containers may share `/tmp`.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.concurrency import file_locks
from autocoder_jupyter.sandbox.worker import removal

WORKER = "autocode-worker-"
_SWEEP_SECONDS = 2.0
"""Time limit for removing the folders of dead kernels before a start. The next kernel continues."""

_YOUNG_SECONDS = 60.0
"""A younger folder may not be locked yet."""


@dataclass(frozen=True)
class WorkerFolder:
    """A locked folder. It stays locked while a process has an open copy of the descriptor `lock`."""

    path: Path
    lock: int


def make_folder(prefix: str = WORKER) -> WorkerFolder:
    """Create and lock a folder that only this user can enter. Its name begins with `prefix`."""
    path = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:
        path.rmdir()
        raise
    file_locks.try_exclusive(lock)  # cannot fail, because no other process knows the folder yet
    return WorkerFolder(path, lock)


def remove_abandoned(prefix: str = WORKER) -> None:
    """Remove this user's unlocked folders whose names begin with `prefix`. It takes at most 2 s and never raises."""
    until = time.monotonic() + _SWEEP_SECONDS
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(Exception):  # a failure here must not prevent the start of a worker
            about = path.lstat()
            if about.st_uid == os.getuid() and time.time() - about.st_mtime > _YOUNG_SECONDS:
                _remove_unless_locked(path, seconds=until - time.monotonic())


def _remove_unless_locked(path: Path, *, seconds: float) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if file_locks.try_exclusive(lock):
            removal.remove(path, seconds=seconds)
    finally:
        os.close(lock)
