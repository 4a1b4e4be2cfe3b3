"""System packages: the build steps that run apt, its proxies and certificates, and its errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from autocoder_jupyter.errors import PackageError

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
    """Check that each name may be the name of a Debian package. So no option or command gets into a shell.

    Returns:
        The names, sorted, each once.

    Raises:
        PackageError: a name is invalid.
    """
    checked = sorted(set(names))
    for name in checked:
        if not _APT_NAME.fullmatch(name):
            raise PackageError(f"{name!r} is not the name of a Debian package.", package=name)
    return tuple(checked)


def install_steps(names: Sequence[str], with_authorities: bool) -> list[str]:
    """The steps of a Dockerfile that install system packages.

    Args:
        names: checked by `check_system_packages`.
        with_authorities: whether the host's CA bundle is in the build and must be used.
    """
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
