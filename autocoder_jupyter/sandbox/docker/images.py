"""Images of an engine: choose and pull the base image, push a built one, and read the engine's progress."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.errors import InvalidRequest, SandboxUnavailable
from autocoder_jupyter.sandbox.docker.container import Transport
from autocoder_jupyter.sandbox.docker.engine import DockerEngine
from autocoder_jupyter.sandbox.docker.trial import ImageTrial, trial
from autocoder_jupyter.sandbox.protocol import UNWATCHED, BuildWatch, CancellationToken
from autocoder_jupyter.types import ImageConfig

if TYPE_CHECKING:
    from docker import APIClient

LOCAL_BASE = "autocoder-base:bookworm"
PULL_SECONDS = 600

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Image:
    """An image of the engine. `labels` and `user` are those of its configuration."""

    name: str
    id: str
    labels: Mapping[str, str]
    user: str = ""


@dataclass(frozen=True)
class Base:
    """A base image, and the result of a trial run in it."""

    image: Image
    trial: ImageTrial

    @property
    def platform(self) -> str:
        """The platform of its wheels, as a value of uv's `--python-platform`."""
        libc, version = self.trial.libc
        if libc != "glibc":
            return f"{self.trial.machine}-unknown-linux-musl"
        # uv has the tags up to 2.40. Wheels for an older C library run with a newer one.
        major, minor = (int(part) for part in version.split(".")[:2])
        return f"{self.trial.machine}-manylinux_{major}_{min(minor, 40)}"


def find_image(client: APIClient, name: str) -> Image | None:
    """The image with that name, if the engine has it, else None."""
    from docker.errors import ImageNotFound, NotFound

    try:
        found = client.inspect_image(name)
    except (ImageNotFound, NotFound):
        return None
    config = found.get("Config") or {}
    return Image(name, str(found["Id"]), config.get("Labels") or {}, str(config.get("User") or ""))


def find_base(
    engine: DockerEngine,
    config: ImageConfig,
    python_version: tuple[int, int],
    *,
    transport: Transport | None = None,
    watch: BuildWatch = UNWATCHED,
) -> Base:
    """The base image: the configured one, else `LOCAL_BASE` if the engine has it, else the official one of Python."""
    wanted = ".".join(map(str, python_version))
    chosen = config.base_image or os.environ.get("AUTOCODE_BASE_IMAGE")
    names = (chosen,) if chosen else (LOCAL_BASE, f"python:{wanted}-slim-bookworm")
    client = engine.client()
    try:
        for name in names:
            image = find_image(client, name)
            if image is None:
                if name == LOCAL_BASE:
                    continue  # it is only built locally; no registry has it
                pull(engine, name, watch)
                image = find_image(client, name)
            if image is None:
                continue
            base = Base(image, trial(engine, name, image.id, transport))
            if base.trial.python_version == python_version:
                return base
            if chosen:
                found = ".".join(map(str, base.trial.python_version))
                raise SandboxUnavailable(
                    f"The base image {name} has Python {found}, but Python {wanted} is required.",
                    hint=f"ImageConfig(python_version=({found.replace('.', ', ')})), or another base image.",
                )
    finally:
        client.close()
    raise SandboxUnavailable(f"There is no base image with Python {wanted}.", hint=_BASE_HINT)


_BASE_HINT = (
    "Pull or load an image with Python and name it in AUTOCODE_BASE_IMAGE or ImageConfig(base_image=…); "
    "without a registry, tools/docker_engine.sh builds one."
)


def pull(engine: DockerEngine, name: str, watch: BuildWatch = UNWATCHED) -> None:
    """Pull an image."""
    from docker.errors import APIError
    from docker.utils import parse_repository_tag

    watch.on_step(f"pulling {name}")
    repository, tag = parse_repository_tag(name)
    client = engine.client(PULL_SECONDS)
    try:
        with hanging_up(client, watch.token):
            for line in progress_lines(client.pull(repository, tag or "latest", stream=True, decode=True)):
                if "Pull complete" in line or "Downloaded" in line:
                    watch.on_step(line)
    except (APIError, BuildFailed) as error:
        why = str(getattr(error, "explanation", None) or error)
        raise SandboxUnavailable(
            f"The base image {name} is not here and cannot be pulled.", why=why, hint=_BASE_HINT
        ) from None
    finally:
        client.close()


def push(
    engine: DockerEngine,
    name: str,
    secret: str,
    watch: BuildWatch = UNWATCHED,
) -> None:
    """Push an image to the registry in its name."""
    from docker.errors import APIError
    from docker.utils import parse_repository_tag

    user, colon, password = os.environ.get(secret, "").partition(":")
    if not colon:
        raise InvalidRequest(
            f"The environment variable {secret} does not hold user:password for the registry.",
            hint=f"Set {secret}, or leave registry_secret out.",
        )
    watch.on_step(f"pushing {name}")
    repository, tag = parse_repository_tag(name)
    client = engine.client(PULL_SECONDS)
    try:
        credentials = {"username": user, "password": password}
        with hanging_up(client, watch.token):
            for _ in progress_lines(client.push(repository, tag, stream=True, decode=True, auth_config=credentials)):
                pass
    except (APIError, BuildFailed) as error:
        why = str(getattr(error, "explanation", None) or error)
        raise SandboxUnavailable(f"The image {name} cannot be pushed.", why=why) from None
    finally:
        client.close()


@contextmanager
def hanging_up(client: APIClient, token: CancellationToken) -> Iterator[None]:
    """Close the client's connections if the token is cancelled. The engine then ends the work."""
    answers: list[Any] = []

    def hang_up() -> None:
        for answer in answers:
            with suppress(OSError, RuntimeError, ValueError):  # it may just have ended
                answer.raw.shutdown()

    def notice(answer: Any, *_: Any, **__: Any) -> None:
        answers.append(answer)
        token.raise_if_cancelled()

    client.hooks["response"].append(notice)
    with token.on_cancel(hang_up):
        yield


class BuildFailed(Exception):
    """The engine reported an error during a build, a pull or a push. `output` is its output up to there."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


def progress_lines(stream: Iterator[dict[str, Any]]) -> Iterator[str]:
    """The lines of the engine's progress."""
    written: list[str] = []
    for record in stream:
        if "error" in record:
            # The engine colours each word that a step writes to standard error.
            raise BuildFailed(str(record["error"]).strip(), _COLOUR.sub("", "".join(written)))
        text = str(record.get("stream") or record.get("status") or "")
        written.append(text if "stream" in record else f"{text}\n")
        yield from (line for line in text.splitlines() if line.strip())
