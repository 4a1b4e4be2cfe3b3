"""Removing folders that resist removal. Root can open everything, so one test runs as another user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.worker import removal
from autocoder_jupyter.sandbox.worker.removal import Workplace


def _deep(folder: Path, levels: int, name: str = "d" * 200) -> None:
    """A chain of folders, each with a file."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
        os.close(here)
        here = inner
    os.close(here)


def test_what_is_deeper_than_any_path_and_any_stack_goes(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    _deep(folder, 1100)
    assert removal.remove(folder)
    assert not folder.exists()


def test_when_the_time_is_over_the_rest_stays_for_the_next_time(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "file").touch()
    assert not removal.remove(folder, seconds=0)
    assert folder.exists()
    assert removal.remove(folder, seconds=60)


def test_many_folders_beside_and_in_each_other_go(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for number in range(300):
        (folder / str(number % 17) / str(number % 5) / str(number)).mkdir(parents=True)
    assert removal.clear(folder)
    assert not list(folder.iterdir())


def test_links_go_and_what_they_lead_to_stays(tmp_path: Path) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "folder"
    precious.mkdir()
    folder.mkdir()
    (precious / "file").write_text("x", "utf-8")
    (folder / "to a folder").symlink_to(precious)
    (folder / "to itself").symlink_to(folder)
    (folder / "hard").hardlink_to(precious / "file")
    os.mkfifo(folder / "pipe")
    assert removal.remove(folder)
    assert (precious / "file").read_text("utf-8") == "x"


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    assert not removal.clear(tmp_path / "link")
    assert (tmp_path / "precious" / "file").exists()


def test_a_folder_that_is_not_there_is_gone(tmp_path: Path) -> None:
    assert removal.remove(tmp_path / "never")


_CLOSED = """
import os, pathlib
if os.getuid() == 0:
    os.setuid(65534)
os.mkdir("folder")
for mode in (0o000, 0o100, 0o300, 0o400, 0o500):
    os.makedirs(f"folder/{mode}/in")
    open(f"folder/{mode}/in/file", "w").close()
    os.chmod(f"folder/{mode}/in", mode)
    os.chmod(f"folder/{mode}", mode)
print(removal.remove("folder"), os.listdir("."))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="modes are Unix's")
def test_folders_that_their_owner_closed_to_themselves_go(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    source = Path(removal.__file__).read_text("utf-8")
    load = f"import types\nremoval = types.ModuleType('removal')\nexec({source!r}, removal.__dict__)\n"
    said = subprocess.check_output([sys.executable, "-I", "-c", load + _CLOSED], cwd=tmp_path, text=True)
    assert said == "True []\n"


def test_a_programs_folder_has_a_name_of_its_own_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    workplace = Workplace(scratch=[str(tmp_path)])
    first = workplace.new_folder()
    (tmp_path / "beside").mkdir()
    assert workplace.clear()
    assert not list(tmp_path.iterdir())
    second = workplace.new_folder()
    assert first != second
    assert list(tmp_path.rglob("*")) == [workplace.root, second]
