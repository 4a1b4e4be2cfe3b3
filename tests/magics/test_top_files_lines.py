"""The files at the top of a function's folder say what runs after each command."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import load
from tests.magics.test_versions_lines import record


def require_truth(root: Path, name: str = "growth") -> None:
    """The files are what a call runs, and what the notebook's variable runs."""
    found, home = load(name, journal_root=root), root / name
    assert (home / "solution.py").read_text().strip("\n") == (found.code or "").strip("\n")
    tests = home / "test_solution.py"
    assert (tests.read_text().strip("\n") if tests.exists() else "") == found.tests.strip("\n")
    told = tomllib.loads((home / "function.toml").read_text())
    assert (told["function"], told["version"]) == (name, found.report.run_id)


@pytest.fixture
def root(here: Path) -> Path:
    """Three versions, the second without tests."""
    record(here, "By month.", "x = 1\n", 1, tests="def test_a():\n    assert 1\n")
    record(here, "By week.", "x = 2\n", 2)
    record(here, 'By "day".\n\\ \u202e', "x = 3\n", 3, tests="def test_c():\n    assert 3\n")
    return here / ".autocode"


def test_each_command_that_changes_what_runs_changes_the_files(shell: Any, root: Path) -> None:
    commands = [
        "restore growth 1",
        "restore growth 2",
        "pin growth 3",
        "pin growth 1",
        "pin growth --off",
        "pin growth",
    ]
    for command in (*commands, "history growth", "pin growth --off", "remove growth 2", "restore growth 1"):
        shell.run(f"%autocode {command}")
        require_truth(root)
        if "growth" in shell.user_ns:
            assert (
                shell.user_ns["growth"].code == load("growth", journal_root=root).code
                or command.split()[-1] == "--off"
                or command.startswith("remove")
            )  # the variable can still be called
    shell.run("%autocode versions growth rename rise")
    require_truth(root, "rise")
    shell.run("%autocode versions rise remove 1")
    require_truth(root, "rise")
    shell.run("%autocode versions rise remove 1")
    assert not list((root / "rise").glob("*.py")) and not (root / "rise" / "function.toml").exists()


def test_an_edit_that_was_not_tested_is_set_aside_and_the_command_says_so(
    shell: Any, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run("%autocode versions growth restore 1")
    (root / "growth" / "solution.py").write_text("x = 'mine'\n")
    shell.run("%autocode history growth")
    assert "not verified here" in str(shell.display_pub.outputs[-1]["data"]["text/plain"]).lower()
    shell.run("%autocode versions growth pin 1")  # what runs is the same, so the edit stays
    assert (root / "growth" / "solution.py").read_text() == "x = 'mine'\n"
    shell.run("%autocode versions growth restore 2")
    shell.run("%autocode versions growth pin 2")
    assert "had an edit that was not tested. It is now in solution.py.set-aside-" in capsys.readouterr().out
    (aside,) = (root / "growth").glob("solution.py.set-aside-*")
    assert aside.read_text() == "x = 'mine'\n"
    require_truth(root)


def test_a_stranger_s_files_at_the_top_change_nothing_that_runs(shell: Any, root: Path, tmp_path: Path) -> None:
    shell.run("%autocode versions growth restore 1")
    home, outside = root / "growth", tmp_path / "outside.py"
    outside.write_text("mine\n")
    for name in ("solution.py", "test_solution.py", "function.toml"):
        (home / name).unlink()
        (home / name).symlink_to(outside)
    assert load("growth", journal_root=root).code == "x = 1\n"
    shell.run("%autocode versions growth restore 2")
    assert outside.read_text() == "mine\n"
    require_truth(root)
    (home / "function.toml").write_text('version = "../../x"\nversion = "y"\n' + "z" * 200_000)
    (home / "solution.py").write_bytes(b"\xff\x00")
    shell.run("%autocode versions growth restore 1")
    require_truth(root)
