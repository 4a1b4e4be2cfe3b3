"""Debian packages run scripts as root while an image is built, so the user must agree to them first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.magics.settings import resolve
from autocoder_jupyter.settings.parameters import consents
from autocoder_jupyter.types import CodePlan


def packages(
    *, consent: bool, sandbox: str = "docker", approved: tuple[str, ...] = ()
) -> tuple[GenerationPackages, list[tuple[str, ...]]]:
    asked: list[tuple[str, ...]] = []

    async def approve(names: tuple[str, ...]) -> bool:
        asked.append(names)
        return consent

    setup: Any = SimpleNamespace(
        request=SimpleNamespace(samples={}),
        config=SimpleNamespace(approved_packages=approved),
        services=SimpleNamespace(sandbox=SimpleNamespace(name=sandbox), approve=approve),
        emit=lambda event: None,
    )
    return GenerationPackages(setup), asked


def plan(*system_packages: str) -> CodePlan:
    return CodePlan(description="d", approach="a", system_packages=system_packages)


async def test_a_strange_debian_package_waits_for_consent_and_a_well_known_one_does_not() -> None:
    agreed, asked = packages(consent=True)
    wanted = plan("libgomp1", "strange-daemon")
    assert await agreed._system_packages(wanted) == ("libgomp1", "strange-daemon")
    assert asked == [("apt:strange-daemon",)]
    assert await agreed._system_packages(wanted) == ("libgomp1", "strange-daemon")
    assert len(asked) == 1  # the consent stays valid


async def test_what_was_declined_is_gone_without_and_the_way_out_is_said() -> None:
    declined, asked = packages(consent=False)
    wanted = plan("libgomp1", "strange-daemon=1.2")
    assert await declined._system_packages(wanted) == await declined._system_packages(wanted) == ("libgomp1",)
    assert asked == [("apt:strange-daemon=1.2",)]
    assert "-p apt:strange-daemon=1.2" in declined.advice


async def test_nobody_is_asked_where_there_are_no_debian_packages_or_somebody_agreed_before() -> None:
    for made, asked in (
        packages(consent=False, sandbox="local"),
        packages(consent=False, approved=("apt:strange-daemon",)),
    ):
        assert await made._system_packages(plan("strange-daemon")) == ("strange-daemon",)
        assert asked == []


def test_a_consent_in_the_cell_installs_nothing_by_itself(tmp_path: Any) -> None:
    settings = resolve({"packages": ["apt:libpq5", "rich"]}, {}, tmp_path, {})
    config = settings.agent_config()
    assert config.base_packages == ("rich",)
    assert config.approved_packages == ("apt:libpq5", "rich")


def test_what_is_neither_a_requirement_nor_a_debian_package_is_refused() -> None:
    with pytest.raises(Exception, match="not a requirement"):
        consents("approved_packages", ["deb:libpq5 ]"])
