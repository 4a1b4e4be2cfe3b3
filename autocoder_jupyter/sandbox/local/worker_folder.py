"""The one folder that a local worker may write: private, under the system's temporary folder, gone at the end.

While somebody needs a folder they hold a lock on it, which the system takes away when they die; so a folder that can be
locked is a dead kernel's and is removed. Process numbers would not do: kernels in different containers may share
`/tmp`.
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
"""How long a start may be held up by what dead kernels left; the next kernel goes on where this one stopped."""

_YOUNG_SECONDS = 60.0
"""A folder this young may be between its making and its locking."""


@dataclass(frozen=True)
class WorkerFolder:
    """A locked folder; it stays locked while any process holds an open copy of the descriptor `lock`."""

    path: Path
    lock: int


def make_folder(prefix: str = WORKER) -> WorkerFolder:
    """Make a folder that only this user may enter, and lock it; its name begins with `prefix`."""
    path = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:
        path.rmdir()
        raise
    file_locks.try_exclusive(lock)  # no other process knows it yet
    return WorkerFolder(path, lock)


def remove_abandoned(prefix: str = WORKER) -> None:
    """Remove this user's folders of a kind that are not locked, within a short time. Never raises."""
    until = time.monotonic() + _SWEEP_SECONDS
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(Exception):  # whatever a program left there, the next one must be able to start
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
