"""A control group (cgroup v2) for one worker. If the user may create one, the kernel limits memory and processes.

This works in a systemd user session: its processes are below a group that belongs to the user and has the controllers
for memory and processes. The worker's group is created there, next to the group of the notebook. The notebook's own
process is never moved, and no setting of an existing group is changed.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from autocoder_jupyter.concurrency import file_locks

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
        """Create and lock the group, and remove groups that no process has locked.

        Args:
            memory: most bytes of all its processes, including memory of the kernel for them. Swap is not allowed.
            processes: most processes and threads.

        Raises:
            OSError: the group cannot be created, or a limit cannot be set.
        """
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
        """Move this process into the group. Processes that it starts later are in the group, too.

        Raises:
            OSError: it is not permitted.
        """
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
    """The folder of a group in which this user may create groups for workers.

    Args:
        proc: the folder in /proc of this process.

    Raises:
        NotDelegated: there is no such group.
    """
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
    for path in _groups(parent):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime < _YOUNG_SECONDS:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                if file_locks.try_exclusive(lock):
                    ControlGroup(str(parent), path.name).end()
            finally:
                os.close(lock)


def _groups(parent: Path) -> Iterator[Path]:
    return parent.glob(f"{PREFIX}*")


def _words(file: Path) -> list[str]:
    return " ".join(_lines(file)).split()


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
