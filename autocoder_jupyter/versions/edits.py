"""What a person wrote into the files of a version: `solution.py` and `test_solution.py` in its folder."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.versions.store import Version, Versions

CODE_FILE = "solution.py"
TESTS_FILE = "test_solution.py"

SOURCE_BYTES = 2**20
"""Of one file; no module has more."""

_CONFLICT = "<<<<<<< "


@dataclass(frozen=True)
class Edit:
    """A version whose code or tests a person changed.

    Args:
        version: as it was recorded.
        code: the module as it is on disk.
        tests: the tests as they are on disk.
    """

    version: Version
    code: str
    tests: str


def edit_of(versions: Versions, version: Version) -> Edit | None:
    """What a person changed in the files of a version; None when they are as they were recorded, or cannot be read."""
    report = version.report
    recorded = (report.solution.code if report.solution else "", report.tests)
    code, tests = (
        _changed(_on_disk(versions, version, name), text)
        for name, text in zip((CODE_FILE, TESTS_FILE), recorded, strict=True)
    )
    return None if (code, tests) == recorded else Edit(version, code, tests)


def _changed(written: str, recorded: str) -> str:
    """What a person wrote; what is recorded, when that is the same but for what editors and git add."""
    return written if written and _plain(written) != _plain(recorded) else recorded


def file_of(versions: Versions, version: Version, name: str = CODE_FILE) -> Path:
    """Where a person edits a version."""
    return versions.root / versions.name / version.id / name


def _on_disk(versions: Versions, version: Version, name: str) -> str:
    """A file's text; "" for one that is missing, no text, or half of a merge: that heals when the cell runs."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        path = f"{versions.root.name}/{versions.name}/{version.id}/{name}"
        text = Folder(versions.root.parent).read_bytes(path, SOURCE_BYTES).decode()
        return "" if "\0" in text or any(line.startswith(_CONFLICT) for line in text.splitlines()) else text
    return ""


def _plain(text: str) -> str:
    """A source with the line ends that we write."""
    return text.replace("\r\n", "\n").strip("\n")
