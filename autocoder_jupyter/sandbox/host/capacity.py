"""How many cores this process may use, and how much memory is free: on this machine, or in the container around it."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from autocoder_jupyter.sandbox.local import container_memory

_MEMORY = Path("/proc/meminfo")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""`QUOTA PERIOD` in microseconds; QUOTA is `max` if there is none."""


def usable_cores() -> int:
    """The number of cores that this process may use; at least 1."""
    usable = getattr(os, "sched_getaffinity", None)
    cores = len(usable(0)) if usable else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = _QUOTA.read_text("ascii").split()
        cores = min(cores, math.ceil(int(quota) / int(period)))
    return max(cores, 1)


def free_memory() -> float:
    """Bytes that new processes can use without swapping; infinite if the system does not report it."""
    free = math.inf
    with suppress(OSError, ValueError, KeyError, IndexError):
        fields = dict(line.split(":", 1) for line in _MEMORY.read_text("ascii").splitlines())
        free = int(fields["MemAvailable"].split()[0]) << 10
    left = container_memory.left()
    return free if left is None else min(free, left)
