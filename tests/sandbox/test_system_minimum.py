"""The administrator's minimum: read from Jupyter's configuration folders, and never weakened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox import choice
from autocoder_jupyter.sandbox.choice import FILE, config_folders, system_minimums
from autocoder_jupyter.sandbox.protocol import Probe
from autocoder_jupyter.settings.choices import SandboxMinimum

Write = Callable[..., Path]


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The folders of the system and of the environment."""
    places = tmp_path / "etc/jupyter", tmp_path / "env/etc/jupyter"
    for place in places:
        place.mkdir(parents=True)
    monkeypatch.setattr(choice, "config_folders", lambda: places)
    return places


def write(folder: Path, text: str) -> Path:
    path = folder / FILE
    path.write_text(text, "utf-8")
    return path


def demand(folder: Path, tier: str) -> Path:
    return write(folder, json.dumps({"Autocode": {"sandbox_minimum": tier}}))


def test_the_places_are_jupyters_own_without_those_of_a_person() -> None:
    paths = pytest.importorskip("jupyter_core.paths")
    assert {*map(str, config_folders())} == {*paths.SYSTEM_CONFIG_PATH, *paths.ENV_CONFIG_PATH}


def test_without_a_file_nothing_is_demanded(folders: tuple[Path, Path]) -> None:
    assert system_minimums() == ()


def test_each_file_demands_and_none_takes_back_what_another_demands(folders: tuple[Path, Path]) -> None:
    system, environment = folders
    path = demand(system, "docker")
    demand(environment, "any")
    assert [demanded.tier for demanded in system_minimums()] == ["docker", "any"]
    assert system_minimums()[0].by == f"the administrator, in {path}"


def test_what_an_administrator_demands_a_person_cannot_lower(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Landlocked:
        name = "local"

        def probe(self) -> Probe:
            return Probe("local", True, tier="landlock")

    path = demand(folders[0], "full")
    monkeypatch.setattr(choice, "get", lambda name, config=None: Landlocked())
    with pytest.raises(SandboxUnavailable) as caught:
        choice.choose("local", None, SandboxMinimum("any"))
    assert f"'full' is required by the administrator, in {path}." in caught.value.why


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"Autocode": {"sandbox_minimum": "dokcer"}}',
        '{"Autocode": {"sandbox_minimum": ["docker"]}}',
        '{"Autocode": {"sandbox_minimun": "docker"}}',
        '{"AutoCode": {"sandbox_minimum": "docker"}}',
        '{"Autocode": "docker"}',
        '{"Autocode": {"sandbox_minimum": "docker", "sandbox_minimum": "any"}}',
        '{"Autocode": {"sandbox_minimum": "docker"}, "Autocode": {}}',
        '{"Autocode": {}}' + " " * 2**16,
        "[" * 10_000,
    ],
)
def test_a_file_that_cannot_be_understood_stops_everything(folders: tuple[Path, Path], text: str) -> None:
    path = write(folders[1], text)
    with pytest.raises(SandboxUnavailable, match="cannot be used") as caught:
        system_minimums()
    assert str(path) in caught.value.what
    assert "administrator" in caught.value.hint


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_stops_everything_too(folders: tuple[Path, Path]) -> None:
    demand(folders[0], "docker").chmod(0)
    with pytest.raises(SandboxUnavailable, match="cannot be used"):
        system_minimums()


def test_a_folder_in_the_place_of_the_file_stops_everything_too(folders: tuple[Path, Path]) -> None:
    (folders[0] / FILE).mkdir()
    with pytest.raises(SandboxUnavailable, match="cannot be used"):
        system_minimums()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_fifo_in_the_place_of_the_file_stops_everything_at_once(folders: tuple[Path, Path]) -> None:
    os.mkfifo(folders[0] / FILE)
    with pytest.raises(SandboxUnavailable, match="not a regular file"):
        system_minimums()


@pytest.mark.parametrize("what", ["the file", "its folder"])
def test_a_link_that_leads_nowhere_stops_everything_too(folders: tuple[Path, Path], what: str) -> None:
    if what == "the file":
        (folders[0] / FILE).symlink_to(folders[0] / "not mounted")
    else:
        folders[0].rmdir()
        folders[0].symlink_to(folders[1] / "not mounted")
    with pytest.raises(SandboxUnavailable, match="does not exist"):
        system_minimums()


def test_the_file_of_an_environment_holds_for_who_uses_its_python(tmp_path: Path) -> None:
    """A real environment with the file in it; nothing is mocked."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    folder = tmp_path / "env/etc/jupyter"
    folder.mkdir(parents=True)
    demand(folder, "docker")
    program = (
        "from autocoder_jupyter.sandbox.choice import choose\n"
        "try:\n    choose('local')\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    ran = subprocess.run(
        [tmp_path / "env/bin/python", "-c", program],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert "SandboxUnavailable" in ran.stdout, ran.stderr
    if "does not work here" not in ran.stdout:  # if the local sandbox works, it does not meet the minimum
        assert f"'docker' is required by the administrator, in {folder / FILE}" in ran.stdout
