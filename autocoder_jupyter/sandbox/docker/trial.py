"""A trial run. It shows whether a hardened container of an image starts, which Python it has, and its limits.

Some engines accept limits and ignore them (rootless engines, old cgroups), so the limits are read from inside.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from autocoder_jupyter.errors import PackageError, SandboxUnavailable
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
        raise SandboxUnavailable(
            "A descriptor does not arrive in the container.", why="Each call needs a link of its own."
        )
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


# System packages: the build steps that run apt, its proxies and certificates, and its errors.


AUTHORITIES = "authorities.crt"
"""File name of the host's CA bundle in the build."""

# No name may end with "-", because apt would remove that package.
_APT_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]{0,61}[a-z0-9+](=[A-Za-z0-9.+~:-]{1,64})?")
_APT_FAULTS = (
    re.compile(r"E: Unable to locate package (?P<name>\S+)"),
    re.compile(r"E: Package '(?P<name>[^']+)' has no installation candidate"),
    re.compile(r"E: Version '[^']+' for '(?P<name>[^']+)' was not found"),
)
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
_CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def check_system_packages(names: Iterable[str]) -> tuple[str, ...]:
    """Check that each name may be the name of a Debian package. So no option or command gets into a shell."""
    checked = sorted(set(names))
    for name in checked:
        if not _APT_NAME.fullmatch(name):
            raise PackageError(f"{name!r} is not the name of a Debian package.", package=name)
    return tuple(checked)


def install_steps(names: Sequence[str], with_authorities: bool) -> list[str]:
    """The steps of a Dockerfile that install system packages."""
    options, cleanup = "", "rm -rf /var/lib/apt/lists/* /var/cache/apt/*"
    steps = []
    if with_authorities:
        steps.append(f"COPY {AUTHORITIES} /tmp/{AUTHORITIES}")
        options = f" -o Acquire::https::CAInfo=/tmp/{AUTHORITIES}"
        cleanup += f" /tmp/{AUTHORITIES}"
    install = f"apt-get{options} install -y --no-install-recommends -- {' '.join(names)}"
    steps.append(f"RUN export DEBIAN_FRONTEND=noninteractive && apt-get{options} update && {install} && {cleanup}")
    return steps


def authorities(environ: Mapping[str, str]) -> bytes | None:
    """The host's CA bundle, if one is configured. It is not secret, and the build removes it at the end."""
    for variable in _CA_VARIABLES:
        with suppress(OSError):
            if path := environ.get(variable):
                return Path(path).read_bytes()
    return None


def proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """The proxies as build arguments. The engine does not store arguments with these names in the image's history."""
    given = {name: environ.get(name) or environ.get(name.upper()) for name in _PROXIES}
    return {spelling: value for name, value in given.items() if value for spelling in (name, name.upper())}


def network(proxies: Mapping[str, str]) -> str | None:
    """The network of the build: "host" if a proxy runs on this machine, where no container can reach it; else None."""
    hosts = {urlsplit(address).hostname for name, address in proxies.items() if name.lower() != "no_proxy"}
    return "host" if hosts & {"localhost", "127.0.0.1", "::1"} else None


def package_error(message: str, output: str) -> PackageError:
    """The error for a failed build. It names the package that caused it, if the output of apt does."""
    for fault in _APT_FAULTS:
        if found := fault.search(output):
            name = found["name"]
            return PackageError(f"Debian has no package {name} here.", hint="Check its spelling.", package=name)
    complaints = [line for line in output.splitlines() if line.startswith(("E: ", "W: Failed to fetch"))]
    if any("fetch" in line or "resolv" in line for line in complaints):
        return PackageError(
            "Debian's package mirror cannot be reached from a container.",
            why=complaints[0],
            hint="Check the proxy (http_proxy, https_proxy) and the engine's network.",
        )
    return PackageError("The image cannot be built.", why="\n".join(complaints[:5]) or message)
