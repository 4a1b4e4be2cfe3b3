"""What the TypeScript side repeats of the Python side is the same."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import autocoder_jupyter
from autocoder_jupyter.magics.options import SETTINGS
from tools.vocabulary import PATH, as_json

ROOT = Path(__file__).parents[2]


def test_the_vocabulary_is_current() -> None:
    assert PATH.read_text(encoding="utf-8") == as_json(), "run tools/vocabulary.py"


def test_the_settings_page_offers_what_the_kernel_takes() -> None:
    page = json.loads((ROOT / "labextension" / "schema" / "plugin.json").read_text())["properties"]
    given = (ROOT / "labextension" / "src" / "settings" / "values.ts").read_text().split("NAMES = [")[1].split("]")[0]
    assert re.findall(r"'(\w+)'", given) == list(page)  # each is given to the kernel
    for name, field in page.items():
        choices = tuple(offered["const"] for offered in field.get("oneOf", ()) if offered["const"])
        assert choices == SETTINGS[name].choices, name


def test_all_parts_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extension = json.loads((ROOT / "labextension" / "package.json").read_text())
    assert autocoder_jupyter.__version__ == project["version"] == extension["version"]


def test_the_lock_names_no_registry() -> None:
    lock = (ROOT / "labextension" / "yarn.lock").read_text()
    assert "://" not in lock
