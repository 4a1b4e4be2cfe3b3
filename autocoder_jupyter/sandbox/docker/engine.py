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

# Docker allowed AF_ALG sockets in its default seccomp profile until then (CVE-2026-31431, an unprivileged write to the
# page cache). The worker denies `socket` itself, so an older engine is a warning and not a refusal.
FIRST_SAFE_VERSION = (29, 4, 3)


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
        """The weaknesses of this engine, one line each."""
        found = []
        if not self.podman and release(self.version) < FIRST_SAFE_VERSION:
            wanted = ".".join(map(str, FIRST_SAFE_VERSION))
            found.append(
                f"engine {self.version} is older than {wanted} (CVE-2026-31431); the worker's own filter closes it"
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
