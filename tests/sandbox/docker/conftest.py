"""An engine for the tests that need one. Without it they are skipped, except in CI, where they fail."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.docker.engine import PROCESS, ROLE, DockerEngine, find_engine
from autocoder_jupyter.sandbox.docker.sandbox import DockerSandbox
from autocoder_jupyter.sandbox.protocol import Environment, EnvironmentSpec


def pools_are_quiet(seconds: float = 30.0) -> bool:
    """Whether all workers that pools of this process are starting are ready in time."""
    deadline = time.monotonic() + seconds
    while any(thread.name in ("autocode-spare", "autocode-warm") for thread in threading.enumerate()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(scope="session")
def engine() -> DockerEngine:
    try:
        return find_engine()
    except SandboxUnavailable as unavailable:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(unavailable))


@pytest.fixture(scope="session")
def image(engine: DockerEngine) -> str:
    """The name of the base image."""
    probe = DockerSandbox().probe()
    if not probe.available:
        assert os.environ.get("CI") != "true", probe.reason
        pytest.skip(probe.reason)
    return probe.details["base image"]


@pytest.fixture(scope="session")
def environment(image: str) -> Environment:
    """An environment with only the base packages."""
    return DockerSandbox().build(EnvironmentSpec(packages=(), python_version=(3, 11)))


@pytest.fixture
def containers_of(engine: DockerEngine) -> Callable[[int], list[str]]:
    """The containers of a process, running or not, without those of earlier tests."""

    def find(pid: int) -> list[str]:
        client = engine.client()
        try:
            found = client.containers(all=True, filters={"label": [ROLE, f"{PROCESS}={pid}"]})
            return [str(container["Id"]) for container in found if container["Id"] not in kept]
        finally:
            client.close()

    assert pools_are_quiet()
    kept: set[str] = set()  # by a pool
    kept.update(find(os.getpid()))
    return find


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], bool]:
    """Whether a condition becomes true in time; the engine does not report the end of a removal."""

    def wait(condition: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + 60
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    return wait


@pytest.fixture
def no_container_left(containers_of: Callable[[int], list[str]], eventually: Callable[..., bool]) -> Iterator[None]:
    """Check afterwards that this process has no container any more."""
    yield
    assert eventually(lambda: not containers_of(os.getpid()))


@pytest.fixture
def dangling(engine: DockerEngine) -> Callable[[], set[str]]:
    """The images without a name that no other image is based on."""

    def find() -> set[str]:
        client = engine.client()
        try:
            return {str(found["Id"]) for found in client.images(filters={"dangling": True})}
        finally:
            client.close()

    return find
