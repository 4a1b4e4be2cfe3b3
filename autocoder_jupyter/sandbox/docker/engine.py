"""An engine that answered: its properties, its client, and its errors."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.errors import EngineGone, SandboxUnavailable

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
        tls: the TLS settings for docker-py.
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
    """Turn exceptions of docker-py inside this context into those of this package.

    Args:
        what: the sentence of the error if the engine refuses the request.

    Raises:
        SandboxUnavailable: the engine refuses the request.
        EngineGone: the engine does not answer any more.
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
    """The first three numbers of a version such as "20.10.24+dfsg1", for comparisons."""
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0].partition("-")[0])[:3])
