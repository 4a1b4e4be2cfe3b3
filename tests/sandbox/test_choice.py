"""Which sandbox is used, and what is said when there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox import choice
from autocoder_jupyter.sandbox.choice import choose, get, probe_all
from autocoder_jupyter.sandbox.protocol import Probe
from autocoder_jupyter.types import ImageConfig


@dataclass(frozen=True)
class Answering:
    name: choice.Name
    works: bool

    def probe(self) -> Probe:
        return Probe(self.name, self.works, "" if self.works else f"{self.name} is asleep")


Machine = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine on which these sandboxes work."""

    def has(*names: str) -> None:
        monkeypatch.setattr(choice, "get", lambda name, _config=None: Answering(name, name in names))

    return has


def test_docker_is_preferred(machine: Machine) -> None:
    machine("docker", "local")
    assert choose("auto").name == "docker"


def test_local_is_used_where_no_engine_answers(machine: Machine) -> None:
    machine("local")
    assert choose("auto").name == "local"


def test_what_was_asked_for_is_not_replaced(machine: Machine) -> None:
    machine("local")
    with pytest.raises(SandboxUnavailable, match="docker is asleep"):
        choose("docker")


def test_without_any_all_reasons_are_given_and_nothing_runs(machine: Machine) -> None:
    machine()
    with pytest.raises(SandboxUnavailable) as caught:
        choose("auto")
    assert "docker is asleep" in caught.value.why
    assert "local is asleep" in caught.value.why
    assert "doctor" in caught.value.hint


def test_a_configured_image_is_not_silently_left_out(machine: Machine) -> None:
    machine("local")
    with pytest.raises(SandboxUnavailable, match="no images"):
        choose("auto", ImageConfig(base_image="python:3.12"))
    with pytest.raises(SandboxUnavailable, match="no images"):
        choose("local", ImageConfig(registry="registry.example/team"))
    assert choose("auto", ImageConfig(python_version=(3, 12))).name == "local"


def test_every_sandbox_is_probed_for_the_doctor(machine: Machine) -> None:
    machine("local")
    assert [(probe.name, probe.available) for probe in probe_all()] == [("docker", False), ("local", True)]


def test_a_sandbox_is_made_once() -> None:
    assert get("local") is get("local")
    assert get("docker", ImageConfig(base_image="a")) is get("docker", ImageConfig(base_image="a"))
    assert get("docker", ImageConfig(base_image="a")) is not get("docker", ImageConfig(base_image="b"))
