"""List, stop and kill the descendants of a process. Linux only; the standard library only.

The supervisor is a *subreaper*: a process of its tree that loses its parent becomes the supervisor's child. So no
process can leave the tree by forking twice.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

SECONDS_TO_DIE = 5.0
"""How long to wait for the end of a killed process."""

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of all orphans among its descendants."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> list[int]:
    """All living descendants of `root`, without `root` itself."""
    found: list[int] = []
    queue = [root]
    while queue:
        born = children(queue.pop())
        found += born
        queue += born
    return found


def tree(root: int) -> list[int]:
    """`root` and its living descendants, without the calling process."""
    return [pid for pid in (root, *descendants(root)) if pid != os.getpid()]


def kill_descendants(root: int, seconds: float = SECONDS_TO_DIE) -> bool:
    """Kill all descendants of `root`, including new ones. False if some are still running after `seconds`."""
    deadline = time.monotonic() + seconds
    while living := [pid for pid in descendants(root) if not is_zombie(pid)]:
        for pid in living:
            _send(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


@contextlib.contextmanager
def stopped(root: int, seconds: float = 1.0) -> Iterator[None]:
    """Stop the tree of `root` for the time of this context. What does not stop within `seconds` keeps running."""
    deadline = time.monotonic() + seconds
    while moving := [pid for pid in tree(root) if not _stands_still(pid)]:
        for pid in moving:
            _send(pid, signal.SIGSTOP)
        if time.monotonic() > deadline:
            break
        time.sleep(0.0005)
    try:
        yield
    finally:
        for pid in tree(root):
            _send(pid, signal.SIGCONT)


def kill_tree(root: int) -> None:
    """Kill a process and its present descendants. New descendants are not killed and become orphans."""
    for pid in (*descendants(root), root):
        _send(pid, signal.SIGKILL)


def reap_orphans(keep: int, others: Collection[int] = ()) -> None:
    """Reap the dead children of this process, except `keep` and `others`, which are reaped elsewhere."""
    for pid in children(os.getpid()):
        if pid != keep and pid not in others and is_zombie(pid):
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue


def threads(pids: Iterable[int]) -> int:
    """Number of threads of these processes. A process has at least one."""
    return sum(_entries(Path(f"/proc/{pid}/task")) for pid in pids)


def thread_ids(pid: int) -> list[int]:
    """Ids of the threads of a process; [] if it has ended."""
    try:
        return [int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []


def views(pids: Iterable[int]) -> list[str]:
    """For each process, the folder in /proc that shows its memory and open files.

    The folder of the process shows nothing after its first thread has ended. Then it is the folder of another thread.
    """
    return [_view(pid) for pid in pids]


def _view(pid: int) -> str:
    if not _ended(pid):
        return f"/proc/{pid}"
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if not _ended(f"{pid}/task/{thread.name}"):
                return str(thread)
    return f"/proc/{pid}"


def children(pid: int) -> list[int]:
    """The living and dead children of a process; [] if it has ended."""
    found: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_bytes().split())
    except OSError:
        return found
    return found


def is_zombie(pid: int) -> bool:
    """Whether the process has ended. If only its first thread has ended, it has not."""
    return _ended(pid) and _ended(_view(pid).removeprefix("/proc/"))


def _stands_still(pid: int) -> bool:
    """Whether all of its threads are stopped, have ended, or are in an uninterruptible call."""
    try:
        threads = Path(f"/proc/{pid}/task").iterdir()
        return all(_state(f"{pid}/task/{thread.name}") in b"TtZXD" for thread in threads)
    except OSError:
        return True


def _ended(task: int | str) -> bool:
    return _state(task) in b"ZX"


def _state(task: int | str) -> bytes:
    """The state of the first thread of a process, or of a thread `PID/task/ID`: one letter; X if it has ended."""
    try:
        return Path(f"/proc/{task}/stat").read_bytes().rpartition(b") ")[2][:1]
    except OSError:
        return b"X"


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _entries(folder: Path) -> int:
    try:
        return sum(1 for _ in folder.iterdir())
    except OSError:
        return 0
