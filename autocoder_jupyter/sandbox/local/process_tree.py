"""The processes below a process: list, stop and kill them, and count their memory and files from outside.

A process is given by its id, or for a count by its folder in /proc (`views`). Linux only; the standard library only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

# The tree
#
# The supervisor is a *subreaper*: a process of its tree that loses its parent becomes the supervisor's child. So no
# process can leave the tree by forking twice.

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


@contextmanager
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
        with suppress(OSError):  # it has ended meanwhile
            found += map(int, content(f"/proc/{pid}/task/{thread}/children").split())
    return found


def content(path: str) -> bytes:
    """The content of a file in /proc. Supervisors read many, and this takes a fraction of the time of `pathlib`."""
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
    with suppress(OSError):
        os.kill(pid, number)


# Memory and files

_IN_MEMORY = (b"VmRSS:", b"VmSwap:", b"VmPTE:", b"HugetlbPages:")
"""Lines in the status of a process: resident memory, swap, page tables, and huge pages outside of the resident size."""

_NOT_SHARED = (b"VmPTE:", b"HugetlbPages:")
_PROPORTIONAL = (b"Pss:", b"SwapPss:")

_PIPE_BYTES = 65536
_SOCKET_BYTES = "/proc/sys/net/core/wmem_default"


@dataclass(frozen=True)
class DiskUse:
    """The use of the disk.

    Args:
        unmeasured: number of removed files with an unknown size: only a mapping or a message in a socket keeps them.
        hidden: whether there are folders that cannot be read: too deep for a path, or without permissions.
        moved: whether an entry disappeared while it was counted. It may be in another folder and not be counted.
    """

    bytes: int
    entries: int
    unmeasured: int = 0
    hidden: bool = False
    moved: bool = False


@dataclass
class Descriptors:
    """The open files of a process tree.

    Args:
        nameless: for each removed file or folder, by inode number, its bytes on disk.
        sockets: for each socket, by inode number, how many descriptors are in its messages.
    """

    nameless: dict[int, int] = field(default_factory=dict)
    pipes: set[int] = field(default_factory=set)
    sockets: dict[int, int] = field(default_factory=dict)

    def buffers(self) -> int:
        """Most bytes of memory in the buffers of the pipes and sockets. The kernel counts them for no process."""
        return len(self.pipes) * _PIPE_BYTES + len(self.sockets) * (int(content(_SOCKET_BYTES)) if self.sockets else 0)


def memory(processes: Sequence[str], enough: int) -> int:
    """Bytes of memory of these processes. Shared memory is counted once.

    The sum of the resident sizes is fast to read, and an upper bound, because it counts shared pages several times. The
    exact figure, which takes longer, is read only if the bound is larger than `enough`. Else the bound is returned.
    """
    bound = sum(_bytes_of(process, "status", _IN_MEMORY) for process in processes)
    return bound if bound <= enough else sum(_proportional(process) for process in processes)


def disk(folder: Path, processes: Sequence[str], held: Descriptors, enough: int) -> DiskUse:
    """The files below `folder`, and removed files that these processes keep."""
    size = entries = 0
    hidden = moved = False
    queue = [str(folder)]
    while queue and entries <= enough:
        try:
            with os.scandir(queue.pop()) as listing:
                for entry in listing:
                    entries += 1
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
                    with suppress(FileNotFoundError):
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
                        continue
                    moved = True
        except (FileNotFoundError, NotADirectoryError):
            moved = True
        except OSError:
            hidden = True
    mapped = {number for process in processes for number in _mapped(process)} - held.nameless.keys()
    size += sum(held.nameless.values())
    unmeasured = len(mapped) + sum(held.sockets.values())
    return DiskUse(size, entries + len(held.nameless) + unmeasured, unmeasured, hidden, moved)


def locks(processes: Iterable[str]) -> int:
    """Number of locks on parts of files that these processes hold. Each takes some memory of the kernel."""
    theirs = {process.split("/")[2].encode() for process in processes}
    try:
        lines = content("/proc/locks").splitlines()
    except OSError:
        return 0
    return sum(line.split()[4] in theirs for line in lines if b" POSIX " in line and b"->" not in line)


def descriptors(processes: Iterable[str]) -> Descriptors:
    """The open files of these processes."""
    found = Descriptors()
    for process in processes:
        with suppress(OSError):
            _note(found, Path(process, "cwd").stat(), "")
        with suppress(OSError), os.scandir(f"{process}/fd") as listing:
            for descriptor in listing:
                with suppress(OSError):  # closed meanwhile
                    _note(found, descriptor.stat(), f"{process}/fdinfo/{descriptor.name}")
    return found


def _note(found: Descriptors, held: os.stat_result, details: str) -> None:
    """Add one open file; `details` describes it if it is a socket."""
    if stat.S_ISFIFO(held.st_mode):
        found.pipes.add(held.st_ino)
    elif stat.S_ISSOCK(held.st_mode):
        found.sockets[held.st_ino] = _sent(details)
    elif held.st_nlink == 0 and (stat.S_ISREG(held.st_mode) or stat.S_ISDIR(held.st_mode)):
        found.nameless[held.st_ino] = held.st_blocks * 512


def _sent(details: str) -> int:
    """The number of descriptors in the unread messages of a socket."""
    with suppress(OSError):
        for line in content(details).splitlines():
            if line.startswith(b"scm_fds:"):
                return int(line.split()[1])
    return 0


def _proportional(process: str) -> int:
    shared = _bytes_of(process, "smaps_rollup", _PROPORTIONAL)
    return shared + _bytes_of(process, "status", _NOT_SHARED) if shared else _bytes_of(process, "status", _IN_MEMORY)


def _bytes_of(process: str, name: str, keys: tuple[bytes, ...]) -> int:
    """The sum of some lines of a file in /proc, in bytes; 0 if it cannot be read."""
    try:
        text = content(f"{process}/{name}")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(keys))


def _mapped(process: str) -> set[int]:
    """Inode numbers of the removed files that a process has mapped."""
    try:
        maps = content(f"{process}/maps")
    except OSError:
        return set()
    if b" (deleted)\n" not in maps:
        return set()
    lines = (line.split(maxsplit=5) for line in maps.splitlines() if line.endswith(b" (deleted)"))
    # Anonymous shared memory is shown as a removed /dev/zero. It is memory and not a file.
    return {int(number) for *_, number, name in lines if name != b"/dev/zero (deleted)"}
