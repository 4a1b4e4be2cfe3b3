"""The user's edits in the files of a version: `solution.py` and `test_solution.py` in its folder."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.errors import writing
from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.readable_code import readable_code
from autocoder_jupyter.versions.store import Version, Versions

CODE_FILE = "solution.py"
TESTS_FILE = "test_solution.py"
BLIND_FILE = "test_blind.py"
OWN_FILE = "test_own.py"

SOURCE_BYTES = 2**20
"""The most bytes of one file that are read."""

_CONFLICT = "<<<<<<< "


@dataclass(frozen=True)
class EditedVersion:
    """A version whose code or tests a person changed.

    Args:
        version: as it was recorded.
        code: the module as it is on disk.
        tests: the tests as they are on disk.
    """

    version: Version
    code: str
    tests: str


def sources_of(report: Report) -> dict[str, str]:
    """The text of each file with code or tests of a version; "" if it has none."""
    return {
        CODE_FILE: report.solution.code if report.solution else "",
        TESTS_FILE: report.tests,
        BLIND_FILE: report.blind_tests,
        OWN_FILE: report.own_tests,
    }


def edit_of(versions: Versions, version: Version) -> EditedVersion | None:
    """The edit in the files of a version; None if they are as recorded, or cannot be read."""
    report = version.report
    recorded = (report.solution.code if report.solution else "", report.tests)
    code, tests = (
        _changed(_on_disk(versions, version, name), text)
        for name, text in zip((CODE_FILE, TESTS_FILE), recorded, strict=True)
    )
    return None if (code, tests) == recorded else EditedVersion(version, code, tests)


def differing_files(versions: Versions, version: Version) -> list[str]:
    """The files of a version whose code or tests are not as recorded. A missing file is not among them."""
    files, home = Folder(versions.root.parent), f"{versions.root.name}/{versions.name}/{version.id}"
    return [
        name
        for name, text in sources_of(version.report).items()
        if files.exists(f"{home}/{name}") and _plain(_on_disk(versions, version, name)) != _plain(text)
    ]


def undo_edit(versions: Versions, version: Version, code: str, tests: str) -> None:
    """Let the files of a version say what it runs again, where they have this edit. Any other edit is left alone.

    Raises:
        InvalidRequest: the folder cannot be written.
    """
    files, recorded = Folder(versions.root.parent), sources_of(version.report)
    for name, edited in ((CODE_FILE, code), (TESTS_FILE, tests)):
        path = file_of(versions, version, name)
        if _plain(edited) == _plain(recorded[name]) or _plain(_on_disk(versions, version, name)) != _plain(edited):
            continue
        with writing(f"What {versions.name} was before your edit", path):
            relative = path.relative_to(versions.root.parent).as_posix()
            if recorded[name]:
                files.write(relative, f"{readable_code(recorded[name]).rstrip()}\n".encode())
            else:
                files.remove(relative)


def _changed(written: str, recorded: str) -> str:
    """The text of a file; the recorded text if they differ only in characters that editors and git change."""
    return written if written and _plain(written) != _plain(recorded) else recorded


def file_of(versions: Versions, version: Version, name: str = CODE_FILE) -> Path:
    """The path of the file in which the user edits a version."""
    return versions.root / versions.name / version.id / name


def _on_disk(versions: Versions, version: Version, name: str) -> str:
    """A file's text; "" if it is missing, is not text or has merge conflicts. A run of the cell writes it again."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        path = f"{versions.root.name}/{versions.name}/{version.id}/{name}"
        text = Folder(versions.root.parent).read_bytes(path, SOURCE_BYTES).decode()
        return "" if "\0" in text or any(line.startswith(_CONFLICT) for line in text.splitlines()) else text
    return ""


def _plain(text: str) -> str:
    """A source as its file is written, with plain newlines and no blank lines around it."""
    return readable_code(text).replace("\r\n", "\n").strip("\n")
