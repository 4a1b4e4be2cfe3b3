"""Remove environments that were not used for a month, and the least recently used ones if all take too much space.

Both run in the background after a build; the first at most once a day.
"""

from __future__ import annotations

import math
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.concurrency.file_locks import lock_if_unused
from autocoder_jupyter.sandbox.environments.locking import LEFT_OVER
from autocoder_jupyter.sandbox.worker import removal
from autocoder_jupyter.types import parse_memory

UNUSED_DAYS = 30
"""Days after which an unused environment is removed."""

MOST = "10Gi"
"""Most space of all environments together. It is enough for about thirty with large libraries."""

_DAY = 24 * 3600.0


def daily(name: str, work: Callable[[float], object]) -> threading.Thread | None:
    """Run a cleanup on a daemon thread, unless a process of this machine did it within a day.

    Args:
        name: of the cleanup.
        work: called with a time in seconds since 1970. What was last used before it may be removed.

    Returns:
        The thread; None if there was nothing to do.
    """
    stamp = cache_folder() / f"{name}.cleared"
    now = time.time()
    try:
        if modified(stamp) > now - _DAY:
            return None
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
    except OSError:
        return None

    def clear() -> None:
        with suppress(Exception):  # no caller waits for it, and it will run again after a day
            work(now - UNUSED_DAYS * _DAY)

    thread = threading.Thread(target=clear, name="autocode-upkeep", daemon=True)
    thread.start()
    return thread


def most_bytes() -> int:
    """The limit for all environments in bytes. `AUTOCODE_CACHE_SIZE` overrides it, for example with `20Gi`."""
    with suppress(ValueError):
        return parse_memory(os.environ.get("AUTOCODE_CACHE_SIZE") or MOST)
    return parse_memory(MOST)


def keep_within_bound() -> threading.Thread:
    """Remove the least recently used environments until the limit is met. It runs on a daemon thread."""
    thread = threading.Thread(target=lambda: prune_local(most=most_bytes()), name="autocode-upkeep", daemon=True)
    thread.start()
    return thread


def prune_local(*, most: int) -> int:
    """Remove environments that no process uses, the least recently used first, until all take at most `most` bytes.

    Returns:
        The number of freed bytes.
    """
    left = local_environments()
    total, freed = sum(one.bytes for one in left), 0
    for one in reversed(left):
        if total - freed <= most:
            break
        with suppress(OSError):
            _clear_environment(one.folder, math.inf)
        freed += one.bytes * (not one.folder.exists())
    return freed


@dataclass(frozen=True)
class Stored:
    """An environment on disk.

    Args:
        folder: of the environment.
        bytes: its size, without files that it shares with a more recently used environment.
        used: time of its last use, in seconds since 1970.
        in_use: whether a process uses it now.
    """

    folder: Path
    bytes: int
    used: float
    in_use: bool


def local_environments() -> list[Stored]:
    """The virtual environments in the cache of this machine, the most recently used first."""
    folders = [path for path in (cache_folder() / "environments").glob("*") if path.is_dir() and "." not in path.name]
    used = {folder: max(modified(folder.with_suffix(".use")), modified(folder)) for folder in folders}
    seen: set[tuple[int, int]] = set()
    return [
        Stored(folder, size_of(folder, seen), used[folder], _is_in_use(folder))
        for folder in sorted(folders, key=lambda folder: used[folder], reverse=True)
    ]


def size_of(folder: Path, seen: set[tuple[int, int]]) -> int:
    """The bytes of the files below a folder. A file with several hard links is counted once.

    Args:
        folder: the folder.
        seen: device and inode numbers of files that are already counted; new ones are added.
    """
    size = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                status = Path(parent, name).lstat()
                if (status.st_dev, status.st_ino) not in seen:
                    seen.add((status.st_dev, status.st_ino))
                    size += status.st_size
    return size


def _is_in_use(folder: Path) -> bool:
    use = folder.with_suffix(".use")
    if not use.exists():
        return False
    try:
        with lock_if_unused(use) as unused:
            return not unused
    except OSError:
        return True


def modified(file: Path) -> float:
    """When a file or folder was last changed, in seconds since 1970; 0 if it does not exist."""
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def clear_local(before: float) -> None:
    """Remove old virtual environments, folders of interrupted builds, and old resolved locks of packages.

    Args:
        before: seconds since 1970. What was last used before this time, and is not in use, is removed.
    """
    environments = cache_folder() / "environments"
    for key in sorted({entry.name.partition(".")[0] for entry in environments.glob("*")}):
        with suppress(OSError):
            _clear_environment(environments / key, before)
    for file in (cache_folder() / "locks").glob("*"):
        with suppress(OSError):
            if modified(file) < before:
                file.unlink()


def _clear_environment(folder: Path, before: float) -> None:
    use = folder.with_suffix(".use")
    if max(modified(use), modified(folder)) >= before:
        return
    with lock_if_unused(use) as unused:
        if not unused:
            return
        # A build first marks its environment as used. So no build of it is running or waiting now.
        gone = [*folder.parent.glob(f"{folder.name}{LEFT_OVER}*")]
        if folder.exists():
            gone.append(Path(tempfile.mkdtemp(prefix=f"{folder.name}{LEFT_OVER}", dir=folder.parent)))
            folder.rename(gone[-1] / folder.name)
        folder.with_suffix(".lock").unlink(missing_ok=True)
        use.unlink()
    for left_over in gone:
        removal.remove(left_over)
