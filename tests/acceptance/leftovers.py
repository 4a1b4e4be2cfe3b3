"""Find what a sandbox has left: process trees of this machine, and containers by their labels."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import time
from collections.abc import Callable, Iterable

import psutil

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.docker.engine import PROCESS, DockerEngine, find_engine

PATIENCE = 60.0
"""Seconds after which remaining processes or containers are an error."""

_TICK = 0.05


def worker_roots(owner: int | None = None) -> list[int | str]:
    """The workers of a process: process ids of supervisors and forked workers, ids of containers."""
    own = owner or os.getpid()
    return [*supervised(own, "alone"), *forked(own), *containers(own)]


def supervised(owner: int, kind: str) -> list[int]:
    """Process ids of the supervisors of this kind that are children of a process; the kind is in their arguments."""
    found = []
    for child in children(owner, recursive=False):
        try:
            if kind in child.cmdline():
                found.append(child.pid)
        except psutil.Error:  # ended meanwhile
            continue
    return found


def forked(owner: int) -> list[int]:
    """Process ids of the workers that were forked from the loading processes of a process."""
    supervisors = supervised(owner, "forks")
    loading = [child.pid for supervisor in supervisors for child in children(supervisor, recursive=False)]
    return [worker.pid for process in loading for worker in children(process, recursive=False)]


def containers(owner: int) -> list[str]:
    """Ids of the containers with this process in their label, running or not."""
    engine = _engine()
    if engine is None:
        return []
    client = engine.client()
    try:
        return [found["Id"] for found in client.containers(all=True, filters={"label": f"{PROCESS}={owner}"})]
    finally:
        client.close()


@functools.cache
def _engine() -> DockerEngine | None:
    try:
        return find_engine()
    except SandboxUnavailable:
        return None


def children(owner: int, *, recursive: bool = True) -> list[psutil.Process]:
    """All living descendants of a process, without the process of models, which stays as long as its kernel."""
    try:
        found = psutil.Process(owner).children(recursive=recursive)
    except psutil.NoSuchProcess:
        return []
    return [child for child in found if alive(child) and not _asks_models(child)]


def _asks_models(process: psutil.Process) -> bool:
    try:
        return any("autocoder_jupyter.models.serving" in argument for argument in process.cmdline())
    except psutil.Error:
        return False


def alive(process: psutil.Process) -> bool:
    """Whether this process still runs. A later process with the same id does not count."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def await_end(processes: Iterable[psutil.Process], patience: float = PATIENCE) -> None:
    """Wait until these processes have ended, or the time is over. Unlike `eventually` this takes no processor time."""
    deadline = time.monotonic() + patience
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(process.pid)
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(max(deadline - time.monotonic(), 0.0) * 1000)
            os.close(descriptor)


def eventually(holds: Callable[[], bool], what: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait until a condition is true. `what` describes the current state for the error message."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(_TICK)
