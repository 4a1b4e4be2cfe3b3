"""A recorded lock file may come from somebody else, so it installs nothing without consent."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.generation import GenerationSetup
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engine.prepare import prepare
from autocoder_jupyter.engine.sandbox_session import Services
from autocoder_jupyter.errors import PackageRefused
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.run.events import ApprovalNeeded, Event
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.sandbox.environments import locking
from autocoder_jupyter.sandbox.environments.locking import pin_of
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from autocoder_jupyter.types import CodePlan
from tests.sandbox.wheelhouse import make_wheel, only_a_wheelhouse


@pytest.fixture(autouse=True)
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return only_a_wheelhouse(tmp_path, monkeypatch)


def made_setup(config: AgentConfig, services: Services) -> GenerationSetup:
    request = Request("growth", "p")
    return GenerationSetup.of(request, config, services, prepare(request, config), Budget())


class Folder:
    """A folder with a journal, in which environments are made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.journal = root / "growth" / "versions" / "r1" / "journal.jsonl"
        self.asked: list[tuple[str, ...]] = []

    async def installed(self, *, consent: bool = False, **settings: Any) -> list[str]:
        """The packages that a run in the folder installs. If the user is asked, the answer is `consent`."""
        journal = Journal(self.root, "growth")
        journal.begin("r1")
        events: list[Event] = []

        async def approve(packages: tuple[str, ...]) -> bool:
            return consent

        tracker = RunTracker(FunctionRun("growth"), events.append)
        services = Services(None, LocalSandbox(), None, journal, tracker, approve)  # type: ignore[arg-type]
        setup = made_setup(AgentConfig(**settings), services)
        assert (
            await GenerationPackages(setup).provide(CodePlan(description="", approach=""), ("import pandas",)) is None
        )
        self.asked = [event.packages for event in events if isinstance(event, ApprovalNeeded)]
        assert setup.session.environment is not None
        return [pin_of(line) for line in setup.session.environment.lock]

    def record(self, change: Any) -> None:
        """Change the recorded lock file, as its author can."""
        head, line = self.journal.read_text().splitlines()
        entry = json.loads(line)
        entry["outcome"]["lock"] = change(entry["outcome"]["lock"])
        self.journal.write_text(f"{head}\n{json.dumps(entry)}\n")


@pytest.fixture
async def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / ".autocode")
    await made.installed()
    return made


def with_package(name: str) -> Any:
    spec = EnvironmentSpec((), sys.version_info[:2], lock=(name,))
    return lambda lock: [*lock, *locking.lock(spec)]


async def test_a_recorded_lock_of_well_known_packages_is_used_without_a_question(
    folder: Folder, wheelhouse: Path
) -> None:
    make_wheel(wheelhouse, "numpy", "3.0")
    assert "numpy==2.0" in await folder.installed()
    assert folder.asked == []


async def test_a_package_that_only_the_recorded_lock_names_waits_for_consent(folder: Folder) -> None:
    folder.record(with_package("alpha==1.0"))
    assert "alpha==1.0" in await folder.installed(consent=True)
    assert folder.asked == [("alpha",)]


async def test_who_says_no_gets_the_packages_that_are_needed(folder: Folder) -> None:
    folder.record(with_package("alpha==1.0"))
    installed = await folder.installed(consent=False)
    assert folder.asked == [("alpha",)]
    assert {pin.partition("==")[0] for pin in installed} == set(locking.BASE_PACKAGES)


async def test_what_a_wanted_package_needs_is_no_question(tmp_path: Path, wheelhouse: Path) -> None:
    folder = Folder(tmp_path / ".autocode")
    wanted: dict[str, Any] = {"base_packages": ("beta",)}
    await folder.installed(**wanted)
    make_wheel(wheelhouse, "beta", "2.0", requires=["alpha"])
    assert {"beta==1.0", "alpha==1.0"} <= set(await folder.installed(**wanted))
    assert folder.asked == []


async def test_a_package_that_the_person_allowed_is_no_question(folder: Folder) -> None:
    folder.record(with_package("alpha==1.0"))
    assert "alpha==1.0" in await folder.installed(approved_packages=("alpha",))
    assert folder.asked == []


async def test_a_package_with_a_version_that_is_none_is_asked_about_by_its_name(folder: Folder) -> None:
    folder.record(lambda lock: [*lock, f"Alpha==1..0 --hash=sha256:{'0' * 64}"])
    await folder.installed(consent=False)
    assert folder.asked == [("alpha",)]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda lock: [pin_of(line) for line in lock], id="without hashes, as earlier versions wrote it"),
        pytest.param(lambda lock: ["numpy==1.0", *lock[1:]], id="one line without a hash"),
        pytest.param(lambda lock: [*lock, "--index-url=https://evil.example"], id="an option"),
        pytest.param(lambda lock: [*lock, "alpha @ https://evil.example/alpha.whl"], id="an address"),
        pytest.param(lambda lock: [f"{lock[0]}\n--index-url=https://evil.example", *lock[1:]], id="an option behind"),
        pytest.param(lambda lock: [f"{lock[0]} --find-links=/tmp", *lock[1:]], id="an option on the line"),
        pytest.param(lambda lock: {"alpha": 1}, id="no list"),
        pytest.param(lambda lock: [5], id="no text"),
        pytest.param(
            lambda lock: [f"{pin_of(line)} --hash=sha256:{'0' * 64}" for line in lock], id="hashes that nothing has"
        ),
    ],
)
async def test_a_recorded_lock_that_is_anything_else_is_resolved_anew(folder: Folder, damage: Any) -> None:
    usual = await folder.installed()
    folder.record(damage)
    assert await folder.installed() == usual
    assert folder.asked == []
    last: Sequence[str] = json.loads(folder.journal.read_text().splitlines()[-1])["outcome"]["lock"]
    assert all(" --hash=sha256:" in line for line in last)


class NoWorkers:
    """A pool that starts no workers, for tests of packages only."""

    def warm(self, *_: Any, **__: Any) -> None: ...


@pytest.mark.parametrize("consent", [True, False])
async def test_packages_of_an_own_lock_that_are_not_well_known_wait_for_consent(
    consent: bool, folder: Folder, wheelhouse: Path
) -> None:
    make_wheel(wheelhouse, "unheard", "1.0")
    resolved = locking.lock(EnvironmentSpec(("unheard",), sys.version_info[:2]))
    asked: list[tuple[str, ...]] = []

    async def approve(packages: tuple[str, ...]) -> bool:
        asked.append(packages)
        return consent

    journal = Journal(folder.root, "growth")
    journal.begin("r2")
    no_model, pool = cast(Any, None), cast(Any, NoWorkers())
    services = Services(no_model, LocalSandbox(), pool, journal, RunTracker(FunctionRun("growth")), approve)
    setup = made_setup(AgentConfig(), services)
    setup.session.pinned = tuple(line for line in resolved if line.startswith("unheard"))
    if consent:
        await GenerationPackages(setup).provide_base()
        assert setup.session.environment is not None and set(setup.session.pinned) <= set(
            setup.session.environment.lock
        )
    else:
        with pytest.raises(PackageRefused, match="unheard may not be installed"):
            await GenerationPackages(setup).provide_base()
        assert setup.session.environment is None
    assert asked == [("unheard",)]
