"""A worker as its supervisor watches it: the limits of memory, files and locks, its share of a core, and its end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.sandbox.local import control_groups, process_tree
from autocoder_jupyter.sandbox.local.confinement.notices import Judge
from autocoder_jupyter.sandbox.local.messages import AT_WORK, TreeEnding, report_to

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
    """

    memory: int | None
    disk: int
    folder: str


class Checks:
    """The checks of the limits of one worker: every `WATCH_SECONDS` while a program runs, else every `REST_SECONDS`.

    Args:
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
    """
    now = time.monotonic()
    return max(began, 2 * now - began - WATCH_SECONDS)


def counted_at_begin(looked: float, checked: float) -> float:
    """The time from which the interval to the next check is counted, when a request begins after a rest.

    The program is first checked `WATCH_SECONDS` later. What it holds before then was never seen, since the check at its
    begin saw a program that had not begun; but that check took the core from the call. Nothing is left of earlier
    programs, and in spite of many short ones the worker is checked every `REST_SECONDS`.
    """
    now = time.monotonic()
    return now if now - checked < REST_SECONDS else looked


def broken_limit(bounds: WorkerBounds, root: int, *, with_disk: bool) -> TreeEnding | None:
    """The limit that the tree of `root` exceeds, if any. The text has the limit, not the use, which always differs."""
    if bounds.memory is None and not with_disk:
        return None
    processes = process_tree.views(process_tree.tree(root))
    held = process_tree.descriptors(processes) if with_disk else process_tree.Descriptors()
    if bounds.memory is not None:
        if _uses_more_memory(processes, held, bounds.memory):
            return out_of_memory(bounds.memory)
        if limit := control_groups.memory_exceeded_by(lambda most: _uses_more_memory(processes, held, most)):
            text = f"The container around the notebook has {_megabytes(limit)} of memory, which was nearly used up."
            return TreeEnding("memory", text=text)
    if not with_disk:
        return None
    folder = Path(bounds.folder)
    use = process_tree.disk(folder, processes, held, MOST_FILES)
    if use.moved or _broken_by_files(use, bounds.disk):
        # Descriptors, folders and mappings are read one after the other. A file that changes meanwhile may be counted
        # wrongly, so the tree is stopped and counted again.
        with process_tree.stopped(root):
            processes = process_tree.views(process_tree.tree(root))
            use = process_tree.disk(folder, processes, process_tree.descriptors(processes), MOST_FILES)
    if broken := _broken_by_files(use, bounds.disk):
        return broken
    if process_tree.locks(processes) > MOST_LOCKS:
        return TreeEnding("files", text=f"It held more than {MOST_LOCKS} locks on files.")
    return None


def _broken_by_files(use: process_tree.DiskUse, most: int) -> TreeEnding | None:
    if use.bytes + use.unmeasured * most // 2 > most:
        return TreeEnding("disk", text=f"It wrote more than {_megabytes(most)} of files.")
    if use.entries > MOST_FILES:
        return TreeEnding("files", text=f"It made more than {MOST_FILES} files.")
    if use.hidden:
        return TreeEnding("files", text="It made folders without permission to read them, or nested too deeply.")
    return None


def _uses_more_memory(processes: Sequence[str], held: process_tree.Descriptors, most: int) -> bool:
    buffers = held.buffers()
    return process_tree.memory(processes, most - buffers) + buffers > most


def out_of_memory(most: int) -> TreeEnding:
    """The ending of a tree that used more than `most` bytes of memory."""
    return TreeEnding("memory", text=f"It used more than {_megabytes(most)} of memory.")


def _megabytes(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


# A share of one core

_PERIOD = 0.1
"""Seconds of one cycle, in which the tree runs and is then stopped."""


class Throttle:
    """Limits a process tree to less than one core, by stopping it for a part of each `_PERIOD`. Not threadsafe.

    Args:
        root: process id of the first process of the tree.
        percent: percent of one core; None for no limit.
    """

    def __init__(self, root: int, percent: int | None) -> None:
        self._root = root
        self._running = _PERIOD * percent / 100 if percent is not None else None
        self._stopped = False
        self._due = time.monotonic()

    def due(self, at_work: bool) -> float:
        """When to call `act` next, by the monotonic clock; infinity if it is not needed."""
        return float("inf") if self._running is None or not (at_work or self._stopped) else self._due

    def act(self, at_work: bool) -> None:
        """Stop or continue the tree if it is due. A tree without a running request is not stopped."""
        if self._running is None or (time.monotonic() < self._due and at_work) or not (at_work or self._stopped):
            return
        self._stopped = at_work and not self._stopped
        self._due = time.monotonic() + (_PERIOD - self._running if self._stopped else self._running)
        for pid in (self._root, *process_tree.descendants(self._root)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP if self._stopped else signal.SIGCONT)


# One worker

_EXIT_CODE = 49
"""Index of the field in /proc/PID/stat, after the name of the process."""


class WatchedWorker:
    """Watches one worker.

    Args:
        pid: process id of its first process, which only this process or a loading process may reap.
        share_of_core: percent of one core, if it may use less than one.
        judge: decides about the system calls of its processes.
        lifeline: descriptor of the lifeline; see `supervisor`.
    """

    def __init__(
        self, pid: int, checks: Checks, share_of_core: int | None, judge: Judge, lifeline: int, report: int
    ) -> None:
        self.pid, self.judge, self.report = pid, judge, report
        self._checks, self._throttle = checks, Throttle(pid, share_of_core)
        self._lifeline, self._ended = lifeline, os.pidfd_open(pid)

    @property
    def folder(self) -> str:
        """The folder in which it may write."""
        return self._checks.bounds.folder

    @property
    def watched(self) -> tuple[int, int]:
        """The descriptors to poll: the lifeline, and the end of the first process."""
        return self._lifeline, self._ended

    @property
    def has_ended(self) -> bool:
        """Whether its first process has ended."""
        return is_readable(self._ended, 0)

    @property
    def due(self) -> float:
        """When to call `turn` next, by the monotonic clock."""
        return min(self._checks.due, self._throttle.due(self._checks.at_work))

    def turn(self, woken: set[int]) -> TreeEnding | None:
        """Check limits and the lifeline if they are due."""
        if self._ended in woken:
            return self._own_end()
        if self._lifeline in woken:
            message = os.read(self._lifeline, 4096)
            if not message:
                return TreeEnding(text="the notebook closed the connection to the worker")
            self._checks.hear(message)
        self._throttle.act(self._checks.at_work)
        return self._checks.broken() if time.monotonic() >= self._checks.due else None

    def kill(self) -> None:
        """Kill the worker with all its processes. The first process is stopped, and killed last: it adopts orphans."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._ended, signal.SIGSTOP)
            if not self.has_ended:
                process_tree.kill_descendants(self.pid)
            signal.pidfd_send_signal(self._ended, signal.SIGKILL)
            is_readable(self._ended, process_tree.SECONDS_TO_DIE)

    def end(self, ending: TreeEnding) -> None:
        """Report why it ended, and close its descriptors."""
        report_to(self.report, ending)
        for descriptor in (self._lifeline, self.report, self._ended):
            os.close(descriptor)

    def _own_end(self) -> TreeEnding:
        """How it ended. Its exit code can be read, because it was not reaped yet."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b") ")[2].split()
        except OSError:
            return TreeEnding(text="It ended.")
        code = os.waitstatus_to_exitcode(int(fields[_EXIT_CODE]))
        return TreeEnding(signal=-code) if code < 0 else TreeEnding(exit_code=code)


def is_readable(descriptor: int, seconds: float) -> bool:
    """Whether a descriptor is readable, or becomes so within `seconds`."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
