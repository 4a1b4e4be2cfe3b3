from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from autocoder_jupyter.sandbox.docker.engine import HOST, PROCESS, STARTED, DockerEngine, owner_labels, reap

pytestmark = pytest.mark.docker


class Created:
    """Containers that were never started, with the labels that a test needs."""

    def __init__(self, engine: DockerEngine, image: str) -> None:
        self.client, self.image = engine.client(), image
        self.ids: list[str] = []

    def __call__(self, **labels: str) -> str:
        made = self.client.create_container(self.image, ["true"], labels={**owner_labels("test"), **labels})
        self.ids.append(made["Id"])
        return str(made["Id"])

    def left(self) -> set[str]:
        return {found["Id"] for found in self.client.containers(all=True)} & set(self.ids)


@pytest.fixture
def created(engine: DockerEngine, image: str) -> Iterator[Created]:
    created = Created(engine, image)
    yield created
    for container in created.left():
        created.client.remove_container(container, force=True)
    created.client.close()


def dead_process() -> str:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return str(process.pid)


def test_containers_of_a_dead_kernel_are_removed(engine: DockerEngine, created: Created) -> None:
    orphan = created(**{PROCESS: dead_process()})
    assert orphan in reap(engine)
    assert created.left() == set()


def test_a_process_id_that_was_given_again_is_not_its_owner(engine: DockerEngine, created: Created) -> None:
    orphan = created(**{PROCESS: str(os.getpid()), STARTED: "1"})
    assert orphan in reap(engine)


def test_containers_of_a_living_kernel_stay(engine: DockerEngine, created: Created) -> None:
    alive = created()
    assert alive not in reap(engine)
    assert created.left() == {alive}


def test_containers_of_another_machine_stay(engine: DockerEngine, created: Created) -> None:
    foreign = created(**{HOST: "another boot/pid:[1]", PROCESS: dead_process()})
    assert foreign not in reap(engine)
    assert created.left() == {foreign}
