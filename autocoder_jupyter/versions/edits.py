"""The user's edits of a version: in `solution.py` and `test_solution.py` in its folder, or at the top (`top_files`)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from autocoder_jupyter.errors import writing
from autocoder_jupyter.redaction.messages import redacted_record
from autocoder_jupyter.trust.permissions import own_folder
from autocoder_jupyter.trust.seals import is_sealed, key_problem, sealed
from autocoder_jupyter.types import Evidence, InputSpec, OutputSpec, Report, SecondOpinion
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.untrusted.plain_json import parse
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

# The files at the top of a function's folder, for readers and reviews: what runs now.
#
#     solution.py, test_solution.py    the code and the tests of the version that counts
#     function.toml                    its request, interface, assumptions and evidence, in about ten lines
#
# They are a view. What runs is in the record of a version; nothing is run or believed because it is in these files. A
# change in `solution.py` or `test_solution.py` is a person's edit, which `retest` and the next run of the cell test, as
# long as `function.toml` names the version that it was made from. After a merge it names two, and then the files are
# written again.


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


# What may be shown of a record: the evidence of a folder counts only if this user's runs gathered it.
#
# Anybody can write a `report.json`. So the run that writes it seals it (see `trust.seals`), and evidence without a
# valid seal is not shown. A record of somebody else does not change when it is verified here, because it may be shared:
# the evidence is kept in a sealed file in the user's configuration.


FOLDER = "verified"
"""In the user's configuration."""

FILE_BYTES = 8 * 2**20
"""A larger file was not written by us and is ignored."""

_unwritten: dict[str, bytes] = {}
"""The content of files that could not be written. It counts until this process ends."""

RecordedState = Literal["ready", "failed", "not_verified"]

GATHERED = frozenset(
    {
        "kept",
        "evidence",
        "output",
        "exit_code",
        "detected_packages",
        "detected_system_packages",
        "lock",
        "python_version",
        "image",
        "sandbox",
        "sandbox_tier",
    }
)
"""The fields of a report that the run fills in that verifies a recorded function."""


def shown(versions: Versions, version: Version) -> tuple[RecordedState, Report]:
    """The state of a recorded version and its report, with the evidence that was gathered here."""
    report, name = version.report, version.report.name
    if not report.success:
        # The evidence of a renamed function is kept in the user's configuration.
        return "failed", unverified_failure(report) if _found(versions, version) is None else report
    found = _found(versions, version)
    if found is None:
        return "not_verified", unverified(report)
    if changed := differing_files(versions, version):
        way = f"%autocode retest {name} tests the file; without it, the recorded function counts."
        return "not_verified", unverified(report, f"{changed[0]} is not as it was tested. {way}")
    if not found:
        return "ready", report
    fields = {field: value for field, value in found.items() if field in GATHERED}
    read = Report.model_validate({"name": name, "run_id": version.id, "prompt": "", "success": True, **fields})
    own = report if _is_own(found) else without_evidence(report)
    return "ready", own.model_copy(update={field: value for field, value in read if field in fields})


def without_others_evidence(versions: Versions, version: Version) -> Report:
    """The report as recorded if this user's run wrote it; otherwise without its evidence."""
    return version.report if _is_own(_found(versions, version)) else without_evidence(version.report)


def unverified(report: Report, why: str = "") -> Report:
    """The report of a function that is not verified here: all that it says about itself, and no evidence."""
    why = why or f"No run of yours tested it here. {report.name}.verify() does that, and so does its cell."
    return without_evidence(report).model_copy(update={"success": False, "error": why})


def unverified_failure(report: Report) -> Report:
    """The report of a failed run that no run of this user wrote: what it says about itself, and no outcomes."""
    said = f"It is not verified here: no run of yours wrote this record. The record says: {report.error or 'it failed'}"
    return without_evidence(report).model_copy(update={"error": said})


def without_evidence(report: Report) -> Report:
    """A report without what it says that somebody tested or compared."""
    history = tuple(attempt.model_copy(update={"evidence": Evidence()}) for attempt in report.history)
    gone: dict[str, Any] = {"evidence": Evidence(), "output": "", "exit_code": -1, "kept": None, "history": history}
    return report.model_copy(update={**gone, "second_opinion": _not_compared(report.second_opinion)})


def _not_compared(opinion: SecondOpinion | None) -> SecondOpinion | None:
    """A second opinion without what it confirms. Where it differs, it still shows how else the request can be read."""
    if opinion is None or opinion.state != "agree":
        return opinion.model_copy(update={"confirms": ""}) if opinion else None
    return SecondOpinion(note="The record names a second solution, which was not compared here.", code=opinion.code)


def keep_evidence(versions: Versions, version: Version, report: Report) -> None:
    """Keep the evidence of a run that verified a recorded function, if it is the first one here, or the first to find
    out what the tests are worth.
    """
    found, (state, before) = _found(versions, version), shown(versions, version)
    is_more = report.evidence.strength is not None and before.evidence.strength is None
    if version.digest and (found is None or (state == "ready" and is_more)):
        fields = {"evidence"} if _is_own(found) else set(GATHERED)
        _keep(versions, version, redacted_record(report.model_dump(mode="json", include=fields)))


def rename(versions: Versions, name: str) -> Versions:
    """Give a function another name, with all its versions. Those that were verified here still are.

    Raises:
        InvalidRequest: something of that name is there, or the folder cannot be written.
    """
    known = {version.id: _found(versions, version) for version in versions.all()}
    versions.rename(name)
    renamed = Versions(versions.root, name)
    for version in renamed.all():
        if (found := known.get(version.id)) is not None:
            _keep(renamed, version, found)
    return renamed


_told: set[str] = set()


def untold_problem() -> str:
    """Why what is verified now counts in this process only; "" if it counts from now on, or if this was told before."""
    problem = key_problem()
    if not problem or problem in _told:
        return ""
    _told.add(problem)
    return f"What is verified here is known as verified only until this kernel ends: {problem}"


def _found(versions: Versions, version: Version) -> Mapping[str, Any] | None:
    """The fields of `GATHERED` that are not as in the record; None if nobody verified it here."""
    place, path = _place(versions, version)
    with contextlib.suppress(OSError, ValueError):
        content = _unwritten.get(path) or Folder(own_folder()).read_bytes(path, FILE_BYTES)
        if is_sealed(content, *place):
            return dict(parse(content)["found"])
    return {} if version.is_sealed else None


def _is_own(found: Mapping[str, Any] | None) -> bool:
    """Whether a run of this user wrote the record, also if it was renamed: then a later run adds its evidence only."""
    return found is not None and found.keys() <= {"evidence"}


def _keep(versions: Versions, version: Version, found: Mapping[str, Any]) -> None:
    place, path = _place(versions, version)
    content = sealed({"found": dict(found)}, *place).encode()
    try:
        Folder(own_folder()).write(path, content)
    except OSError:
        _unwritten[path] = content


def _place(versions: Versions, version: Version) -> tuple[tuple[str, ...], str]:
    """What a seal belongs to, and the path of its file."""
    place = ("verified", versions.name, version.id, version.digest)
    return place, f"{FOLDER}/{hashlib.sha256(json.dumps(place).encode()).hexdigest()}.json"
