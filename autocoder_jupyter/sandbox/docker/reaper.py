"""Remove the containers of kernels that have ended.

Normally a container ends with its kernel, because its standard input is closed. The reaper removes the others: those
that were created and never started, or whose end the engine missed. Labels of a container identify its owner: the boot
and the PID namespace of the machine, the process id, and the start time of the process. The process id alone is not
enough, because it can be reused, and the kernel of another container has its own process ids.
"""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from autocoder_jupyter.sandbox.docker.engine import DockerEngine

LABEL = "autocoder-jupyter"
ROLE = f"{LABEL}.role"
HOST = f"{LABEL}.host"
PROCESS = f"{LABEL}.process"
STARTED = f"{LABEL}.started"

_PROC = Path("/proc/self")


def owner_labels(role: str) -> dict[str, str]:
    """The labels with this process as the owner. They are not cached, because a forked process is another owner."""
    pid = os.getpid()
    return {ROLE: role, HOST: _host(), PROCESS: str(pid), STARTED: _start_time(pid) or ""}


def reap(engine: DockerEngine) -> tuple[str, ...]:
    """Remove containers of this package whose owner was a process of this machine that has ended. Returns their ids."""
    from docker.errors import APIError

    removed = []
    client = engine.client()
    try:
        for container in client.containers(all=True, filters={"label": [ROLE, f"{HOST}={_host()}"]}):
            if _owner_lives(container["Labels"]):
                continue
            with suppress(APIError):  # another kernel may be removing the same container
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
    """Identifies the scope of process ids: the boot of this machine and, on Linux, the PID namespace."""
    if not _PROC.is_dir():
        return platform.node()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"


def _start_time(pid: int) -> str | None:
    """The start time of a process, as a text of the system; None if there is no such process."""
    if _PROC.is_dir():
        try:
            # The name of the command is in brackets and may have any characters. The start time is field 22.
            return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[19]
        except OSError:
            return None
    asked = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or None
