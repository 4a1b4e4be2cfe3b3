"""Control groups: the memory that is left in those around the notebook, and a group for each worker.

Linux only; the standard library only.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from autocoder_jupyter.concurrency import file_locks
from autocoder_jupyter.sandbox.local.process_tree import content

# The groups around the notebook
#
# If a container, such as a pod, needs more than its limit, the kernel kills one of its processes, which may be the
# notebook. In a pod it may kill all of them. So the supervisor ends a worker before. The same holds for other groups
# around the notebook, such as a job of a cluster or a scope of systemd.

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_LARGEST_RESERVE = 256 << 20
_NO_LIMIT = 1 << 60
"""Control groups of version 1 have a larger number as limit if they have none."""


@dataclass(frozen=True)
class _Names:
    """The files of a control group, and the lines in `statistics` with the file cache, which the kernel can free.

    `controller` is the word for the group in `/proc/self/cgroup`, and `place` where the groups are mounted.
    """

    controller: str
    place: str
    limit: str
    used: str
    statistics: str
    cache: tuple[str, str]


_VERSIONS = (
    _Names("", ".", "memory.max", "memory.current", "memory.stat", ("active_file", "inactive_file")),
    _Names(
        "memory",
        "memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "memory.stat",
        ("total_active_file", "total_inactive_file"),
    ),
)


def memory_limit() -> int | None:
    """The smallest memory limit of the groups around this process in bytes; None if there is none."""
    return min((most for _, _, most in _limits()), default=None)


def memory_left() -> int | None:
    """The bytes that the container may still use, with the file cache that can be freed; None if there is no limit."""
    found = []
    for names, group, most in _limits():
        with suppress(OSError, ValueError):
            found.append(max(most - int(content(f"{group}/{names.used}")) + _cache(names, group), 0))
    return min(found, default=None)


def memory_exceeded_by(uses_more_than: Callable[[int], bool]) -> int | None:
    """Check whether the container has nearly no memory left, and a worker uses a considerable part of it."""
    for names, group, most in _limits():
        with suppress(OSError, ValueError):
            reserve = min(most // 8, _LARGEST_RESERVE)
            left = most - int(content(f"{group}/{names.used}"))
            if left < reserve and left + _cache(names, group) < reserve and uses_more_than(reserve):
                return most
    return None


def _limits() -> Iterator[tuple[_Names, str, int]]:
    try:
        own = content(str(_OWN))
    except OSError:
        own = b""
    for names, group in _groups(own, _GROUPS):
        with suppress(OSError, ValueError):
            most = int(content(f"{group}/{names.limit}"))  # "max" if there is none
            if most < _NO_LIMIT:
                yield names, group, most


@lru_cache(maxsize=1)  # supervisors look twenty times a second, and to split paths takes longer than to read the limits
def _groups(own: bytes, mounted: Path) -> list[tuple[_Names, str]]:
    """The group of this process and those around it. In a container often only the last one is mounted."""
    found = []
    for names in _VERSIONS:
        top = mounted / names.place
        lines = (line.split(":", 2) for line in own.decode("utf-8", "replace").splitlines() if line.count(":") > 1)
        path = next((path for _, kinds, path in lines if names.controller in kinds.split(",")), "")
        group = top / path.strip("/")
        around = [top] if ".." in group.parts else [group, *(one for one in group.parents if one.is_relative_to(top))]
        found += [(names, str(one)) for one in around]
    return found


def _cache(names: _Names, group: str) -> int:
    lines = (line.split() for line in content(f"{group}/{names.statistics}").decode("utf-8", "replace").splitlines())
    return sum(int(size) for name, size in lines if name in names.cache)


# The group of a worker
#
# If the user may create control groups (version 2), the kernel limits memory and processes of a worker. This works in a
# systemd user session: its processes are below a group that belongs to the user and has the controllers for both. The
# worker's group is created there, next to the group of the notebook. The notebook's own process is never moved, and no
# setting of an existing group is changed.

PREFIX = "autocode-worker-"
_NEEDED = {"memory", "pids"}
_SYSTEMD = Path("/run/systemd/system")
"""This path exists if systemd manages the machine."""

_SECONDS_TO_EMPTY = 5.0
_YOUNG_SECONDS = 60.0
"""A younger group may not be locked yet."""


class NotDelegated(Exception):
    """The user cannot create control groups here. The text says why."""


class ControlGroup:
    """The group of one worker. The supervisor has a lock on its folder, which is released when the supervisor ends.

    Args:
        parent: the folder of a group, from `delegated`.
        name: begins with `PREFIX`.
    """

    def __init__(self, parent: str, name: str) -> None:
        self.path = Path(parent, name)
        self._lock = -1

    def make(self, *, memory: int, processes: int) -> None:
        """Create and lock the group, and remove groups that no process has locked."""
        _remove_abandoned(self.path.parent)
        self.path.mkdir()
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        file_locks.try_exclusive(self._lock)  # cannot fail, because no other process knows the folder yet
        self._write("memory.max", memory)
        self._write("memory.oom.group", 1)
        self._write("pids.max", processes)
        if (self.path / "memory.swap.max").exists():  # missing if the kernel does not count swap
            self._write("memory.swap.max", 0)

    def enter(self) -> None:
        """Move this process into the group. Processes that it starts later are in the group, too."""
        self._write("cgroup.procs", 0)

    def ran_out(self) -> bool:
        """Whether the kernel killed its processes because of the memory limit."""
        with suppress(OSError):
            counts = dict(line.split() for line in (self.path / "memory.events").read_text("ascii").splitlines())
            return int(counts.get("oom_kill", 0)) > 0
        return False

    def end(self) -> None:
        """Kill all processes in the group and remove it. May be called repeatedly; never raises."""
        deadline = time.monotonic() + _SECONDS_TO_EMPTY
        while self.path.exists() and time.monotonic() < deadline:
            with suppress(OSError):
                self._kill()
            with suppress(OSError):
                self.path.rmdir()
                break
            time.sleep(0.002)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _kill(self) -> None:
        if (self.path / "cgroup.kill").exists():  # since Linux 5.14
            self._write("cgroup.kill", 1)
            return
        for pid in map(int, (self.path / "cgroup.procs").read_text("ascii").split()):
            os.kill(pid, signal.SIGKILL)

    def _write(self, name: str, value: int) -> None:
        (self.path / name).write_text(str(value), "ascii")


def delegated(proc: Path = Path("/proc/self")) -> str:
    """The folder of a group in which this user may create groups for workers."""
    own = _own_group(proc)
    if os.geteuid() == 0 and _SYSTEMD.exists():
        raise NotDelegated("systemd manages the groups of root's processes")
    for group in own:
        if _is_ours(group) and _NEEDED.issubset(_words(group / "cgroup.subtree_control")):
            return str(group)
    way = "; started by `systemd-run --user --scope jupyter lab` it would" if _SYSTEMD.exists() else ""
    raise NotDelegated(f"the notebook runs in no group that hands memory and processes to its user{way}")


def _own_group(proc: Path) -> list[Path]:
    """The folders of this process's group and of the groups above it that are mounted here."""
    place = next((line[3:] for line in _lines(proc / "cgroup") if line.startswith("0::")), None)
    mounts = (line.split() for line in _lines(proc / "mountinfo") if " - cgroup2 " in line)
    for _, _, _, root, mounted, *_ in mounts:
        if place is not None and (root == "/" or f"{place}/".startswith(f"{root}/")):
            below = place.removeprefix(root.rstrip("/")).strip("/")
            group = Path(mounted, below)
            return [group, *(parent for parent in group.parents if parent.is_relative_to(mounted))]
    raise NotDelegated("control groups of version 2 are not mounted here")


def _is_ours(group: Path) -> bool:
    """Whether this user may create groups in it and move processes there."""
    try:
        return group.stat().st_uid == os.geteuid() and all(
            os.access(place, os.W_OK) for place in (group, group / "cgroup.procs")
        )
    except OSError:
        return False


def _remove_abandoned(parent: Path) -> None:
    """Remove the groups of workers whose supervisor has ended."""
    for path in _worker_groups(parent):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime < _YOUNG_SECONDS:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                if file_locks.try_exclusive(lock):
                    ControlGroup(str(parent), path.name).end()
            finally:
                os.close(lock)


def _worker_groups(parent: Path) -> Iterator[Path]:
    return parent.glob(f"{PREFIX}*")


def _words(file: Path) -> list[str]:
    return " ".join(_lines(file)).split()


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
