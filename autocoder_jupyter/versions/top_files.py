"""The files at the top of a function's folder, for readers and reviews: what runs now.

    solution.py, test_solution.py    the code and the tests of the version that counts
    function.toml                    its request, interface, assumptions and evidence, in about ten lines

They are a view. What runs is in the record of a version; nothing is run or believed because it is in these files. A
change in `solution.py` or `test_solution.py` is a person's edit, which `retest` and the next run of the cell test, as
long as `function.toml` names the version that it was made from. After a merge it names two, and then the files are
written again.
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass, field

from autocoder_jupyter.errors import writing
from autocoder_jupyter.types import InputSpec, OutputSpec, Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.versions.layout import is_moved, write_git_file
from autocoder_jupyter.versions.sources import (
    CODE_FILE,
    CONFLICT,
    SOURCE_BYTES,
    TESTS_FILE,
    plain,
    read_source,
    sources_of,
    written,
)
from autocoder_jupyter.versions.store import Version, Versions

TOML_FILE = "function.toml"

_TOML_BYTES = 64 * 1024
_LONGEST = 400
_NAMES_VERSION = re.compile(r'^version = "([^"\n]*)"\s*$', re.MULTILINE)


@dataclass
class TopFiles:
    """The files at the top of a function's folder.

    Args:
        versions: the versions of the function.
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
        """Let a file say what its version runs, if it has this edit.

        Raises:
            InvalidRequest: the folder cannot be written.
        """
        if plain(self.edited(version, name)) == plain(text) != "":
            self._put(name, sources_of(version.report)[name])

    def show(self) -> None:
        """Let the files say what runs now. An edit of what runs, which is not tested yet, stays; another is set aside.

        Raises:
            InvalidRequest: the folder cannot be written.
        """
        home = f"{self.versions.root.name}/{self.versions.name}"
        if not is_moved(self._files, home):
            return  # a folder of an earlier layout is not changed before a version is written
        with contextlib.suppress(OSError):
            write_git_file(self._files, home)
        known, named = self.versions.all(), self.named()
        current = self.versions.last_good()
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
