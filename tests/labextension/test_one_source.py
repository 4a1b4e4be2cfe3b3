"""What the TypeScript side repeats of the Python side is the same."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import autocoder_jupyter
from tools.vocabulary import PATH, as_json

ROOT = Path(__file__).parents[2]


def test_the_vocabulary_is_current() -> None:
    assert PATH.read_text(encoding="utf-8") == as_json(), "run tools/vocabulary.py"


def test_all_parts_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extension = json.loads((ROOT / "labextension" / "package.json").read_text())
    assert autocoder_jupyter.__version__ == project["version"] == extension["version"]


def test_the_lock_names_no_registry() -> None:
    lock = (ROOT / "labextension" / "yarn.lock").read_text()
    assert "://" not in lock
