"""Remove environments that were not used for a month, and those used longest ago when all take too much space.

It happens after a build, in the background; the first at most once a day.
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

from autocoder_jupyter.sandbox.environments.locking import LEFT_OVER, cache_folder
from autocoder_jupyter.sandbox.environments.usage_locks import lock_if_unused
from autocoder_jupyter.sandbox.worker import removal
from autocoder_jupyter.types import parse_memory

UNUSED_DAYS = 30
"""Days after which an unused environment is removed."""

MOST = "10Gi"
"""What environments may take together; about thirty with large libraries."""

_DAY = 24 * 3600.0


def daily(name: str, work: Callable[[float], object]) -> threading.Thread | None:
    """Do work on a daemon thread, unless some process of this machine did it within a day.

    Args:
        name: of the work.
        work: gets the time, in seconds since the epoch, before which something must have been used last to be unused.
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
        with suppress(Exception):  # no caller waits for it, and it is tried again the next day
            work(now - UNUSED_DAYS * _DAY)

    thread = threading.Thread(target=clear, name="autocode-upkeep", daemon=True)
    thread.start()
    return thread


def most_bytes() -> int:
    """The limit for all environments in bytes; `AUTOCODE_CACHE_SIZE` overrides it, as in `20Gi`."""
    with suppress(ValueError):
        return parse_memory(os.environ.get("AUTOCODE_CACHE_SIZE") or MOST)
    return parse_memory(MOST)


def keep_within_bound() -> threading.Thread:
    """Remove the environments that were used longest ago while all of them take too much; on a daemon thread."""
    thread = threading.Thread(target=lambda: prune_local(most=most_bytes()), name="autocode-upkeep", daemon=True)
    thread.start()
    return thread


def prune_local(*, most: int) -> int:
    """Remove environments that no living process uses, those used longest ago first, until all take `most` bytes.

    Returns:
        The bytes that they took.
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
    """An environment on disk. `bytes` are those that no environment that was used later has too; `used` is seconds
    since the epoch.
    """

    folder: Path
    bytes: int
    used: float
    in_use: bool


def local_environments() -> list[Stored]:
    """The virtual environments of this machine's cache, the one used last first."""
    folders = [path for path in (cache_folder() / "environments").glob("*") if path.is_dir() and "." not in path.name]
    used = {folder: max(modified(folder.with_suffix(".use")), modified(folder)) for folder in folders}
    seen: set[tuple[int, int]] = set()
    return [
        Stored(folder, size_of(folder, seen), used[folder], _is_in_use(folder))
        for folder in sorted(folders, key=lambda folder: used[folder], reverse=True)
    ]


def size_of(folder: Path, seen: set[tuple[int, int]]) -> int:
    """The bytes of the files below a folder, without those that were `seen`: files have many names, and cost once."""
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
    """When a file or folder was changed last, in seconds since the epoch; 0 when there is none."""
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def clear_local(before: float) -> None:
    """Remove virtual environments, and what stopped builds left, unless a living process uses them; and old locks."""
    place = cache_folder() / "environments"
    for key in sorted({entry.name.partition(".")[0] for entry in place.glob("*")}):
        with suppress(OSError):
            _clear_environment(place / key, before)
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
        # A build marks its environment as used first, so no process holds the lock of a build, or waits for it, either.
        gone = [*folder.parent.glob(f"{folder.name}{LEFT_OVER}*")]
        if folder.exists():
            gone.append(Path(tempfile.mkdtemp(prefix=f"{folder.name}{LEFT_OVER}", dir=folder.parent)))
            folder.rename(gone[-1] / folder.name)
        folder.with_suffix(".lock").unlink(missing_ok=True)
        use.unlink()
    for left_over in gone:
        removal.remove(left_over)
