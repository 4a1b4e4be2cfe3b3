"""Check whether a memory limit is enough to start a worker. If not, the error says how much is needed here."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from autocoder_jupyter.errors import OutOfMemory, SandboxError, SandboxUnavailable
from autocoder_jupyter.sandbox.host.capacity import free_memory
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.protocol import Program, Worker, WorkerLimits
from autocoder_jupyter.types import OutputSpec

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

    Args:
        start: starts a worker with the given limits.
        limits: the requested limits.

    Raises:
        SandboxUnavailable: there is too little memory. The hint has the smallest of `STEPS` that is enough.
        SandboxError: `start` failed for another reason.
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
