"""Which process holds a lock, and whether it still works.

The holder writes itself into the file of the lock, and sets the time of the file again and again: its heartbeat. The
kernel of the system releases the locks of a process that ends, but not those of one that is stopped, nor of one whose
forked child lives on.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["alive", "stopped", "gone", "unknown"]

_LONGEST = 200
_STOPPED = frozenset({"T", "t"})
_ENDED = frozenset({"Z", "X", "x"})


@dataclass(frozen=True)
class Holder:
    """A process.

    Args:
        pid: its number.
        started: when it started, in the system's ticks; "" if that is unknown. Numbers are used again.
        namespace: the namespace that its number belongs to; "" if that is unknown.
    """

    pid: int
    started: str = ""
    namespace: str = ""

    @classmethod
    def this_process(cls) -> Holder:
        """The current process."""
        return cls(os.getpid(), _stat(os.getpid())[1], _namespace())

    @classmethod
    def read(cls, descriptor: int) -> Holder | None:
        """The process that a lock file names; None if it names none."""
        try:
            words = os.pread(descriptor, _LONGEST, 0).decode("ascii").split(" ")
            pid, started, namespace = words
            return cls(int(pid), started, namespace.strip()) if 0 < int(pid) < 2**31 else None
        except (OSError, ValueError):
            return None

    def write(self, descriptor: int) -> None:
        """Name this process in a lock file that it has locked. A full disk does no harm: the lock counts without it."""
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{self.pid} {self.started} {self.namespace}\n".encode(), 0)

    @property
    def is_this_process(self) -> bool:
        """Whether it is the current process."""
        return self == Holder.this_process()

    @property
    def state(self) -> State:
        """Whether it runs. Unknown without `/proc`, and for a process of another container."""
        if not self.started or self.namespace != _namespace():
            return "unknown"
        state, started = _stat(self.pid)
        if started != self.started or state in _ENDED:
            return "gone"
        return "stopped" if state in _STOPPED else "alive"


def beat(descriptor: int) -> None:
    """Set the time of a lock file: the heartbeat of its holder, and the time of its last use."""
    with contextlib.suppress(OSError):
        os.utime(descriptor)


class Silence:
    """How long a holder shows no sign of life, by the clock of the process that waits.

    The time of the file is only compared with itself, so a machine that slept, or a wrong clock, does no harm.
    """

    def __init__(self) -> None:
        self._seen: object = None
        self._since = time.monotonic()

    def seconds(self, descriptor: int) -> float:
        """Look at the file. Returns the seconds since it last changed."""
        status = os.fstat(descriptor)
        if self._seen != (status.st_ino, status.st_mtime_ns):
            self._seen, self._since = (status.st_ino, status.st_mtime_ns), time.monotonic()
        return time.monotonic() - self._since


def _stat(pid: int) -> tuple[str, str]:
    """State and start of a process, from `/proc`; empty if there is no such process, or no `/proc`."""
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return fields[0], fields[19]
    return "", ""


def _namespace() -> str:
    """The namespace of process numbers, with the boot of the machine."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii", "replace").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}".replace(" ", "")
    return ""
