"""The limits of a worker, which the supervisor checks from outside: memory, files, locks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.sandbox.local import container_memory, process_tree, usage
from autocoder_jupyter.sandbox.local.messages import AT_WORK, TreeEnding

WATCH_SECONDS = 0.05
"""Seconds between two checks of memory while a program may run."""

REST_SECONDS = 1.0
"""Seconds between two checks while no program runs. A check takes a few percent of a core, for each idle worker."""

_DISK_EVERY = 4
"""Files and descriptors are counted at every nth check, because this takes longer."""

MOST_FILES = 20_000
"""Most files and folders of one worker at a time.

The size of a removed file that is kept only by a mapping or a message cannot be found out. It counts as half of the
limit, so one such file is allowed.
"""

MOST_LOCKS = 10_000
"""Most locks on parts of files that one worker may hold."""


@dataclass(frozen=True)
class WorkerBounds:
    """The limits that the supervisor checks.

    Args:
        memory: bytes of the whole tree; None if the kernel limits it.
        disk: bytes of files in `folder`.
        folder: of the worker.
    """

    memory: int | None
    disk: int
    folder: str


class Checks:
    """The checks of the limits of one worker: every `WATCH_SECONDS` while a program runs, else every `REST_SECONDS`.

    Args:
        bounds: the limits.
        root: process id of the root of its tree.
    """

    def __init__(self, bounds: WorkerBounds, root: int) -> None:
        self.bounds, self._root = bounds, root
        self._at_work, self._count = True, 0
        self._looked = self._checked = time.monotonic()

    @property
    def at_work(self) -> bool:
        """Whether a program may run."""
        return self._at_work

    @property
    def due(self) -> float:
        """When the next one is due, by the monotonic clock."""
        return self._looked + (WATCH_SECONDS if self._at_work else REST_SECONDS)

    def hear(self, message: bytes) -> None:
        """Take a message of the lifeline: whether a program may run."""
        if not self._at_work:
            self._looked = counted_at_begin(self._looked, self._checked)
        self._at_work = message.endswith(AT_WORK)

    def broken(self) -> TreeEnding | None:
        """Check now. Returns the limit that is exceeded, if any."""
        began = time.monotonic()
        self._count += 1
        broken = broken_limit(self.bounds, self._root, with_disk=self._count % _DISK_EVERY == 0)
        self._looked, self._checked = counted_from(began), began
        return broken


def counted_from(began: float) -> float:
    """The time from which the interval to the next check is counted.

    If a check took longer than `WATCH_SECONDS`, the pause after it is as long as the check. Otherwise each system call
    that waits for the supervisor would have to wait for a check.

    Args:
        began: when the last check began, by the monotonic clock.
    """
    now = time.monotonic()
    return max(began, 2 * now - began - WATCH_SECONDS)


def counted_at_begin(looked: float, checked: float) -> float:
    """The time from which the interval to the next check is counted, when a request begins after a rest.

    The program is first checked `WATCH_SECONDS` later. What it holds before then was never seen, since the check at its
    begin saw a program that had not begun; but that check took the core from the call. Nothing is left of earlier
    programs, and in spite of many short ones the worker is checked every `REST_SECONDS`.

    Args:
        looked: that time before.
        checked: when the last check began.
    """
    now = time.monotonic()
    return now if now - checked < REST_SECONDS else looked


def broken_limit(bounds: WorkerBounds, root: int, *, with_disk: bool) -> TreeEnding | None:
    """The limit that the tree of `root` exceeds, if any. The text has the limit and not the use, which always differs.

    Args:
        bounds: the limits.
        root: process id of the root of the tree.
        with_disk: also check files, descriptors and locks.
    """
    if bounds.memory is None and not with_disk:
        return None
    processes = process_tree.views(process_tree.tree(root))
    held = usage.descriptors(processes) if with_disk else usage.Descriptors()
    if bounds.memory is not None:
        if _uses_more_memory(processes, held, bounds.memory):
            return out_of_memory(bounds.memory)
        if limit := container_memory.exceeded_by(lambda most: _uses_more_memory(processes, held, most)):
            text = f"The container around the notebook has {_megabytes(limit)} of memory, which was nearly used up."
            return TreeEnding("memory", text=text)
    if not with_disk:
        return None
    folder = Path(bounds.folder)
    use = usage.disk(folder, processes, held, MOST_FILES)
    if use.moved or _broken_by_files(use, bounds.disk):
        # Descriptors, folders and mappings are read one after the other. A file that changes meanwhile may be counted
        # wrongly, so the tree is stopped and counted again.
        with process_tree.stopped(root):
            processes = process_tree.views(process_tree.tree(root))
            use = usage.disk(folder, processes, usage.descriptors(processes), MOST_FILES)
    if broken := _broken_by_files(use, bounds.disk):
        return broken
    if usage.locks(processes) > MOST_LOCKS:
        return TreeEnding("files", text=f"It held more than {MOST_LOCKS} locks on files.")
    return None


def _broken_by_files(use: usage.DiskUse, most: int) -> TreeEnding | None:
    if use.bytes + use.unmeasured * most // 2 > most:
        return TreeEnding("disk", text=f"It wrote more than {_megabytes(most)} of files.")
    if use.entries > MOST_FILES:
        return TreeEnding("files", text=f"It made more than {MOST_FILES} files.")
    if use.hidden:
        return TreeEnding("files", text="It made folders without permission to read them, or nested too deeply.")
    return None


def _uses_more_memory(processes: Sequence[str], held: usage.Descriptors, most: int) -> bool:
    buffers = held.buffers()
    return usage.memory(processes, most - buffers) + buffers > most


def out_of_memory(most: int) -> TreeEnding:
    """The ending of a tree that used more than `most` bytes of memory."""
    return TreeEnding("memory", text=f"It used more than {_megabytes(most)} of memory.")


def _megabytes(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"
