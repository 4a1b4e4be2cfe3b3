"""The supervisor of one local worker: a small process of its own between the notebook and the sandboxed program.

It exists because a worker is held by a process with one thread (`confinement`), and so that the end of the kernel,
however it comes, ends the whole tree. The kernel runs `main` in an isolated interpreter:

- its standard streams are the worker's, and are handed on;
- descriptor `lifeline` brings the policy as one line of JSON, then a byte whenever the worker gets a request or is done
  with it; its end means: kill everything;
- descriptor `report` takes one line of JSON, the `Ending`;
- descriptor `lock` holds the lock on the worker's folder, which marks the folder as in use.

A parent-death signal would not do in place of the lifeline: Linux sends it when the *thread* that started the process
ends, and sandboxes are started from short-lived threads.
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

from autocoder_jupyter.sandbox.local import process_tree, usage
from autocoder_jupyter.sandbox.local.confinement.process import Confinement, Held, NotHeld, start
from autocoder_jupyter.sandbox.local.confinement.throttle import Throttle
from autocoder_jupyter.sandbox.local.confinement.tiers import tier_named
from autocoder_jupyter.sandbox.local.control_group import ControlGroup
from autocoder_jupyter.sandbox.worker import removal

WATCH_SECONDS = 0.05
"""How often memory, processes and threads are looked at while a program may run."""

REST_SECONDS = 1.0
"""And while none does. Looking costs a few percent of a core, and a notebook keeps a worker for each of its results."""

AT_WORK, AT_REST = b"+", b"-"
"""What the notebook says over the lifeline."""

DISK_EVERY = 4
"""Files and descriptors are counted at every nth look, because counting them takes longer."""

MOST_FILES = 20_000
"""Files and folders that one worker may have at a time.

A removed file that only a mapping or a message keeps has a size that cannot be found out. It counts as half of what
the disk may hold: a single one does no harm, and no more than that one goes uncounted.
"""

MOST_LOCKS = 10_000
"""Locks on parts of files that one worker may hold."""


@dataclass(frozen=True)
class Policy(Confinement):
    """What the worker is, what it may do and what it may use. Sizes are bytes; `folder` is removed at the end.

    Args:
        memory: of the whole tree.
        disk: under `folder`.
        share_of_core: percent of one core, when it is to have less than one.
        tier: name of the `confinement` tier that holds it.
        group: folder of the control group in which the worker's is made; "" where memory and processes are watched.
    """

    memory: int
    disk: int
    share_of_core: int | None
    tier: str
    group: str = ""

    def control_group(self) -> ControlGroup | None:
        """The worker's own, named as its folder; None where it has none."""
        return ControlGroup(self.group, Path(self.folder).name) if self.group else None


@dataclass(frozen=True)
class Bounds:
    """What is counted: bytes of memory of a tree, unless the kernel counts them, and of files below `folder`."""

    memory: int | None
    disk: int
    folder: str


@dataclass(frozen=True)
class Ending:
    """Why the tree ended.

    Args:
        limit: "memory", "disk" or "files" when the supervisor killed it for that.
        signal: that ended the worker's first process.
        exit_code: of that process, when it ended by itself.
        text: for a person.
        failed: the sandbox could not start the worker.
    """

    limit: str = ""
    signal: int | None = None
    exit_code: int | None = None
    text: str = ""
    failed: bool = False


def main(lifeline: int, report: int, lock: int) -> None:
    """Run one worker from beginning to end. Never returns."""
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
    except (NotHeld, OSError) as error:
        ending = Ending(failed=True, text=f"the worker could not be started: {error}")
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
    """Let go of the standard streams, which are the worker's, so that their other ends see when it closes them."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def _watch(worker: Held, policy: Policy, lifeline: int, parent: int) -> Ending:
    """Wait until the worker ends by itself, exceeds a limit, or is not needed any more."""
    ended = os.pidfd_open(worker.pid)
    bounds = Bounds(None if policy.group else policy.memory, policy.disk, policy.folder)
    throttle = Throttle(worker.pid, policy.share_of_core)
    poll = select.poll()
    poll.register(lifeline, select.POLLIN | select.POLLHUP)
    poll.register(ended, select.POLLIN)
    poll.register(worker.notices, select.POLLIN)
    looks, at_work, looked = 0, True, time.monotonic()
    while True:
        due = min(looked + (WATCH_SECONDS if at_work else REST_SECONDS), throttle.due(at_work))
        woken = {descriptor for descriptor, _ in poll.poll(max(due - time.monotonic(), 0) * 1000)}
        if worker.notices.fileno() in woken:
            worker.notices.answer()
        if ended in woken:
            return _ending(worker.pid)
        said = os.read(lifeline, 4096) if lifeline in woken else b""
        if (lifeline in woken and not said) or os.getppid() != parent:
            return Ending(text="the notebook let go of the worker")
        if said:
            at_work = said.endswith(AT_WORK)
        throttle.act(at_work)
        began = time.monotonic()
        if began < looked + (WATCH_SECONDS if at_work else REST_SECONDS):
            continue
        looks += 1
        if broken := broken_limit(bounds, os.getpid(), with_disk=looks % DISK_EVERY == 0):
            return broken
        process_tree.reap_orphans(keep=worker.pid)
        looked = counted_from(began)


def counted_from(began: float) -> float:
    """The time from which the next look is counted, after one that began then.

    A look that took longer than the time between two leaves as much as it took for what programs ask meanwhile: else
    each question would wait for a look.
    """
    now = time.monotonic()
    return max(began, 2 * now - began - WATCH_SECONDS)


def broken_limit(bounds: Bounds, root: int, *, with_disk: bool) -> Ending | None:
    """The limit that the tree of `root` is over. The words name it and not the use, which is never twice the same."""
    if bounds.memory is None and not with_disk:
        return None
    processes = process_tree.views(process_tree.tree(root))
    held = usage.descriptors(processes) if with_disk else usage.Descriptors()
    if bounds.memory is not None and _uses_more_memory(processes, held, bounds.memory):
        return out_of_memory(bounds.memory)
    if not with_disk:
        return None
    folder = Path(bounds.folder)
    use = usage.disk(folder, processes, held, MOST_FILES)
    if use.moved or _broken_by_files(use, bounds.disk):
        # Descriptors, folders and mappings are read in turn, so what comes, goes or moves meanwhile is counted wrongly.
        with process_tree.stopped(root):
            processes = process_tree.views(process_tree.tree(root))
            use = usage.disk(folder, processes, usage.descriptors(processes), MOST_FILES)
    if broken := _broken_by_files(use, bounds.disk):
        return broken
    if usage.locks(processes) > MOST_LOCKS:
        return Ending("files", text=f"It held more than {MOST_LOCKS} locks on files.")
    return None


def _broken_by_files(use: usage.DiskUse, most: int) -> Ending | None:
    if use.bytes + use.unmeasured * most // 2 > most:
        return Ending("disk", text=f"It wrote more than {_megabytes(most)} of files.")
    if use.entries > MOST_FILES:
        return Ending("files", text=f"It made more than {MOST_FILES} files.")
    if use.hidden:
        return Ending("files", text="It made folders that are closed, or deeper than any path reaches.")
    return None


def _uses_more_memory(processes: Sequence[str], held: usage.Descriptors, most: int) -> bool:
    buffers = held.buffers()
    return usage.memory(processes, most - buffers) + buffers > most


def out_of_memory(most: int) -> Ending:
    """The end of a tree that used more bytes of memory than `most`."""
    return Ending("memory", text=f"It used more than {_megabytes(most)} of memory.")


def _ending(worker: int) -> Ending:
    code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    return Ending(signal=-code) if code < 0 else Ending(exit_code=code)


def _megabytes(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


def tell(report: int, ending: Ending) -> None:
    """Say the last word on a worker."""
    with contextlib.suppress(BrokenPipeError):
        os.write(report, json.dumps(asdict(ending)).encode() + b"\n")


def _read_line(descriptor: int) -> bytes:
    """The first line; that the worker has its first request may have been said behind it already."""
    text = b""
    while b"\n" not in text:
        piece = os.read(descriptor, 65536)
        if not piece:
            raise SystemExit("no policy")
        text += piece
    return text.partition(b"\n")[0]
