"""Private folders in the system's temporary folder, which are removed at the end, also after a kernel was killed.

A process that needs a folder has a lock on it, which the system releases when the process ends. So a folder that can be
locked was left by a dead kernel, and is removed. Process ids cannot be used instead, because kernels in different
containers may share `/tmp`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from autocoder_jupyter.concurrency import file_locks
from autocoder_jupyter.sandbox.worker import removal

Use = Literal["worker", "claude", "canary", "meeting", "build", "output", "pieces"]
"""What a folder is for: where a local worker may write, the files of the Claude program, the trial of a tier, the
sockets of a container, the build of an image, files that a function returned, a table that is divided by its keys."""

_SWEEP_SECONDS = 2.0
"""Time limit for removing the folders of dead kernels before a start. The next kernel continues."""

_YOUNG_SECONDS = 60.0
"""A younger folder may not be locked yet."""

_NO_LOCK = -1
"""The lock of a folder on a system without locks. Nothing is removed there after a crash."""

_swept = threading.Event()


@dataclass(frozen=True)
class TemporaryFolder:
    """A locked folder. It stays locked while a process has an open copy of the descriptor `lock`."""

    path: Path
    lock: int

    def remove(self) -> None:
        """Remove it with its content, and release the lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.lock != _NO_LOCK:
            os.close(self.lock)


def make_folder(use: Use) -> TemporaryFolder:
    """Create and lock a folder that only this user can enter. The first call of a process removes abandoned ones."""
    if not _swept.is_set():
        _swept.set()
        remove_abandoned()
    path = Path(tempfile.mkdtemp(prefix=_prefix(use))).resolve()
    if not file_locks.SUPPORTED:
        return TemporaryFolder(path, _NO_LOCK)
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:
        path.rmdir()
        raise
    file_locks.try_exclusive(lock)  # cannot fail, because no other process knows the folder yet
    return TemporaryFolder(path, lock)


@contextmanager
def temporary_folder(use: Use) -> Iterator[Path]:
    """A folder for the time of this context."""
    folder = make_folder(use)
    try:
        yield folder.path
    finally:
        folder.remove()


def remove_abandoned() -> None:
    """Remove this user's unlocked folders of all uses. It takes at most 2 s and never raises."""
    until = time.monotonic() + _SWEEP_SECONDS
    for use in get_args(Use):
        for path in Path(tempfile.gettempdir()).glob(f"{_prefix(use)}*"):
            with suppress(Exception):  # a failure here must not prevent the start of a worker
                about = path.lstat()
                if about.st_uid == os.getuid() and time.time() - about.st_mtime > _YOUNG_SECONDS:
                    _remove_unless_locked(path, seconds=until - time.monotonic())


def _prefix(use: Use) -> str:
    return f"autocode-{use}-"


def _remove_unless_locked(path: Path, *, seconds: float) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if file_locks.try_exclusive(lock):
            removal.remove(path, seconds=seconds)
    finally:
        os.close(lock)
