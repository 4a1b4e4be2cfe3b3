"""The files at the top of a function's folder, which show what runs, and the user's edits of a version.

An edit is made in `solution.py` or `test_solution.py`, at the top or in the folder of the version.
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from autocoder_jupyter.errors import writing
from autocoder_jupyter.types import InputSpec, OutputSpec, Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.versions.store import (
    CODE_FILE,
    CONFLICT,
    SOURCE_BYTES,
    TESTS_FILE,
    Version,
    Versions,
    is_moved,
    plain,
    read_source,
    sources_of,
    write_git_file,
    written,
)

# Files at the top of a function's folder
#
#     solution.py, test_solution.py    the code and the tests of the version that counts
#     function.toml                    its request, interface, assumptions and evidence, in about ten lines
#
# They are a view, for readers and reviews. What runs is in the record of a version; nothing is run or believed because
# it is in these files. A change in `solution.py` or `test_solution.py` is a person's edit, which `retest` and the next
# run of the cell test, as long as `function.toml` names the version that it was made from. After a merge it names two,
# and then the files are written again.

TOML_FILE = "function.toml"

_TOML_BYTES = 64 * 1024
_LONGEST = 400
_NAMES_VERSION = re.compile(r'^version = "([^"\n]*)"\s*$', re.MULTILINE)


@dataclass
class TopFiles:
    """The files at the top of a function's folder.

    Args:
        notes: sentences for the user about files that were set aside.
    """

    versions: Versions
    notes: list[str] = field(default_factory=list)

    @property
    def _files(self) -> Folder:
        return Folder(self.versions.root.parent)

    def path(self, name: str) -> str:
        """The path of a file, relative to the folder around `.autocode`."""
        return f"{self.versions.root.name}/{self.versions.name}/{name}"

    def named(self) -> list[str]:
        """The versions that `function.toml` names: one, several after a merge, none if there is no such file."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return _NAMES_VERSION.findall(self._files.read_text(self.path(TOML_FILE), _TOML_BYTES))
        return []

    def edited(self, version: Version, name: str) -> str:
        """The text of a file that a person edited from this version; "" if it is as recorded, missing or unreadable."""
        if self.named() != [version.id]:
            return ""
        text = read_source(self._files, self.path(name))
        return text if text and plain(text) != plain(sources_of(version.report)[name]) else ""

    def undo(self, version: Version, name: str, text: str) -> None:
        """Let a file say what its version runs, if it has this edit."""
        if plain(self.edited(version, name)) == plain(text) != "":
            self._put(name, sources_of(version.report)[name])

    def show(self) -> None:
        """Make the files show what runs now. An untested edit of what runs stays; any other edit is set aside."""
        home = f"{self.versions.root.name}/{self.versions.name}"
        if not is_moved(self._files, home):
            return  # a folder of an earlier layout is not changed before a version is written
        known, named = self.versions.all(), self.named()
        current = self.versions.last_good()
        with contextlib.suppress(OSError):
            write_git_file(self._files, home)
        wanted = sources_of(current.report) if current is not None else {}
        for name in (CODE_FILE, TESTS_FILE):
            if current is not None and self.edited(current, name):
                continue
            self._replace(name, wanted.get(name, ""), known, is_merged=len(named) > 1)
        if current is None:
            self._put(TOML_FILE, "")
            return
        text = _toml(current)
        if named != [current.id] or f"\nfunction = {_string(self.versions.name)}\n" not in self._toml_text():
            self._put(TOML_FILE, text)

    def _toml_text(self) -> str:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return self._files.read_text(self.path(TOML_FILE), _TOML_BYTES)
        return ""

    def _replace(self, name: str, text: str, known: list[Version], *, is_merged: bool) -> None:
        """Write a file. What no version has is set aside first, because it may be a person's work."""
        there = read_source(self._files, self.path(name))
        if there and plain(there) == plain(text):
            return
        ours = {plain(sources_of(version.report)[name]) for version in known}
        may_be_work = plain(there) not in ours if there else self._has_other_content(name)
        if may_be_work and not is_merged:
            with writing(f"What {self.versions.name} runs", self.versions.root.parent / self.path(name)):
                aside = self._files.set_aside(self.path(name))
            self.notes.append(f"{name} of {self.versions.name} had an edit that was not tested. It is now in {aside}.")
        self._put(name, text)

    def _has_other_content(self, name: str) -> bool:
        """Whether there is something that is not read as a source, such as text in another encoding, or a folder.

        A file with merge conflicts is a mixture of two versions, and no work of its own.
        """
        try:
            content = self._files.read_bytes(self.path(name), SOURCE_BYTES)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return bool(content.strip()) and not any(line.startswith(CONFLICT.encode()) for line in content.splitlines())

    def _put(self, name: str, text: str) -> None:
        path = self.path(name)
        with writing(f"What {self.versions.name} runs", self.versions.root.parent / path):
            if text:
                self._files.write(path, written(text))
            elif self._files.exists(path):
                self._files.remove(path)


def _toml(version: Version) -> str:
    report = version.report
    plan = report.plan
    lines = [
        "# What runs, for readers and reviews. autocoder-jupyter writes it, and an edit here has no effect.",
        "# Edit solution.py or test_solution.py, then run: %autocode retest " + report.name,
        f"function = {_string(report.name)}",
        f"version = {_string(version.id)}",
        f"request = {_string(report.prompt)}",
        *([f"refined = {_strings(report.wishes)}"] if report.wishes else []),
        f"interface = {_string(_interface(report))}",
        f"assumes = {_strings(plan.assumptions if plan else ())}",
        f"evidence = {_string(_evidence(report))}",
        f"written_by = {_string('a person' if report.author == 'you' else 'a model')}",
    ]
    return "\n".join(lines)


def _interface(report: Report) -> str:
    def one(spec: InputSpec | OutputSpec) -> str:
        default = f" = {spec.default!r}" if isinstance(spec, InputSpec) and not spec.required else ""
        return f"{spec.name}: {spec.written_type}{default}"

    inputs, outputs = map(one, report.declared_inputs), map(one, report.declared_outputs)
    return f"{report.name}({', '.join(inputs)}) -> {', '.join(outputs)}"


def _evidence(report: Report) -> str:
    """The evidence as recorded. It is a claim of the folder, as everything in it."""
    evidence = report.evidence
    passed = sum(outcome.outcome == "passed" for outcome in evidence.tests)
    held = sum(check.passed for check in evidence.conditions)
    return (
        f"{passed} of {len(evidence.tests)} tests passed, {held} of {len(evidence.conditions)} further checks held, "
        "as recorded"
    )


def _string(text: str) -> str:
    """A text as a string of TOML on one line. `visible` leaves no character that JSON and TOML write differently."""
    words = visible(" ".join(text.split()))
    return json.dumps(words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…", ensure_ascii=False)


def _strings(texts: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_string, texts))}]"


# Edits


@dataclass(frozen=True)
class EditedVersion:
    """A version whose code or tests a person changed.

    Args:
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
