"""What processes use of memory and disk, counted from outside. Linux only; the standard library only.

A process is named by its folder in /proc (`process_tree.views`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_IN_MEMORY = (b"VmRSS:", b"VmSwap:", b"VmPTE:", b"HugetlbPages:")
"""Lines of a process's status: what is resident, swapped out, page tables, and huge pages that are not resident."""

_NOT_SHARED = (b"VmPTE:", b"HugetlbPages:")
_PROPORTIONAL = (b"Pss:", b"SwapPss:")

_PIPE_BYTES = 65536
_SOCKET_BYTES = Path("/proc/sys/net/core/wmem_default")


@dataclass(frozen=True)
class DiskUse:
    """What files use.

    Args:
        bytes: on disk.
        entries: number of files and folders.
        unmeasured: files whose size nobody can ask for: without a name and a descriptor, kept by a mapping alone, or
            on their way through a socket.
        hidden: whether there are folders that cannot be looked into: deeper than any path reaches, or closed.
        moved: whether something was gone when it was looked at. It may lie elsewhere now and be uncounted.
    """

    bytes: int
    entries: int
    unmeasured: int = 0
    hidden: bool = False
    moved: bool = False


@dataclass
class Descriptors:
    """What a tree holds open.

    Args:
        nameless: removed files and folders by number, with their bytes on disk.
        pipes: numbers of the pipes.
        sockets: numbers of the sockets, with the descriptors that are on their way through each.
    """

    nameless: dict[int, int] = field(default_factory=dict)
    pipes: set[int] = field(default_factory=set)
    sockets: dict[int, int] = field(default_factory=dict)

    def buffers(self) -> int:
        """Bytes of memory that the pipes and sockets hold at most. The kernel counts them for nobody."""
        return len(self.pipes) * _PIPE_BYTES + len(self.sockets) * int(_SOCKET_BYTES.read_bytes())


def memory(processes: Sequence[str], enough: int) -> int:
    """Bytes of memory of these processes, what they share counted once.

    Resident sizes are cheap to read and count shared pages again for each process, so they are an upper bound. Only
    when that is over `enough` the exact, costlier figure is asked for.
    """
    bound = sum(_bytes_of(process, "status", _IN_MEMORY) for process in processes)
    return bound if bound <= enough else sum(_proportional(process) for process in processes)


def disk(folder: Path, processes: Sequence[str], held: Descriptors, enough: int) -> DiskUse:
    """What lies below `folder`, and what these processes keep though it has no name any more.

    Stops counting at `enough` entries. `held` is what the processes hold open.
    """
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
    """Number of locks on parts of files that these processes hold; each takes a little of the kernel's memory."""
    theirs = {Path(process).parts[2].encode() for process in processes}
    try:
        lines = Path("/proc/locks").read_bytes().splitlines()
    except OSError:
        return 0
    return sum(line.split()[4] in theirs for line in lines if b" POSIX " in line and b"->" not in line)


def descriptors(processes: Iterable[str]) -> Descriptors:
    """What these processes hold open."""
    found = Descriptors()
    for process in processes:
        for descriptor in _descriptors(process):
            try:
                held = descriptor.stat()
            except OSError:
                continue  # closed meanwhile
            if stat.S_ISFIFO(held.st_mode):
                found.pipes.add(held.st_ino)
            elif stat.S_ISSOCK(held.st_mode):
                found.sockets[held.st_ino] = _sent(descriptor)
            elif held.st_nlink == 0 and (stat.S_ISREG(held.st_mode) or stat.S_ISDIR(held.st_mode)):
                found.nameless[held.st_ino] = held.st_blocks * 512
    return found


def _descriptors(process: str) -> list[Path]:
    try:
        return [Path(process, "cwd"), *Path(process, "fd").iterdir()]
    except OSError:
        return []


def _sent(socket: Path) -> int:
    """The number of descriptors that wait in a socket to be received."""
    with suppress(OSError):
        for line in (socket.parent.parent / "fdinfo" / socket.name).read_bytes().splitlines():
            if line.startswith(b"scm_fds:"):
                return int(line.split()[1])
    return 0


def _proportional(process: str) -> int:
    shared = _bytes_of(process, "smaps_rollup", _PROPORTIONAL)
    return shared + _bytes_of(process, "status", _NOT_SHARED) if shared else _bytes_of(process, "status", _IN_MEMORY)


def _bytes_of(process: str, name: str, keys: tuple[bytes, ...]) -> int:
    """The sum of some lines of a file of /proc, which are in kilobytes; 0 when it cannot be read."""
    try:
        text = Path(process, name).read_bytes()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(keys))


def _mapped(process: str) -> set[int]:
    """Numbers of the removed files that a process has mapped."""
    try:
        maps = Path(process, "maps").read_bytes()
    except OSError:
        return set()
    if b" (deleted)\n" not in maps:
        return set()
    lines = (line.split(maxsplit=5) for line in maps.splitlines() if line.endswith(b" (deleted)"))
    # A mapping without a file, shared with forked processes, is shown as a removed /dev/zero; it is memory.
    return {int(number) for *_, number, name in lines if name != b"/dev/zero (deleted)"}
