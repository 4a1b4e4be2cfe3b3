"""A trial run: does a hardened container of an image start here, which Python is in it, and do the limits hold?

Engines accept limits that they then ignore (rootless ones, old cgroups), so every limit is read back from inside.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.docker.container import Start, Transport, run_once
from autocoder_jupyter.sandbox.docker.engine import Engine
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.protocol import Limits

LIMITS = Limits(memory=256 << 20, processes=32, disk=16 << 20)
SECONDS = 30.0


@dataclass(frozen=True)
class Trial:
    """What a trial run showed.

    Args:
        python_version: (major, minor) of `python3` in the image.
        machine: its architecture, as `uname -m` says it.
        libc: ("glibc", "2.36"), or ("", "") for musl.
        site_packages: the folder that its interpreter searches for packages.
        transport: what worked.
        breaches: protections that do not hold; with one of them the engine is not used.
        weaknesses: limits that are not enforced.
        facts: all that the program told.
    """

    python_version: tuple[int, int]
    machine: str
    libc: tuple[str, str]
    site_packages: str
    transport: Transport
    breaches: tuple[str, ...]
    weaknesses: tuple[str, ...]
    facts: dict[str, Any]


_trials: dict[tuple[str, str, Transport | None], Trial] = {}
_lock = threading.Lock()


def trial(engine: Engine, image: str, image_id: str, transport: Transport | None = None) -> Trial:
    """Run the trial, once a process for each engine and image.

    Args:
        engine: where.
        image: the image's name, for people.
        image_id: its content id.
        transport: forced, or None for the first that works.

    Raises:
        SandboxUnavailable: the container does not run.
    """
    with _lock:
        key = (engine.url, image_id, transport)
        if key not in _trials:
            _trials[key] = _run(engine, image, transport)
        return _trials[key]


def known_transport(engine: Engine) -> Transport | None:
    """What worked with this engine in an earlier trial."""
    return next(
        (done.transport for (url, _, forced), done in _trials.items() if url == engine.url and not forced), None
    )


def _run(engine: Engine, image: str, transport: Transport | None) -> Trial:
    start = Start(engine, image, program_text("container_trial"), LIMITS, role="trial")
    if transport is None and engine.same_host:
        try:
            return _read(run_once(start, "sockets", seconds=SECONDS), "sockets")
        except SandboxUnavailable:
            pass  # whatever the reason, the attach stream shows whether it was the sockets'
    used = transport or "attach"
    return _read(run_once(start, used, seconds=SECONDS), used)


def _read(written: bytes, transport: Transport) -> Trial:
    facts = json.loads(written)
    major, minor = facts["python_version"]
    libc, libc_version = facts["libc"]
    return Trial(
        python_version=(major, minor),
        machine=facts["machine"],
        libc=(libc, libc_version),
        site_packages=facts["site_packages"],
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
    return [words for words, holds in found.items() if holds]


def _weaknesses(facts: dict[str, Any]) -> list[str]:
    limits = {"memory": LIMITS.memory, "processes": LIMITS.processes}
    return [
        f"the engine does not enforce the limit on {name}"
        for name, limit in limits.items()
        if not facts[name].isdigit() or int(facts[name]) > limit
    ]
