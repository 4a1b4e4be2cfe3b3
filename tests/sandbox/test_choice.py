"""The choice of a sandbox, and the error if there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox import choice
from autocoder_jupyter.sandbox.choice import choose, get, probe_all
from autocoder_jupyter.sandbox.protocol import Probe
from autocoder_jupyter.settings.choices import SANDBOXES, MinimumTier, SandboxMinimum, SandboxName, SandboxTier
from autocoder_jupyter.types import ImageConfig


@dataclass(frozen=True)
class Answering:
    name: SandboxName
    works: bool
    tier: SandboxTier | None = None

    def probe(self) -> Probe:
        return Probe(self.name, self.works, "" if self.works else f"{self.name} is asleep", tier=self.tier)


Machine = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine on which these sandboxes work."""

    def has(*names: str, local: SandboxTier = "full") -> None:
        tiers: dict[str, SandboxTier] = {"docker": "docker", "local": local}
        monkeypatch.setattr(choice, "get", lambda name, _config=None: Answering(name, name in names, tiers[name]))

    return has


def test_docker_is_preferred(machine: Machine) -> None:
    machine("docker", "local")
    assert choose("auto").name == "docker"


def test_local_is_used_where_no_engine_answers(machine: Machine) -> None:
    machine("local")
    assert choose("auto").name == "local"


def test_what_was_asked_for_is_not_replaced(machine: Machine) -> None:
    machine("local")
    with pytest.raises(SandboxUnavailable, match="docker is asleep") as caught:
        choose("docker")
    assert "sandbox = 'auto'" in caught.value.hint


def test_without_any_all_reasons_are_given_and_nothing_runs(machine: Machine) -> None:
    machine()
    with pytest.raises(SandboxUnavailable) as caught:
        choose("auto")
    assert "docker is asleep" in caught.value.why
    assert "local is asleep" in caught.value.why
    assert "setup check" in caught.value.hint


def test_a_configured_image_is_not_silently_left_out(machine: Machine) -> None:
    machine("local")
    with pytest.raises(SandboxUnavailable, match="no images"):
        choose("auto", ImageConfig(base_image="python:3.12"))
    with pytest.raises(SandboxUnavailable, match="no images"):
        choose("local", ImageConfig(registry="registry.example/team"))
    assert choose("auto", ImageConfig(python_version=(3, 12))).name == "local"


def test_a_version_of_python_chooses_the_sandbox_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, made = ImageConfig(python_version=(3, 99)), get
    with pytest.raises(SandboxUnavailable, match=r"There is no Python 3.99 on this machine"):
        choose("local", wanted)
    docker = Answering("docker", True, "docker")
    monkeypatch.setattr(choice, "get", lambda name, config=None: docker if name == "docker" else made(name, config))
    monkeypatch.setattr(choice, "SANDBOXES", dict(reversed(SANDBOXES.items())))  # the other is asked first
    assert choose("auto", wanted).name == "docker"
    assert choose("auto", ImageConfig(python_version=sys.version_info[:2])).name == "local"


def test_every_sandbox_is_probed_for_the_doctor(machine: Machine) -> None:
    machine("local")
    assert [(probe.name, probe.available) for probe in probe_all()] == [("docker", False), ("local", True)]


def test_a_sandbox_is_made_once() -> None:
    assert get("local") is get("local")
    assert get("docker", ImageConfig(base_image="a")) is get("docker", ImageConfig(base_image="a"))
    assert get("docker", ImageConfig(base_image="a")) is not get("docker", ImageConfig(base_image="b"))


DEMANDED = "[tool.autocode] in /home/me/pyproject.toml"


@pytest.mark.parametrize(
    ("demanded", "held_by"),
    [
        ("docker", ["docker"]),
        ("full", ["docker", "full"]),
        ("landlock", ["docker", "full", "landlock"]),
        ("namespaces", ["docker", "full", "namespaces"]),
        ("any", ["docker", "full", "landlock", "namespaces"]),
    ],
)
def test_a_minimum_is_met_by_what_holds_as_much(machine: Machine, demanded: MinimumTier, held_by: list[str]) -> None:
    minimum = SandboxMinimum(demanded)
    assert [tier for tier in ("docker", "full", "landlock", "namespaces") if minimum.met_by(tier)] == held_by
    for tier in ("full", "landlock", "namespaces"):
        machine("local", local=tier)
        if tier in held_by:
            assert choose("auto", None, minimum).name == "local"
        else:
            with pytest.raises(SandboxUnavailable, match=f"tier '{tier}'"):
                choose("auto", None, minimum)


def test_a_tier_that_is_not_known_meets_no_demand() -> None:
    assert SandboxMinimum("any").met_by(None)
    assert not SandboxMinimum("landlock").met_by(None)


def test_a_minimum_that_nothing_meets_names_what_was_found_what_is_demanded_and_by_whom(machine: Machine) -> None:
    machine("local", local="landlock")
    with pytest.raises(SandboxUnavailable) as caught:
        choose("auto", None, SandboxMinimum("docker", DEMANDED))
    assert "sandbox_minimum 'docker'" in caught.value.what
    assert f"'docker' is required by {DEMANDED}." in caught.value.why
    assert "docker is asleep" in caught.value.why
    assert "local: it works, but its tier 'landlock' is below the minimum." in caught.value.why
    assert "Start Docker or Podman" in caught.value.hint


def test_the_sandbox_that_was_asked_for_is_not_replaced_by_one_that_meets_the_minimum(machine: Machine) -> None:
    machine("docker", "local")
    with pytest.raises(SandboxUnavailable, match="tier 'full'") as caught:
        choose("local", None, SandboxMinimum("docker"))
    assert "Remove sandbox='local'" in caught.value.hint


def test_where_no_sandbox_works_at_all_the_minimum_is_not_blamed(machine: Machine) -> None:
    machine()
    with pytest.raises(SandboxUnavailable, match="No sandbox works here"):
        choose("auto", None, SandboxMinimum("docker"))


def test_the_words_of_who_demands_cannot_hide_others(machine: Machine) -> None:
    machine("local")
    with pytest.raises(SandboxUnavailable) as caught:
        choose("auto", None, SandboxMinimum("docker", "a file\x1b[2K"))
    assert "\x1b" not in str(caught.value)


def test_two_minimums_together_are_what_meets_both() -> None:
    landlock, namespaces, full = SandboxMinimum("landlock"), SandboxMinimum("namespaces"), SandboxMinimum("full")
    assert landlock.narrowed_by(SandboxMinimum("any")) == landlock
    assert SandboxMinimum("any").narrowed_by(landlock) == landlock
    assert full.narrowed_by(landlock) == full
    assert full.narrowed_by(SandboxMinimum("docker")).tier == "docker"
    assert landlock.narrowed_by(namespaces).tier == "full"
