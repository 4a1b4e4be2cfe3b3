"""What workers may use: the cores and the free memory of this machine, or of the container around it.

If a memory limit is too low to start a worker, the error says how much is needed here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary

from autocoder_jupyter.errors import OutOfMemory, SandboxError, SandboxUnavailable
from autocoder_jupyter.sandbox.local import control_groups
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.protocol import Program, Worker, WorkerLimits
from autocoder_jupyter.types import OutputSpec

# Cores and free memory

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
    left = control_groups.memory_left()
    return free if left is None else min(free, left)


# Cores that are in use
#
# A new worker gets other cores than those of the workers that run something now.

_borrowed: WeakValueDictionary[tuple[int, int], Worker] = WeakValueDictionary()
"""By process id: the workers of a parent do not run in a forked process. No worker stays alive because it is here."""


def note_borrowed(worker: Worker) -> None:
    """From now on, the cores of this worker are busy."""
    _borrowed[os.getpid(), id(worker)] = worker


def note_returned(worker: Worker) -> None:
    """The cores of this worker are free again."""
    _borrowed.pop((os.getpid(), id(worker)), None)


def busy_cores() -> set[int]:
    """The cores of the workers of all pools that are borrowed."""
    own = os.getpid()
    return {core for (owner, _), worker in list(_borrowed.items()) if owner == own for core in worker.cores}


def free_cores() -> list[int]:
    """The other cores that this process may use."""
    return sorted(os.sched_getaffinity(0) - busy_cores())


# Memory for a start

PLENTY = 256 << 20
"""Bytes of memory. With at least this much, a worker that starts can also run a program in any environment."""

STEPS = tuple(size << 20 for size in (128, 256, 512, 1024, 2048))
"""Memory limits that are tried to find one that is enough."""

MARGIN = 8
"""An eighth of a limit must be left over before it is called enough: no two starts need the same."""

FREE_FOR_SPARE = 1 << 30
"""Bytes of free memory that are required before a spare worker is started. The worker takes a tenth of that."""

_NOTHING = Program(program_text("nothing"), (), (OutputSpec(name="nothing", type="int"),))


def enough_for_spare() -> bool:
    """Whether this machine has enough free memory for a spare worker. False if the system does not report it."""
    return FREE_FOR_SPARE <= free_memory() < math.inf


def start_within(start: Callable[[WorkerLimits], Worker], limits: WorkerLimits) -> Worker:
    """Start a worker. If the memory limit is too low, the error says how much is needed.

    The needed memory depends on the libraries of the environment, so it is measured: after a failure that may be caused
    by memory, workers with more memory are started until one can run a program.
    """
    try:
        return _started(start, limits)
    except SandboxError as error:
        out_of_memory = isinstance(error, OutOfMemory)
        if not out_of_memory and limits.memory >= PLENTY:
            raise
        least = next((size for size in STEPS if size > limits.memory and _works(start, limits, size)), None)
        if least is None and not out_of_memory:
            raise
    raise SandboxUnavailable(
        f"{_mebibytes(limits.memory)} of memory is too little to start a worker in this environment.",
        why="Its interpreter and libraries need more before any program runs.",
        hint=f"{_mebibytes(least)} is enough here: {_setting(least)}." if least else "Allow more with --memory.",
    )


def _started(start: Callable[[WorkerLimits], Worker], limits: WorkerLimits) -> Worker:
    """Start a worker. With little memory it must also run a program, because it needs memory to fork."""
    worker = start(limits)
    if limits.memory < PLENTY:
        try:
            worker.call(_NOTHING, {})
        except BaseException:
            worker.kill()
            raise
    return worker


def _works(start: Callable[[WorkerLimits], Worker], limits: WorkerLimits, memory: int) -> bool:
    """Whether a worker with this limit runs a program, and leaves the margin free."""
    try:
        worker = start(replace(limits, memory=memory - memory // MARGIN))
    except SandboxError:
        return False
    try:
        worker.call(_NOTHING, {})
    except SandboxError:
        return False
    finally:
        worker.kill()
    return True


def _setting(size: int) -> str:
    return f'--memory {size >> 20}Mi, or resources=Resources(memory="{size >> 20}Mi")'


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):.4g} MiB"
