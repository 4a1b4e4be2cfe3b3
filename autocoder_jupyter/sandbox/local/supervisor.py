"""The supervisor of one local worker: a small process between the notebook and the sandboxed program.

It is needed for two reasons: the process that confines a worker must have one thread (`confinement`), and the whole
tree must end with the notebook's kernel, also after a crash. The kernel runs `main` in an isolated interpreter:

- its standard streams are those of the worker;
- descriptor `lifeline` receives the policy as one line of JSON, then a byte whenever a request of the worker begins or
  ends; when it is closed, everything is killed;
- descriptor `report` gets one line of JSON, the `TreeEnding`;
- descriptor `lock` has the lock on the worker's folder, which marks the folder as used.

A parent-death signal cannot replace the lifeline: Linux sends it when the *thread* that started the process ends, and
workers are started from short-lived threads.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from autocoder_jupyter.sandbox.local import container_memory, process_tree, usage
from autocoder_jupyter.sandbox.local.confinement.process import CannotConfine, ConfinedProcess, Confinement, start
from autocoder_jupyter.sandbox.local.confinement.throttle import Throttle
from autocoder_jupyter.sandbox.local.confinement.tiers import tier_named
from autocoder_jupyter.sandbox.local.control_group import ControlGroup
from autocoder_jupyter.sandbox.worker import removal

WATCH_SECONDS = 0.05
"""Seconds between two checks of memory while a program may run."""

REST_SECONDS = 1.0
"""Seconds between two checks while no program runs. A check takes a few percent of a core, for each idle worker."""

AT_WORK, AT_REST = b"+", b"-"
"""The bytes that the notebook sends over the lifeline."""

DISK_EVERY = 4
"""Files and descriptors are counted at every nth check, because this takes longer."""

MOST_FILES = 20_000
"""Most files and folders of one worker at a time.

The size of a removed file that is kept only by a mapping or a message cannot be found out. It counts as half of the
limit, so one such file is allowed.
"""

MOST_LOCKS = 10_000
"""Most locks on parts of files that one worker may hold."""


@dataclass(frozen=True)
class Policy(Confinement):
    """How a worker is started, confined and limited. Its `folder` is removed at the end.

    Args:
        memory: bytes of the whole tree.
        disk: bytes in `folder`.
        share_of_core: percent of one core, if it may use less than one.
        tier: name of the `confinement` tier.
        group: folder of the control group in which the worker's is created; "" if the supervisor watches memory and
            processes.
    """

    memory: int
    disk: int
    share_of_core: int | None
    tier: str
    group: str = ""

    def control_group(self) -> ControlGroup | None:
        """The worker's control group, which has the name of its folder; None if it has none."""
        return ControlGroup(self.group, Path(self.folder).name) if self.group else None


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


@dataclass(frozen=True)
class TreeEnding:
    """Why the tree ended.

    Args:
        limit: "memory", "disk" or "files" if it was killed because of this limit.
        signal: the signal that ended the worker's first process, if any.
        exit_code: of that process, if it exited.
        text: for the user.
        failed: whether the sandbox itself failed.
    """

    limit: str = ""
    signal: int | None = None
    exit_code: int | None = None
    text: str = ""
    failed: bool = False


def main(lifeline: int, report: int, lock: int) -> None:
    """Run one worker until its end. Never returns. The arguments are descriptors; see the docstring of this module."""
    parent = os.getppid()
    for descriptor in (lifeline, report, lock):
        os.set_inheritable(descriptor, False)
    policy = Policy(**json.loads(_read_line(lifeline)))
    process_tree.adopt_orphans()
    group = policy.control_group()
    try:
        if group is not None:
            group.make(memory=policy.memory, processes=policy.processes)
        worker = start(policy, tier_named(policy.tier), group)
    except (CannotConfine, OSError) as error:
        ending = TreeEnding(failed=True, text=f"the worker could not be started: {error}")
    else:
        release_streams()
        ending = _watch(worker, policy, lifeline, parent)
    if group is not None:
        ending = out_of_memory(policy.memory) if group.ran_out() else ending
        group.end()
    process_tree.kill_descendants(os.getpid())
    tell(report, ending)
    removal.remove(policy.folder)
    os._exit(0)


def release_streams() -> None:
    """Close the supervisor's copies of the worker's streams, so that their readers notice when the worker ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def _watch(worker: ConfinedProcess, policy: Policy, lifeline: int, parent: int) -> TreeEnding:
    """Wait until the worker ends, exceeds a limit, or is no longer needed. Returns the reason."""
    ended = os.pidfd_open(worker.pid)
    bounds = WorkerBounds(None if policy.group else policy.memory, policy.disk, policy.folder)
    throttle, checks = Throttle(worker.pid, policy.share_of_core), Checks(bounds, os.getpid())
    poll = select.poll()
    poll.register(lifeline, select.POLLIN | select.POLLHUP)
    poll.register(ended, select.POLLIN)
    poll.register(worker.notices, select.POLLIN)
    while True:
        due = min(checks.due, throttle.due(checks.at_work))
        woken = {descriptor for descriptor, _ in poll.poll(max(due - time.monotonic(), 0) * 1000)}
        if worker.notices.fileno() in woken:
            worker.notices.answer()
        if ended in woken:
            return _ending(worker.pid)
        message = os.read(lifeline, 4096) if lifeline in woken else b""
        if (lifeline in woken and not message) or os.getppid() != parent:
            return TreeEnding(text="the notebook closed the connection to the worker")
        if message:
            checks.hear(message)
        throttle.act(checks.at_work)
        if time.monotonic() < checks.due:
            continue
        if broken := checks.broken():
            return broken
        process_tree.reap_orphans(keep=worker.pid)


class Checks:
    """The checks of the limits of one worker: every `WATCH_SECONDS` while a program runs, else every `REST_SECONDS`.

    Args:
        bounds: the limits.
        root: process id of the root of its tree.
    """

    def __init__(self, bounds: WorkerBounds, root: int) -> None:
        self._bounds, self._root = bounds, root
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
        broken = broken_limit(self._bounds, self._root, with_disk=self._count % DISK_EVERY == 0)
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


def _ending(worker: int) -> TreeEnding:
    code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    return TreeEnding(signal=-code) if code < 0 else TreeEnding(exit_code=code)


def _megabytes(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


def tell(report: int, ending: TreeEnding) -> None:
    """Write the last report about a worker."""
    with contextlib.suppress(BrokenPipeError):
        os.write(report, json.dumps(asdict(ending)).encode() + b"\n")


def _read_line(descriptor: int) -> bytes:
    """Read the first line. Bytes after it are dropped; they only say that the first request has begun."""
    text = b""
    while b"\n" not in text:
        piece = os.read(descriptor, 65536)
        if not piece:
            raise SystemExit("no policy")
        text += piece
    return text.partition(b"\n")[0]
