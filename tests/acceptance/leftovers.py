"""What of a sandbox is still there: process trees of this machine, and containers by their labels."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import psutil

PATIENCE = 10.0
"""Seconds after which whatever is left counts as left behind."""

_TICK = 0.05


def worker_roots(owner: int | None = None) -> list[int | str]:
    """The workers that a process holds: supervisors by process id, containers by id."""
    return [*supervisors(owner or os.getpid()), *containers(owner or os.getpid())]


def supervisors(owner: int) -> list[int]:
    """Process ids of the supervisors right below a process."""
    found = []
    for child in children(owner, recursive=False):
        try:
            if any("sandbox.supervisor" in word for word in child.cmdline()):
                found.append(child.pid)
        except psutil.Error:  # ended meanwhile
            continue
    return found


def containers(owner: int) -> list[str]:
    """Ids of the containers that carry a process in their label, running or not."""
    try:
        import docker

        client = docker.from_env()
    except Exception:
        return []
    try:
        found = client.containers.list(all=True, filters={"label": f"autocoder-jupyter.process={owner}"})
        return [container.id for container in found]
    finally:
        client.close()


def children(owner: int, *, recursive: bool = True) -> list[psutil.Process]:
    """All living processes below a process."""
    try:
        found = psutil.Process(owner).children(recursive=recursive)
    except psutil.NoSuchProcess:
        return []
    return [child for child in found if alive(child)]


def alive(process: psutil.Process) -> bool:
    """Whether this very process, and not a later one with its id, still runs."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def eventually(holds: Callable[[], bool], what: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait until something holds; `what` says how it is instead."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(_TICK)
