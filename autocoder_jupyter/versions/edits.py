"""The user's edits of a version: in `solution.py` and `test_solution.py` in its folder, or at the top (`top_files`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.errors import writing
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.versions.sources import CODE_FILE, TESTS_FILE, plain, read_source, sources_of, written
from autocoder_jupyter.versions.store import Version, Versions
from autocoder_jupyter.versions.top_files import TopFiles


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


def edit_of(versions: Versions, version: Version) -> EditedVersion | None:
    """The edit of a version; None if its files are as recorded, or cannot be read."""
    recorded = sources_of(version.report)
    code, tests = (_edited(versions, version, name) or recorded[name] for name in (CODE_FILE, TESTS_FILE))
    is_edited = (code, tests) != (recorded[CODE_FILE], recorded[TESTS_FILE])
    return EditedVersion(version, code, tests) if is_edited else None


def _edited(versions: Versions, version: Version, name: str) -> str:
    """An edited file; "" if it is not. What is at the top of the folder is meant, if both places are edited."""
    if top := TopFiles(versions).edited(version, name):
        return top
    text = read_source(Folder(versions.root.parent), versions.path(version.id, name))
    # Editors and git change characters that mean nothing.
    return text if text and plain(text) != plain(sources_of(version.report)[name]) else ""


def differing_files(versions: Versions, version: Version) -> list[str]:
    """The files of a version whose code or tests are not as recorded. A missing file is not among them."""
    files, top = Folder(versions.root.parent), TopFiles(versions)
    return [
        name
        for name, text in sources_of(version.report).items()
        if (name in (CODE_FILE, TESTS_FILE) and top.edited(version, name))
        or (
            files.exists(versions.path(version.id, name))
            and plain(read_source(files, versions.path(version.id, name))) != plain(text)
        )
    ]


def undo_edit(versions: Versions, version: Version, code: str, tests: str) -> None:
    """Let the files of a version say what it runs again, where they have this edit. Any other edit is left alone.

    Raises:
        InvalidRequest: the folder cannot be written.
    """
    files, recorded = Folder(versions.root.parent), sources_of(version.report)
    for name, edited in ((CODE_FILE, code), (TESTS_FILE, tests)):
        if plain(edited) == plain(recorded[name]):
            continue
        TopFiles(versions).undo(version, name, edited)
        path = versions.path(version.id, name)
        if plain(read_source(files, path)) != plain(edited):
            continue
        with writing(f"What {versions.name} was before your edit", versions.root.parent / path):
            if recorded[name]:
                files.write(path, written(recorded[name]))
            else:
                files.remove(path)


def file_of(versions: Versions, version: Version, name: str = CODE_FILE) -> Path:
    """The path of the file in which the user edits a version: at the top, if that shows this version."""
    top = TopFiles(versions)
    path = top.path(name) if top.named() == [version.id] else versions.path(version.id, name)
    return versions.root.parent / path
