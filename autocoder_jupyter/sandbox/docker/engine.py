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
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from autocoder_jupyter.errors import EngineGone, SandboxUnavailable

if TYPE_CHECKING:
    from docker import APIClient

PING_SECONDS = 2.0
CONTROL_SECONDS = 10
"""For short questions and for kills. Builds and streams have their own."""

# Docker allowed AF_ALG sockets in its default seccomp profile until then (CVE-2026-31431, an unprivileged write to the
# page cache). The worker denies `socket` itself, so an older engine is a warning and not a refusal.
FIRST_SAFE_VERSION = (29, 4, 3)


@dataclass(frozen=True)
class Candidate:
    """An address at which an engine may answer, and who names it."""

    source: str
    url: str
    tls: Any = None
    chosen: bool = False


@dataclass(frozen=True)
class Engine:
    """An engine that answered.

    Args:
        url: its address, `unix://…`, `tcp://…`, `ssh://…` or `npipe://…`.
        source: what pointed to it, for people.
        version: its release, such as "29.5.1".
        api_version: spoken with it, so that a client needs no handshake.
        architecture: of its machine, as Go names it ("amd64").
        product: "Docker", "Podman", "Docker Desktop" …
        tls: as docker-py takes it.
    """

    url: str
    source: str
    version: str
    api_version: str
    architecture: str
    product: str
    tls: Any = field(default=None, repr=False, compare=False)

    def client(self, timeout: float | None = CONTROL_SECONDS) -> APIClient:
        """A new client. Cheap, and not shared: docker-py's session is not made for several threads."""
        from docker import APIClient

        return APIClient(
            base_url=self.url,
            tls=self.tls or False,
            version=self.api_version,
            timeout=timeout,
            use_ssh_client=self.url.startswith("ssh://"),
        )

    @property
    def same_host(self) -> bool:
        """Whether containers may share files and sockets with this process: a local engine that is not in a VM."""
        return sys.platform == "linux" and self.url.startswith("unix://") and "Desktop" not in self.product

    @property
    def podman(self) -> bool:
        """Whether it is Podman behind Docker's interface."""
        return "Podman" in self.product

    @cached_property
    def info(self) -> Mapping[str, Any]:
        """What the engine tells about itself."""
        client = self.client()
        try:
            info: Mapping[str, Any] = client.info()
            return info
        finally:
            client.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is weaker here than it could be, a line each."""
        found = []
        if not self.podman and release(self.version) < FIRST_SAFE_VERSION:
            wanted = ".".join(map(str, FIRST_SAFE_VERSION))
            found.append(
                f"engine {self.version} is older than {wanted} (CVE-2026-31431); the worker's own filter denies the call"
            )
        return tuple(found)


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn docker-py's exceptions into ours.

    Args:
        what: the sentence for a request that the engine refuses.

    Raises:
        SandboxUnavailable: the engine answers and refuses.
        EngineGone: it does not answer any more.
    """
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except APIError as error:
        raise SandboxUnavailable(what, why=str(error.explanation or error)) from None
    except (DockerException, RequestException, HTTPError) as error:
        raise EngineGone("The Docker engine stopped answering.", why=str(error)) from None


def release(version: str) -> tuple[int, ...]:
    """The numbers in front of a version such as "20.10.24+dfsg1"."""
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0].partition("-")[0])[:3])


def find_engine() -> Engine:
    """The first engine that answers within two seconds.

    Raises:
        SandboxUnavailable: with the reason for each address that was tried, and what to do.
    """
    try:
        import docker  # noqa: F401
    except ImportError as error:
        raise SandboxUnavailable(
            "Docker cannot be used: the Python package `docker` is not installed.",
            why=str(error),
            hint="pip install 'autocoder-jupyter[docker]'",
        ) from None
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
    found = re.findall(r"(?:No such file or directory|Connection refused|Permission denied|Name or service not known)", text)
    return found[-1] if found else text


def _product(about: Mapping[str, Any]) -> str:
    platform = str((about.get("Platform") or {}).get("Name", ""))
    components = " ".join(str(part.get("Name", "")) for part in about.get("Components") or ())
    if "podman" in f"{platform} {components}".lower():
        return "Podman"
    return "Docker Desktop" if "desktop" in platform.lower() else "Docker"
