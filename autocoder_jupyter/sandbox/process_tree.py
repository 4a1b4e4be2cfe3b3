"""Which processes came from one, and how to end them all. Linux only; the standard library only.

The supervisor is a *subreaper*: whatever in its tree loses its parent becomes its own child, so nothing can leave the
tree by forking twice.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of all orphans among its descendants."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> list[int]:
    """Every living descendant of `root`, `root` itself left out."""
    found: list[int] = []
    queue = [root]
    while queue:
        children = _children(queue.pop())
        found += children
        queue += children
    return found


def kill_descendants(root: int, seconds: float = 5.0) -> bool:
    """Kill every descendant of `root`, those too that are born meanwhile. False when some outlived `seconds`."""
    deadline = time.monotonic() + seconds
    while living := [pid for pid in descendants(root) if not _is_zombie(pid)]:
        for pid in living:
            _send(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


@contextlib.contextmanager
def stopped(root: int, seconds: float = 1.0) -> Iterator[None]:
    """Hold every descendant of `root` still for a moment; what does not stop within `seconds` goes on."""
    deadline = time.monotonic() + seconds
    while moving := [pid for pid in descendants(root) if not _stands_still(pid)]:
        for pid in moving:
            _send(pid, signal.SIGSTOP)
        if time.monotonic() > deadline:
            break
        time.sleep(0.0005)
    try:
        yield
    finally:
        for pid in descendants(root):
            _send(pid, signal.SIGCONT)


def reap_orphans(keep: int) -> None:
    """Collect dead children of this process except `keep`, which somebody else waits for."""
    for pid in _children(os.getpid()):
        if pid != keep and _is_zombie(pid):
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue


def threads(pids: Iterable[int]) -> int:
    """Number of threads of these processes; a process without further threads counts one."""
    return sum(_entries(Path(f"/proc/{pid}/task")) for pid in pids)


def views(pids: Iterable[int]) -> list[str]:
    """For each process, the folder in /proc that shows what it has in memory and holds open.

    Its own shows nothing once its first thread has ended, though others live; then it is the folder of one of these.
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


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (thread / "children").read_bytes().split())
    except OSError:
        return children
    return children


def _is_zombie(pid: int) -> bool:
    """Whether it is gone. One whose first thread alone has ended is not."""
    return _ended(pid) and _ended(_view(pid).removeprefix("/proc/"))


def _stands_still(pid: int) -> bool:
    """Whether all of its threads are stopped, gone, or within a call that cannot be interrupted."""
    try:
        threads = Path(f"/proc/{pid}/task").iterdir()
        return all(_state(f"{pid}/task/{thread.name}") in b"TtZXD" for thread in threads)
    except OSError:
        return True


def _ended(task: int | str) -> bool:
    return _state(task) in b"ZX"


def _state(task: int | str) -> bytes:
    """What a process's first thread, or another (`PID/task/ID`), does: one letter, X when it is no more."""
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
