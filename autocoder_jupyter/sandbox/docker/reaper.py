"""Remove the containers of kernels that have ended.

A container ends by itself when its kernel does, because its standard input hangs up. This is for the rest: one that
was created and never started, or whose end the engine missed. Every container carries its owner in labels: the
machine's boot and process namespace, the process id and that process's start time. A process id alone would be
mistaken for another process after a while, and a process id of another container's kernel means nothing here.
"""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from autocoder_jupyter.sandbox.docker.engine import Engine

LABEL = "autocoder-jupyter"
ROLE = f"{LABEL}.role"
HOST = f"{LABEL}.host"
PROCESS = f"{LABEL}.process"
STARTED = f"{LABEL}.started"

_PROC = Path("/proc/self")


def owner_labels(role: str) -> dict[str, str]:
    """Labels that name this process as the owner. Not cached: a forked process is another owner."""
    pid = os.getpid()
    return {ROLE: role, HOST: _host(), PROCESS: str(pid), STARTED: _start_time(pid) or ""}


def reap(engine: Engine) -> tuple[str, ...]:
    """Remove containers of ours whose owner is a process of this machine that is dead. Returns their ids."""
    from docker.errors import APIError

    removed = []
    client = engine.client()
    try:
        for container in client.containers(all=True, filters={"label": [ROLE, f"{HOST}={_host()}"]}):
            if _owner_lives(container["Labels"]):
                continue
            with suppress(APIError):  # another kernel may be removing the same one
                client.remove_container(container["Id"], force=True, v=True)
                removed.append(str(container["Id"]))
    finally:
        client.close()
    return tuple(removed)


def _owner_lives(labels: dict[str, Any]) -> bool:
    pid = str(labels.get(PROCESS, ""))
    return pid.isdigit() and _start_time(int(pid)) == labels.get(STARTED)


@cache
def _host() -> str:
    """The scope of our process ids: this boot of this machine and, on Linux, this process namespace."""
    if not _PROC.is_dir():
        return platform.node()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"


def _start_time(pid: int) -> str | None:
    """When a process started, in the system's own words; None when there is no such process."""
    if _PROC.is_dir():
        try:
            # The command's name stands in brackets and may hold anything; start time is the 22nd field of all.
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        except OSError:
            return None
    asked = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or None
