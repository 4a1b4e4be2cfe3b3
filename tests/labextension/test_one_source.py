"""The files that are generated from records are current."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import autocoder_jupyter
from tools.generated import generated

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.name)
def test_what_is_made_from_the_records_is_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generated()[path], "run tools/generated.py"


def test_all_parts_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extension = json.loads((ROOT / "labextension" / "package.json").read_text())
    assert project["dynamic"] == ["version"], "the build takes it from version.py"
    assert autocoder_jupyter.__version__ == extension["version"]


def test_the_lock_names_no_registry() -> None:
    lock = (ROOT / "labextension" / "yarn.lock").read_text()
    assert "://" not in lock
