"""Find a Docker engine, or Podman's compatible service, and say in words why there is none.

The order is that of Docker's own command line, then the usual sockets: `DOCKER_HOST`, the current context, the
system's socket, Docker Desktop's, Colima's, the rootless engine's, Podman's. What a person chose by variable or context
is final: when it does not answer, nothing else is tried behind their back.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.docker.engine import Engine

PING_SECONDS = 2.0


@dataclass(frozen=True)
class Candidate:
    """An address at which an engine may answer, and who names it."""

    source: str
    url: str
    tls: Any = None
    chosen: bool = False


def find_engine() -> Engine:
    """The first engine that answers within two seconds.

    Raises:
        SandboxUnavailable: with the reason for each address that was tried, and what to do.
    """
    refusals: list[SandboxUnavailable] = []
    for candidate in candidates(os.environ):
        try:
            return connect(candidate)
        except SandboxUnavailable as refusal:
            refusals.append(refusal)
    if not refusals:
        raise SandboxUnavailable(
            "Docker is not running here: there is no engine's socket on this machine.",
            hint="Start Docker or Podman's service, or point DOCKER_HOST at an engine.",
        )
    if len(refusals) == 1:
        raise refusals[0]
    raise SandboxUnavailable(
        "No Docker engine answers.", why=" ".join(str(r.what) for r in refusals), hint=refusals[0].hint
    )


def candidates(environ: Mapping[str, str]) -> Iterator[Candidate]:
    """Where to look, in order. A choice of the person's (variable or context) is the only one."""
    from docker.errors import DockerException
    from docker.utils import kwargs_from_env

    try:
        chosen = kwargs_from_env(environment=dict(environ) or {"": ""})
        if chosen.get("base_url"):
            yield Candidate("DOCKER_HOST", chosen["base_url"], chosen.get("tls"), chosen=True)
            return
        context = _context(environ)
    except DockerException as error:
        raise SandboxUnavailable("Docker's settings cannot be read.", why=str(error)) from None
    if context is not None:
        yield context
        return
    for source, path in _usual_sockets(environ):
        if _is_socket(path):
            yield Candidate(source, f"unix://{path}")
    if sys.platform == "win32":
        yield Candidate("Docker's named pipe", "npipe:////./pipe/docker_engine")


def _context(environ: Mapping[str, str]) -> Candidate | None:
    """The context that `docker context use` or `DOCKER_CONTEXT` chose, unless it is the default one."""
    from docker.context import ContextAPI
    from docker.context.config import get_current_context_name

    name = environ.get("DOCKER_CONTEXT") or get_current_context_name()
    if not name or name == "default":
        return None
    source = f"the Docker context {name!r}"
    found = ContextAPI.kwargs_from_context(name)
    if not found:
        raise SandboxUnavailable(
            f"{source[0].upper()}{source[1:]} is chosen, and there is no such context.",
            hint="docker context ls; docker context use default",
        )
    return Candidate(source, found["base_url"], found.get("tls"), chosen=True)


def _usual_sockets(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = Path(environ.get("HOME") or Path.home())
    yield "the system's socket", Path("/var/run/docker.sock")
    yield "Docker Desktop's socket", home / ".docker/run/docker.sock"
    yield "Docker Desktop's socket", home / ".docker/desktop/docker.sock"
    yield "Colima's socket", home / ".colima/default/docker.sock"
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        yield "the rootless engine's socket", Path(runtime) / "docker.sock"
        yield "Podman's socket", Path(runtime) / "podman/podman.sock"
    yield "Podman's socket", Path("/run/podman/podman.sock")


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except PermissionError:
        return True  # worth a try, so that the person reads "permission denied" and not "not running"
    except OSError:
        return False


def connect(candidate: Candidate) -> Engine:
    """Ask the engine at one address who it is.

    Raises:
        SandboxUnavailable: with the reason in words.
    """
    from docker import APIClient
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    if candidate.url.startswith("unix://"):
        _knock(candidate)
    try:
        client = APIClient(
            base_url=candidate.url,
            tls=candidate.tls or False,
            version="auto",
            timeout=PING_SECONDS,
            use_ssh_client=candidate.url.startswith("ssh://"),
        )
        try:
            about = client.version()
            spoken = client.api_version
        finally:
            client.close()
    except (DockerException, RequestException, OSError) as error:
        raise _no_answer(candidate, error) from None
    if str(about.get("Os", "linux")).lower() == "windows":
        raise SandboxUnavailable(
            f"The engine at {candidate.url} runs Windows containers; solutions need Linux ones.",
            hint="Switch Docker Desktop to Linux containers.",
        )
    return Engine(
        url=candidate.url,
        source=candidate.source,
        version=str(about.get("Version", "")),
        api_version=spoken,
        architecture=str(about.get("Arch", "")),
        product=_product(about),
        tls=candidate.tls,
    )


def _knock(candidate: Candidate) -> None:
    """Connect to a unix socket ourselves, because docker-py wraps the errno, and the errno is the reason."""
    path = urlparse(candidate.url).path
    with socket.socket(socket.AF_UNIX) as knock:
        knock.settimeout(PING_SECONDS)
        try:
            knock.connect(path)
        except PermissionError:
            raise SandboxUnavailable(
                f"Permission denied at Docker's socket {path} ({candidate.source}).",
                hint="Add yourself to the group `docker` and log in again, or use a rootless engine.",
            ) from None
        except OSError as error:
            raise _no_answer(candidate, error) from None


def _no_answer(candidate: Candidate, error: Exception) -> SandboxUnavailable:
    what = f"No Docker engine answers at {candidate.url} ({candidate.source})."
    if not candidate.chosen:
        return SandboxUnavailable(what, why=_last_words(error), hint="Start Docker, or point DOCKER_HOST at an engine.")
    if candidate.source == "DOCKER_HOST":
        return SandboxUnavailable(what, why=_last_words(error), hint="Start that engine, or unset DOCKER_HOST.")
    return SandboxUnavailable(
        what, why=_last_words(error), hint="Start that engine, or choose another one: docker context use default"
    )


def _last_words(error: Exception) -> str:
    """The innermost cause, which is the only part that tells something."""
    text = str(error)
    if "timed out" in text.lower():
        return f"It did not answer within {PING_SECONDS:.0f} seconds."
    found = re.findall(
        r"(?:No such file or directory|Connection refused|Permission denied|Name or service not known)", text
    )
    return found[-1] if found else text


def _product(about: Mapping[str, Any]) -> str:
    platform = str((about.get("Platform") or {}).get("Name", ""))
    components = " ".join(str(part.get("Name", "")) for part in about.get("Components") or ())
    if "podman" in f"{platform} {components}".lower():
        return "Podman"
    return "Docker Desktop" if "desktop" in platform.lower() else "Docker"
