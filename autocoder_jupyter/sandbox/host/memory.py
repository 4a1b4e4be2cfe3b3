"""Check whether a memory limit is enough to start a worker. If not, the error says how much is needed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from autocoder_jupyter.errors import OutOfMemory, SandboxError, SandboxUnavailable
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.protocol import Limits, Program, Worker
from autocoder_jupyter.types import OutputSpec

PLENTY = 256 << 20
"""Bytes of memory with which a worker that starts can also run a program, with the packages of every environment."""

STEPS = tuple(size << 20 for size in (128, 256, 512, 1024, 2048))
"""Limits that are tried to find out which one would do."""

MARGIN = 8
"""An eighth of a limit must be left over before it is called enough: no two starts need the same."""

FREE_FOR_SPARE = 1 << 30
"""Bytes that a machine must have left before a worker is started that may not be needed; it holds a tenth of that."""

_MEMORY = Path("/proc/meminfo")

_NOTHING = Program(program_text("nothing"), (), (OutputSpec(name="nothing", type="int"),))


def enough_for_spare() -> bool:
    """Whether this machine has memory for a worker that may not be needed. No, where it does not say."""
    try:
        fields = dict(line.split(":", 1) for line in _MEMORY.read_text("ascii").splitlines())
        return int(fields["MemAvailable"].split()[0]) << 10 >= FREE_FOR_SPARE
    except (OSError, ValueError, KeyError):
        return False


def start_within(start: Callable[[Limits], Worker], limits: Limits) -> Worker:
    """Start a worker. When it fails because of too little memory, the error says so.

    What a worker needs depends on the libraries of its environment, so it is measured: after a failure that may be
    the memory's, workers with more are started until one runs a program.

    Args:
        start: starts a worker within limits.
        limits: the wanted ones.

    Raises:
        SandboxUnavailable: the memory is too little; the hint has the least of `STEPS` that works.
        SandboxError: what `start` raises for another reason.
    """
    try:
        return _proven(start, limits)
    except SandboxError as error:
        starved = isinstance(error, OutOfMemory)
        if not starved and limits.memory >= PLENTY:
            raise
        least = next((size for size in STEPS if size > limits.memory and _works(start, limits, size)), None)
        if least is None and not starved:
            raise
    raise SandboxUnavailable(
        f"{_words(limits.memory)} of memory is too little to start a worker in this environment.",
        why="Its interpreter and libraries need more before any program runs.",
        hint=f"{_words(least)} is enough here: {_setting(least)}." if least else "Allow more with --memory.",
    )


def _proven(start: Callable[[Limits], Worker], limits: Limits) -> Worker:
    """A worker. One with little memory must run a program, for which it forks, before it counts as started."""
    worker = start(limits)
    if limits.memory < PLENTY:
        try:
            worker.call(_NOTHING, {})
        except BaseException:
            worker.kill()
            raise
    return worker


def _works(start: Callable[[Limits], Worker], limits: Limits, memory: int) -> bool:
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


def _words(size: int) -> str:
    return f"{size / (1 << 20):.4g} MiB"
