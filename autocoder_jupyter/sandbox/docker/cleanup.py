"""Remove images that were not used for a month. The engine may be shared, so only images of this package are removed.

An image is removed only if it has our label and exactly the name that this machine gave it, has no container, was used
on this machine before, but not recently, and is not used by a running process. The removal is not forced, so the engine
can refuse it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.concurrency.file_locks import lock_if_unused
from autocoder_jupyter.sandbox.docker.detection import find_engine
from autocoder_jupyter.sandbox.docker.engine import DockerEngine, engine_errors
from autocoder_jupyter.sandbox.docker.layers import KIND, REPOSITORY, SHARED_NAME, lock_file, use_file
from autocoder_jupyter.sandbox.environments.cleanup import modified

if TYPE_CHECKING:
    from docker import APIClient

_SECONDS = 120


def clear_images(engine: DockerEngine, before: float) -> tuple[str, ...]:
    """Remove unused images.

    Args:
        engine: has the images.
        before: seconds since 1970. An image that was created and last used before this time is unused.

    Returns:
        The names of the removed images.
    """
    client = engine.client(_SECONDS)
    try:
        busy = {container["ImageID"] for container in client.containers(all=True)}
        removed = [
            name
            for image in _ours(client, "environment")
            if image["Id"] not in busy and image["Created"] < before and _removed(client, name := _name(image), before)
        ]
        remaining = [_layers(client, image) for image in _ours(client, "environment")]
        for image in _ours(client, "shared"):
            layers = _layers(client, image)
            is_parent = any(other[: len(layers)] == layers for other in remaining)
            if image["Id"] in busy or image["Created"] >= before or is_parent:
                continue
            if _removed(client, name := _name(image), before):
                removed.append(name)
        return tuple(removed)
    finally:
        client.close()


def sizes_of_images() -> list[int]:
    """The size in bytes of each image of this package in the engine.

    Raises:
        SandboxUnavailable, EngineGone: there is no engine, or it does not answer.
    """
    with engine_errors("The engine does not list its images."):
        client = find_engine().client(_SECONDS)
        try:
            return [int(image["Size"]) for kind in ("environment", "shared") for image in _ours(client, kind)]
        finally:
            client.close()


def _ours(client: APIClient, kind: str) -> Iterator[Mapping[str, Any]]:
    yield from client.images(filters={"label": f"{KIND}={kind}"})


def _name(image: Mapping[str, Any]) -> str:
    """The name of an image that has exactly one, else ""."""
    names: list[str] = image["RepoTags"] or []
    return names[0] if len(names) == 1 else ""


def _layers(client: APIClient, image: Mapping[str, Any]) -> list[str]:
    return list(client.inspect_image(image["Id"])["RootFS"]["Layers"])


def _removed(client: APIClient, name: str, before: float) -> bool:
    """Remove the image if it is unused. Returns whether it was removed."""
    from docker.errors import APIError

    repository, _, key = name.partition(":")
    if repository not in (REPOSITORY, SHARED_NAME):
        return False
    if repository == SHARED_NAME:
        key = f"shared-{key}"
    use = use_file(key)
    if not 0 < modified(use) < before:
        return False
    with suppress(APIError, OSError), lock_if_unused(use) as unused:
        if unused:
            client.remove_image(name)
            lock_file(key).unlink(missing_ok=True)
            use.unlink()
            return True
    return False
