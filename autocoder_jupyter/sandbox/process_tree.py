"""What a process and all that came from it use, and how to end them all. Linux only; the standard library only.

The supervisor is a *subreaper*: whatever in its tree loses its parent becomes its own child, so nothing can leave the
tree by forking twice.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class DiskUse:
    """What files use.

    Args:
        bytes: on disk.
        entries: number of files and folders.
        unmeasured: files without a name or a descriptor, kept by a mapping alone; nobody can ask for their size.
        hidden: whether there are folders that cannot be looked into: deeper than any path reaches, or closed.
    """

    bytes: int
    entries: int
    unmeasured: int = 0
    hidden: bool = False


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
            _kill(pid)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


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


def memory(pids: Iterable[int], enough: int) -> int:
    """Bytes of memory of these processes, what they share counted once.

    Resident sizes are cheap to read and count shared pages again for each process, so they are an upper bound. Only
    when that is over `enough` the exact, costlier figure is asked for.
    """
    pids = list(pids)
    bound = sum(_resident(pid) for pid in pids)
    return bound if bound <= enough else sum(_proportional(pid) for pid in pids)


def disk(folder: Path, pids: Iterable[int], enough: int) -> DiskUse:
    """What lies below `folder`, and what these processes keep though it has no name any more.

    Stops counting at `enough` entries.
    """
    size = entries = 0
    hidden = False
    queue = [str(folder)]
    while queue and entries <= enough:
        try:
            with os.scandir(queue.pop()) as listing:
                for entry in listing:
                    entries += 1
                    size += _blocks(entry)
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # removed meanwhile
        except OSError:
            hidden = True
    held, mapped = _nameless(pids)
    return DiskUse(size + sum(held.values()), entries + len(held) + len(mapped), len(mapped), hidden)


def _blocks(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except FileNotFoundError:
        return 0


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (thread / "children").read_bytes().split())
    except OSError:
        return children
    return children


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] in b"ZX"
    except OSError:
        return True


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return


def _entries(folder: Path) -> int:
    try:
        return sum(1 for _ in folder.iterdir())
    except OSError:
        return 0


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _proportional(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        return _resident(pid)
    return 0


def _nameless(pids: Iterable[int]) -> tuple[dict[int, int], set[int]]:
    """Removed files that these processes keep, by number: those held open with their bytes, and those only mapped."""
    held: dict[int, int] = {}
    mapped: set[int] = set()
    for pid in pids:
        held |= _held_open(pid)
        mapped |= _mapped(pid)
    return held, mapped - held.keys()


def _held_open(pid: int) -> dict[int, int]:
    found: dict[int, int] = {}
    try:
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return found
    for descriptor in descriptors:
        try:
            held = descriptor.stat()
        except OSError:
            continue  # closed meanwhile
        if stat.S_ISREG(held.st_mode) and held.st_nlink == 0:
            found[held.st_ino] = held.st_blocks * 512
    return found


def _mapped(pid: int) -> set[int]:
    try:
        maps = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return set()
    lines = (line.split(maxsplit=5) for line in maps.splitlines() if line.endswith(b" (deleted)"))
    # A mapping without a file, shared with forked processes, is shown as a removed /dev/zero; it is memory.
    return {int(number) for *_, number, name in lines if not name.startswith(b"/dev/zero")}
