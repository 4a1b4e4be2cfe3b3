"""Clearing away what has not been used for a month: after a build, in the background, at most once a day."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from autocoder_jupyter.sandbox.claims import unclaimed
from autocoder_jupyter.sandbox.environments import LEFT_OVER, cache_folder
from autocoder_jupyter.sandbox.worker import removal

UNUSED_DAYS = 30
"""Days after which what nobody used goes."""

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
        with suppress(Exception):  # nobody waits for it, and the next day it is tried again
            work(now - UNUSED_DAYS * _DAY)

    thread = threading.Thread(target=clear, name="autocode-upkeep", daemon=True)
    thread.start()
    return thread


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
    with unclaimed(use) as unused:
        if not unused:
            return
        # Whoever builds claims first, so nobody holds the lock of a build, or waits for it, either.
        gone = [*folder.parent.glob(f"{folder.name}{LEFT_OVER}*")]
        if folder.exists():
            gone.append(Path(tempfile.mkdtemp(prefix=f"{folder.name}{LEFT_OVER}", dir=folder.parent)))
            folder.rename(gone[-1] / folder.name)
        folder.with_suffix(".lock").unlink(missing_ok=True)
        use.unlink()
    for left_over in gone:
        removal.remove(left_over)
