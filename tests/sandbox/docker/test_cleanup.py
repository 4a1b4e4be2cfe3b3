"""Unused images of this package are removed; all other images of the engine are kept."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.docker.engine import DockerEngine
from autocoder_jupyter.sandbox.docker.environments import KIND, REPOSITORY, clear_images, use_file
from autocoder_jupyter.sandbox.docker.images import find_image
from autocoder_jupyter.sandbox.environments import installed

pytestmark = pytest.mark.docker

MONTH = 31 * 24 * 3600.0
LATER = time.time() + 2 * MONTH
"""A day on which something that is made now is old."""


@pytest.fixture
def unused(engine: DockerEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A tiny image that looks like an environment, and was used on this machine before `LATER`."""
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(installed, "_held", {})
    name, key = f"{REPOSITORY}:{tmp_path.name[-12:]}test", f"{tmp_path.name[-12:]}test"
    client = engine.client()
    client.import_image_from_data(b"\0" * 10240, repository=REPOSITORY, tag=key, changes=[f"LABEL {KIND}=environment"])
    use_file(key).parent.mkdir(parents=True)
    use_file(key).touch()
    yield name
    if find_image(client, name):
        client.remove_image(name, force=True)
    client.close()


def _is_there(engine: DockerEngine, name: str) -> bool:
    client = engine.client()
    try:
        return find_image(client, name) is not None
    finally:
        client.close()


def _key(name: str) -> str:
    return name.partition(":")[2]


def test_an_unused_image_is_removed_and_no_other(engine: DockerEngine, unused: str) -> None:
    client = engine.client()
    before = {found["Id"]: found["RepoTags"] for found in client.images()}
    assert clear_images(engine, LATER) == (unused,)
    after = {found["Id"]: found["RepoTags"] for found in client.images()}
    client.close()
    assert [tags for identity, tags in before.items() if identity not in after] == [[unused]]
    assert not use_file(_key(unused)).exists()


def test_an_image_that_was_used_lately_stays(engine: DockerEngine, unused: str) -> None:
    os.utime(use_file(_key(unused)), (LATER, LATER))
    assert clear_images(engine, LATER - 1) == ()
    assert _is_there(engine, unused)


def test_an_image_that_a_living_process_uses_stays(engine: DockerEngine, unused: str) -> None:
    installed.mark_used(use_file(_key(unused)))
    assert clear_images(engine, LATER) == ()
    assert _is_there(engine, unused)


def test_an_image_that_this_machine_never_used_stays(engine: DockerEngine, unused: str) -> None:
    use_file(_key(unused)).unlink()
    assert clear_images(engine, LATER) == ()
    assert _is_there(engine, unused)


def test_an_image_with_a_container_stays(engine: DockerEngine, unused: str) -> None:
    client = engine.client()
    container = client.create_container(unused, ["never"])
    try:
        assert clear_images(engine, LATER) == ()
        assert _is_there(engine, unused)
    finally:
        client.remove_container(container)
        client.close()


def test_an_image_that_somebody_named_too_stays(engine: DockerEngine, unused: str) -> None:
    client = engine.client()
    client.tag(unused, "autocode-test-mine", "1")
    try:
        assert clear_images(engine, LATER) == ()
        assert _is_there(engine, unused)
    finally:
        client.remove_image("autocode-test-mine:1")
        client.close()
