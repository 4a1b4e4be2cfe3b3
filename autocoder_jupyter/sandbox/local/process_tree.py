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

SECONDS_TO_DIE = 5.0
"""How long to wait for the end of a killed process."""

_PR_SET_CHILD_SUBREAPER = 36
_PIECE = 1 << 16


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


def kill_descendants(root: int) -> bool:
    """Kill all descendants of `root`, including new ones. False if some still run after `SECONDS_TO_DIE`."""
    deadline = time.monotonic() + SECONDS_TO_DIE
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
    return sum(len(thread_ids(pid)) for pid in pids)


def thread_ids(pid: int) -> list[int]:
    """Ids of the threads of a process; [] if it has ended."""
    try:
        with os.scandir(f"/proc/{pid}/task") as threads:
            return [int(thread.name) for thread in threads]
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
    for thread in thread_ids(pid):
        if not _ended(f"{pid}/task/{thread}"):
            return f"/proc/{pid}/task/{thread}"
    return f"/proc/{pid}"


def children(pid: int) -> list[int]:
    """The living and dead children of a process; [] if it has ended."""
    found: list[int] = []
    for thread in thread_ids(pid):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found += map(int, content(f"/proc/{pid}/task/{thread}/children").split())
    return found


def content(path: str) -> bytes:
    """The content of a file in /proc. Supervisors read many, and this takes a fraction of the time of `pathlib`.

    Raises:
        OSError: it cannot be read, for instance because the process has ended.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        pieces = []
        while piece := os.read(descriptor, _PIECE):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def is_zombie(pid: int) -> bool:
    """Whether the process has ended. If only its first thread has ended, it has not."""
    return _ended(pid) and _ended(_view(pid).removeprefix("/proc/"))


def _stands_still(pid: int) -> bool:
    """Whether all of its threads are stopped, have ended, or are in an uninterruptible call."""
    return all(_state(f"{pid}/task/{thread}") in b"TtZXD" for thread in thread_ids(pid))


def _ended(task: int | str) -> bool:
    return _state(task) in b"ZX"


def _state(task: int | str) -> bytes:
    """The state of the first thread of a process, or of a thread `PID/task/ID`: one letter; X if it has ended."""
    try:
        return content(f"/proc/{task}/stat").rpartition(b") ")[2][:1]
    except OSError:
        return b"X"


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)
