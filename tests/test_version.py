"""The version stands in one place; what must repeat it, does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import autocoder_jupyter
from autocoder_jupyter.version import VERSION

ROOT = Path(__file__).parent.parent


def test_every_file_that_names_the_version_names_this_one() -> None:
    extension = json.loads((ROOT / "labextension" / "package.json").read_text("utf-8"))["version"]
    (cited,) = re.findall(r"(?m)^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"))
    assert extension == cited == autocoder_jupyter.__version__ == VERSION


def test_the_newest_release_note_is_of_this_version_and_begins_with_what_a_user_must_know() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    versions = re.findall(r"(?m)^## (.*)$", text)
    numbers = [tuple(map(int, version.split("."))) for version in versions]
    assert versions[0] == VERSION and numbers == sorted(numbers, reverse=True) and len(set(numbers)) == len(numbers)
    first, *_ = text.partition("## ")[2].split("\n\n")[1:]
    assert first == "Before you upgrade"
