"""Images: choose the base image, pull it, read the engine's progress, push what was built."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.errors import InvalidRequest, SandboxUnavailable
from autocoder_jupyter.sandbox.cancellation import CancellationToken
from autocoder_jupyter.sandbox.docker.container import Transport
from autocoder_jupyter.sandbox.docker.engine import Engine
from autocoder_jupyter.sandbox.docker.trial import Trial, trial
from autocoder_jupyter.types import ImageConfig

if TYPE_CHECKING:
    from docker import APIClient

LOCAL_BASE = "autocoder-base:bookworm"
PULL_SECONDS = 600

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Image:
    """An image that is present. `labels` and `user` are those of its configuration."""

    name: str
    id: str
    labels: Mapping[str, str]
    user: str = ""


@dataclass(frozen=True)
class Base:
    """An image to build upon, and what a trial run in it showed."""

    image: Image
    trial: Trial

    @property
    def platform(self) -> str:
        """The platform of its wheels, as uv's `--python-platform` wants it."""
        libc, version = self.trial.libc
        if libc != "glibc":
            return f"{self.trial.machine}-unknown-linux-musl"
        # uv knows the tags up to 2.40; wheels for an older C library run on a newer one.
        major, minor = (int(part) for part in version.split(".")[:2])
        return f"{self.trial.machine}-manylinux_{major}_{min(minor, 40)}"


def find_image(client: APIClient, name: str) -> Image | None:
    """The image of that name, if it is here."""
    from docker.errors import ImageNotFound, NotFound

    try:
        found = client.inspect_image(name)
    except (ImageNotFound, NotFound):
        return None
    config = found.get("Config") or {}
    return Image(name, str(found["Id"]), config.get("Labels") or {}, str(config.get("User") or ""))


def find_base(
    engine: Engine,
    config: ImageConfig,
    python_version: tuple[int, int],
    *,
    transport: Transport | None = None,
    on_progress: Progress | None = None,
    token: CancellationToken | None = None,
) -> Base:
    """The image to build upon: the configured one, else the project's own when it is here, else Python's official one.

    Raises:
        SandboxUnavailable: there is none and none can be pulled, or its Python is another one.
    """
    wanted = ".".join(map(str, python_version))
    chosen = config.base_image or os.environ.get("AUTOCODE_BASE_IMAGE")
    names = (chosen,) if chosen else (LOCAL_BASE, f"python:{wanted}-slim-bookworm")
    client = engine.client()
    try:
        for name in names:
            image = find_image(client, name)
            if image is None:
                if name == LOCAL_BASE:
                    continue  # it is built on this machine; no registry has it
                pull(engine, name, on_progress, token)
                image = find_image(client, name)
            if image is None:
                continue
            base = Base(image, trial(engine, name, image.id, transport))
            if base.trial.python_version == python_version:
                return base
            if chosen:
                found = ".".join(map(str, base.trial.python_version))
                raise SandboxUnavailable(
                    f"The base image {name} has Python {found}, and Python {wanted} is asked for.",
                    hint=f"ImageConfig(python_version=({found.replace('.', ', ')})), or another base image.",
                )
    finally:
        client.close()
    raise SandboxUnavailable(f"There is no base image with Python {wanted}.", hint=_BASE_HINT)


_BASE_HINT = (
    "Pull or load an image with Python and name it in AUTOCODE_BASE_IMAGE or ImageConfig(base_image=…); "
    "without a registry, tools/docker_engine.sh makes one."
)


def pull(engine: Engine, name: str, on_progress: Progress | None, token: CancellationToken | None = None) -> None:
    """Pull an image.

    Raises:
        SandboxUnavailable: no registry gives it.
        Cancelled: it was stopped.
    """
    from docker.errors import APIError
    from docker.utils import parse_repository_tag

    if on_progress is not None:
        on_progress(f"pulling {name}")
    repository, tag = parse_repository_tag(name)
    client = engine.client(PULL_SECONDS)
    try:
        with hanging_up(client, token or CancellationToken()):
            for line in progress_lines(client.pull(repository, tag or "latest", stream=True, decode=True)):
                if on_progress is not None and ("Pull complete" in line or "Downloaded" in line):
                    on_progress(line)
    except (APIError, BuildFailed) as error:
        why = str(getattr(error, "explanation", None) or error)
        raise SandboxUnavailable(
            f"The base image {name} is not here and cannot be pulled.", why=why, hint=_BASE_HINT
        ) from None
    finally:
        client.close()


def push(
    engine: Engine, name: str, secret: str, on_progress: Progress | None = None, token: CancellationToken | None = None
) -> None:
    """Push an image to the registry in its name.

    Args:
        engine: where the image is.
        name: the image's name with registry and tag.
        secret: NAME of the environment variable that holds `user:password`.
        on_progress: gets a line.
        token: ends it.

    Raises:
        InvalidRequest: the variable is not set, or is not of that form.
        SandboxUnavailable: the registry refuses.
        Cancelled: it was stopped.
    """
    from docker.errors import APIError
    from docker.utils import parse_repository_tag

    user, colon, password = os.environ.get(secret, "").partition(":")
    if not colon:
        raise InvalidRequest(
            f"The environment variable {secret} does not hold user:password for the registry.",
            hint=f"Set {secret}, or leave registry_secret out.",
        )
    if on_progress is not None:
        on_progress(f"pushing {name}")
    repository, tag = parse_repository_tag(name)
    client = engine.client(PULL_SECONDS)
    try:
        credentials = {"username": user, "password": password}
        with hanging_up(client, token or CancellationToken()):
            for _ in progress_lines(client.push(repository, tag, stream=True, decode=True, auth_config=credentials)):
                pass
    except (APIError, BuildFailed) as error:
        why = str(getattr(error, "explanation", None) or error)
        raise SandboxUnavailable(f"The image {name} cannot be pushed.", why=why) from None
    finally:
        client.close()


@contextmanager
def hanging_up(client: APIClient, token: CancellationToken) -> Iterator[None]:
    """Close the client's connection when the build is cancelled; the engine then ends the work.

    Raises:
        Cancelled: it was.
    """
    answers: list[Any] = []

    def hang_up() -> None:
        for answer in answers:
            with suppress(OSError, RuntimeError, ValueError):  # it has just ended
                answer.raw.shutdown()

    def notice(answer: Any, *_: Any, **__: Any) -> None:
        answers.append(answer)
        token.raise_if_cancelled()

    client.hooks["response"].append(notice)
    with token.on_cancel(hang_up):
        yield


class BuildFailed(Exception):
    """The engine reported an error in the middle of a build, a pull or a push. Holds its output up to there."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


def progress_lines(stream: Iterator[dict[str, Any]]) -> Iterator[str]:
    """The engine's progress, a line at a time.

    Raises:
        BuildFailed: the stream holds an error; the status of such an answer is still 200.
    """
    written: list[str] = []
    for record in stream:
        if "error" in record:
            # The engine colours what a step writes to standard error, word by word.
            raise BuildFailed(str(record["error"]).strip(), _COLOUR.sub("", "".join(written)))
        text = str(record.get("stream") or record.get("status") or "")
        written.append(text if "stream" in record else f"{text}\n")
        yield from (line for line in text.splitlines() if line.strip())
