"""Docker engines: how one is found, its properties, client and errors, and the removal of left-over containers."""

from __future__ import annotations

import os
import platform
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlparse

from autocoder_jupyter.errors import EngineGone, SandboxUnavailable
from autocoder_jupyter.sandbox.docker.products import Machine, help_lines
from autocoder_jupyter.untrusted.plain_json import parse

if TYPE_CHECKING:
    from docker import APIClient


CONTROL_SECONDS = 10
"""Timeout of short requests, in seconds. Builds and streams have their own."""

# Before this version, Docker's default seccomp profile allowed AF_ALG sockets (CVE-2026-31431, an unprivileged write to
# the page cache). The worker itself denies `socket`, so an older engine gives a warning and is not refused.
FIRST_SAFE_VERSION = (29, 4, 3)


@dataclass(frozen=True)
class DockerEngine:
    """An engine that answered.

    Args:
        url: its address, `unix://…`, `tcp://…`, `ssh://…` or `npipe://…`.
        source: where the address comes from, in words.
        version: its release, such as "29.5.1".
        api_version: the version of the API to use, so that a client needs no handshake.
        architecture: of its machine, in Go's names ("amd64").
        product: "Docker", "Podman" or "Docker Desktop".
    """

    url: str
    source: str
    version: str
    api_version: str
    architecture: str
    product: str
    tls: Any = field(default=None, repr=False, compare=False)

    def client(self, timeout: float | None = CONTROL_SECONDS) -> APIClient:
        """Create a client with a timeout in seconds. Do not share it: docker-py's session is not threadsafe."""
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
        """Whether containers can share files and sockets with this process: the engine is local and not in a VM."""
        return sys.platform == "linux" and self.url.startswith("unix://") and "Desktop" not in self.product

    @property
    def podman(self) -> bool:
        """Whether it is Podman behind Docker's interface."""
        return "Podman" in self.product

    @cached_property
    def info(self) -> Mapping[str, Any]:
        """The engine's answer to `docker info`."""
        client = self.client()
        try:
            info: Mapping[str, Any] = client.info()
            return info
        finally:
            client.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The weaknesses of this engine, one line each."""
        found = []
        if not self.podman and release(self.version) < FIRST_SAFE_VERSION:
            wanted = ".".join(map(str, FIRST_SAFE_VERSION))
            found.append(
                f"engine {self.version} is older than {wanted} (CVE-2026-31431); the worker's own filter prevents this"
            )
        return tuple(found)


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn exceptions of docker-py inside this context into those of this package."""
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
    """The first three numbers of a version such as "20.10.24+dfsg1", for comparisons."""
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0].partition("-")[0])[:3])


# Detection
#
# Like Docker's command line, it first uses `DOCKER_HOST`, then the current context. Without them it tries the addresses
# of the programs that provide an engine (`products`). If the user chose an engine by variable or context and it does
# not answer, no other engine is tried.

Answer = TypeVar("Answer")

PING_SECONDS = 2.0
ANSWER_SECONDS = 10.0
"""Seconds until an answer is complete. A service that sends a byte now and then keeps to the two seconds for ever."""

_ANSWER_BYTES = 2**18
_VERSION = re.compile(r"\d{1,3}\.\d{1,3}")


@dataclass(frozen=True)
class Candidate:
    """An address at which an engine may answer.

    Args:
        source: where the address comes from, in words.
        start: the command or step that starts an engine there; "" if it is unknown.
    """

    source: str
    url: str
    tls: Any = None
    chosen: bool = False
    start: str = ""


def find_engine() -> DockerEngine:
    """The first engine that answers within two seconds.

    Raises:
        SandboxUnavailable: no engine answers. The error has the reason for each address, and what to do.
    """
    refusals: list[SandboxUnavailable] = []
    machine = Machine(os.environ)
    for candidate in candidates(machine):
        try:
            return connect(candidate)
        except SandboxUnavailable as refusal:
            refusals.append(refusal)
    if not refusals:
        raise SandboxUnavailable(
            "Docker is not running here: there is no engine's socket on this machine.",
            hint="; ".join([*help_lines(machine), "or point DOCKER_HOST at an engine"]),
        )
    if len(refusals) == 1:
        raise refusals[0]
    raise SandboxUnavailable(
        "No Docker engine answers.", why=" ".join(str(r.what) for r in refusals), hint=refusals[0].hint
    )


def candidates(machine: Machine) -> Iterator[Candidate]:
    """The addresses to try, in order. If the user chose one by variable or context, it is the only one."""
    from docker.errors import DockerException
    from docker.utils import kwargs_from_env

    environ = machine.environ
    try:
        chosen = kwargs_from_env(environment=dict(environ) or {"": ""})
        if chosen.get("base_url"):
            url = chosen["base_url"]
            yield Candidate("DOCKER_HOST", url, chosen.get("tls"), chosen=True, start=_start(machine, url))
            return
        context = _context(machine)
    except DockerException as error:
        raise SandboxUnavailable("Docker's settings cannot be read.", why=str(error)) from None
    if context is not None:
        yield context
        return
    for product, url in machine.addresses():
        yield Candidate(f"the address of {product.name}", url, start=product.start)


def _start(machine: Machine, url: str) -> str:
    """What starts the engine at an address; "" if it is unknown."""
    product = machine.product_at(url)
    return product.start if product else ""


def _context(machine: Machine) -> Candidate | None:
    """The context that `docker context use` or `DOCKER_CONTEXT` chose, unless it is the default one."""
    from docker.context import ContextAPI
    from docker.context.config import get_current_context_name

    name = machine.environ.get("DOCKER_CONTEXT") or get_current_context_name()
    if not name or name == "default":
        return None
    source = f"the Docker context {name!r}"
    found = ContextAPI.kwargs_from_context(name)
    if not found:
        raise SandboxUnavailable(
            f"{source[0].upper()}{source[1:]} is chosen, but it does not exist.",
            hint="docker context ls; docker context use default",
        )
    url = found["base_url"]
    return Candidate(source, url, found.get("tls"), chosen=True, start=_start(machine, url))


def connect(candidate: Candidate) -> DockerEngine:
    """Ask the engine at one address for its properties."""
    from docker.constants import MINIMUM_DOCKER_API_VERSION
    from docker.errors import DockerException
    from docker.utils import version_lt
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    if candidate.url.startswith("unix://"):
        _try_socket(candidate)
    try:
        about = _within(ANSWER_SECONDS, lambda: _about(candidate))
    except (DockerException, RequestException, HTTPError, OSError, ValueError) as error:
        raise _no_answer(candidate, error) from None
    spoken = str(about.get("ApiVersion"))
    if not _VERSION.fullmatch(spoken) or version_lt(spoken, MINIMUM_DOCKER_API_VERSION):
        raise _no_answer(candidate, ValueError(f"It answers, but with the version {spoken[:40]!r} of the interface."))
    if str(about.get("Os", "linux")).lower() == "windows":
        raise SandboxUnavailable(
            f"The engine at {candidate.url} runs Windows containers; solutions need Linux ones.",
            hint="Switch Docker Desktop to Linux containers.",
        )
    return DockerEngine(
        url=candidate.url,
        source=candidate.source,
        version=str(about.get("Version", "")),
        api_version=spoken,
        architecture=str(about.get("Arch", "")),
        product=_product(about),
        tls=candidate.tls,
    )


def _about(candidate: Candidate) -> dict[str, Any]:
    """The answer of an engine about itself. Anything may answer at an address, so the answer is limited and checked."""
    from docker import APIClient
    from docker.constants import DEFAULT_DOCKER_API_VERSION

    client = APIClient(
        base_url=candidate.url,
        tls=candidate.tls or False,
        version=DEFAULT_DOCKER_API_VERSION,
        timeout=PING_SECONDS,
        use_ssh_client=candidate.url.startswith("ssh://"),
    )
    try:
        response = client.get(f"{client.base_url}/version", stream=True, allow_redirects=False, timeout=PING_SECONDS)
        with response:
            content = response.raw.read(_ANSWER_BYTES + 1, decode_content=False)
    finally:
        client.close()
    try:
        about = parse(content) if response.status_code == 200 and len(content) <= _ANSWER_BYTES else None
    except ValueError:
        about = None
    if not isinstance(about, dict):
        raise ValueError("It answers, but not as an engine does.")
    return about


def _within(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """The answer, if it is there in time."""
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, name="autocode-engine", daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        raise TimeoutError(f"Its answer was not complete after {seconds:.0f} seconds.") from None


def _try_socket(candidate: Candidate) -> None:
    """Connect to a unix socket directly. The errno gives the reason of a failure, and docker-py hides it."""
    path = urlparse(candidate.url).path
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PING_SECONDS)
        try:
            connection.connect(path)
        except PermissionError:
            raise SandboxUnavailable(
                f"Permission denied at Docker's socket {path} ({candidate.source}).",
                hint="Add yourself to the group `docker` and log in again, or use a rootless engine.",
            ) from None
        except OSError as error:
            raise _no_answer(candidate, error) from None


def _no_answer(candidate: Candidate, error: Exception) -> SandboxUnavailable:
    what = f"No Docker engine answers at {candidate.url} ({candidate.source})."
    start = f"Start that engine ({candidate.start})" if candidate.start else "Start that engine"
    otherwise = "point DOCKER_HOST at another one"
    if candidate.chosen:
        by_variable = candidate.source == "DOCKER_HOST"
        otherwise = "unset DOCKER_HOST" if by_variable else "choose another one: docker context use default"
    return SandboxUnavailable(what, why=_cause(error), hint=f"{start}, or {otherwise}.")


def _cause(error: Exception) -> str:
    """The innermost cause in the text of an error of docker-py. The other parts are not informative."""
    text = str(error)
    if "timed out" in text.lower():
        return f"It did not answer within {PING_SECONDS:.0f} seconds."
    found = re.findall(
        r"(?:No such file or directory|Connection refused|Permission denied|Name or service not known)", text
    )
    return f"{found[-1]}." if found else text


def _product(about: Mapping[str, Any]) -> str:
    platform, *parts = map(_name, (about.get("Platform"), *_list(about.get("Components"))))
    if "podman" in " ".join([platform, *parts]):
        return "Podman"
    return "Docker Desktop" if "desktop" in platform else "Docker"


def _name(part: object) -> str:
    return str(part.get("Name", "")).lower() if isinstance(part, dict) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


# Containers of kernels that have ended
#
# Normally a container ends with its kernel, because its standard input is closed. The reaper removes the others: those
# that were created and never started, or whose end the engine missed. Labels of a container identify its owner: the
# boot and the PID namespace of the machine, the process id, and the start time of the process. The process id alone is
# not enough, because it can be reused, and the kernel of another container has its own process ids.

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
