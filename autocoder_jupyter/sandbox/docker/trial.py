"""A trial run of an image: whether a hardened container of it starts, which Python it has, and its limits.

Some engines accept limits and ignore them (rootless engines, old cgroups), so the limits are read from inside.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.docker.container import ContainerStart, Transport, run_once
from autocoder_jupyter.sandbox.docker.engine import DockerEngine
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.protocol import WorkerLimits

LIMITS = WorkerLimits(memory=256 << 20, processes=32, disk=16 << 20)
SECONDS = 30.0


@dataclass(frozen=True)
class ImageTrial:
    """The result of a trial run.

    Args:
        python_version: (major, minor) of `python3` in the image.
        machine: its architecture, in the names of `uname -m`.
        libc: ("glibc", "2.36"), or ("", "") for musl.
        site_packages: the folder of the packages of its interpreter.
        bytecode: whether the image has the bytecode of the standard library.
        breaches: missing protections. If there is one, the engine is not used.
        weaknesses: limits that are not enforced.
        facts: the output of the program; see `programs.container_trial`.
    """

    python_version: tuple[int, int]
    machine: str
    libc: tuple[str, str]
    site_packages: str
    standard_library: str
    bytecode: bool
    transport: Transport
    breaches: tuple[str, ...]
    weaknesses: tuple[str, ...]
    facts: dict[str, Any]


_trials: dict[tuple[str, str, Transport | None], ImageTrial] = {}
_lock = threading.Lock()


def trial(engine: DockerEngine, image: str, image_id: str, transport: Transport | None = None) -> ImageTrial:
    """Run the trial. The result is kept in this process for each engine, image and transport."""
    with _lock:
        key = (engine.url, image_id, transport)
        if key not in _trials:
            _trials[key] = _run(engine, image, transport)
        return _trials[key]


def known_transport(engine: DockerEngine) -> Transport | None:
    """The transport that worked with this engine in an earlier trial; None if there was no trial."""
    return next(
        (done.transport for (url, _, forced), done in _trials.items() if url == engine.url and not forced), None
    )


def _run(engine: DockerEngine, image: str, transport: Transport | None) -> ImageTrial:
    start = ContainerStart(engine, image, program_text("container_trial"), LIMITS, role="trial")
    if transport is None and engine.same_host:
        try:
            return _read(run_once(start, "sockets", seconds=SECONDS), "sockets")
        except SandboxUnavailable:
            pass  # the attach stream will show whether the sockets were the reason
    used = transport or "attach"
    return _read(run_once(start, used, seconds=SECONDS), used)


def _read(written: bytes, transport: Transport) -> ImageTrial:
    facts = json.loads(written)
    if transport == "sockets" and not facts["descriptors"]:
        raise SandboxUnavailable("A descriptor does not arrive in the container.", why="Each call needs its own link.")
    major, minor = facts["python_version"]
    libc, libc_version = facts["libc"]
    return ImageTrial(
        python_version=(major, minor),
        machine=facts["machine"],
        libc=(libc, libc_version),
        site_packages=facts["site_packages"],
        standard_library=facts["standard_library"],
        bytecode=facts["bytecode"],
        transport=transport,
        breaches=tuple(_breaches(facts)),
        weaknesses=tuple(_weaknesses(facts)),
        facts=facts,
    )


def _breaches(facts: dict[str, Any]) -> list[str]:
    found = {
        "the program runs as root": facts["user"] == 0,
        "it keeps capabilities": facts["capabilities"] != 0,
        "it may gain privileges": not facts["no_new_privileges"],
        "the image can be written to": not facts["read_only"],
        "it has a network": bool(set(facts["networks"]) - {"lo"}),
    }
    return [breach for breach, is_found in found.items() if is_found]


def _weaknesses(facts: dict[str, Any]) -> list[str]:
    limits = {"memory": LIMITS.memory, "processes": LIMITS.processes}
    return [
        f"the engine does not enforce the limit on {name}"
        for name, limit in limits.items()
        if not facts[name].isdigit() or int(facts[name]) > limit
    ]
