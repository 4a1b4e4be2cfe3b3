"""Reading the versions of a function from their folders, and deciding which of them counts.

    .autocode/<name>/            see `layout`
        choice.json              see `choice`
        versions/<version>/      see `engine.journal`: request, journal, code, tests, report

The id of a version is the key of its request; `<key>-2`, `<key>-3` … if the model was asked again, `<key>-` and six
digits of a hash if the user edited it. Users see numbers in the order in which versions began: 1, 2, 3.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autocoder_jupyter.errors import writing
from autocoder_jupyter.trust.seals import is_sealed
from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import parse as parse_module
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.visible import hides
from autocoder_jupyter.versions.choice import FILE as CHOICE_FILE
from autocoder_jupyter.versions.choice import Choice
from autocoder_jupyter.versions.layout import file_path, home_of, release, run_ids, run_path
from autocoder_jupyter.versions.report_check import check_report

TOTAL_BYTES = 64 * 2**20
"""The maximum bytes of reports that are read for one name. Further reports are skipped."""

UNRECORDED = "0"
"""The number of a run that is not kept (`--cache disable`): only the questions to the model are recorded."""


@dataclass(frozen=True)
class Version:
    """One finished run.

    Args:
        id: its folder.
        number: its number for users, from 1.
        report: its outcome as recorded, without the conversation. `verification.shown` says what may be shown of it.
        digest: SHA-256 of the content of its record; "" if it was not read from a record.
        is_sealed: whether a run of this user wrote the record; see `trust.seals`.
    """

    id: str
    number: int
    report: Report
    digest: str = ""
    is_sealed: bool = False

    @property
    def is_good(self) -> bool:
        """Whether it is a function whose verification succeeded."""
        return self.report.success and self.report.solution is not None and self.report.plan is not None


class Versions:
    """The versions of one name. The content of their folders is untrusted, and all of it is checked.

    Args:
        root: the `.autocode` folder.
        name: the name of the function.
    """

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.name = name
        self._files = Folder(root.parent)
        self._home = home_of(root.name, name)

    def all(self) -> list[Version]:
        """The finished versions, in the order in which they began. Those that cannot be read are left out."""
        found, left = [], TOTAL_BYTES
        for version in self.folders() if self.name.isidentifier() and not hides(self.name) else ():
            with contextlib.suppress(OSError, ValueError, OverflowError):  # a date can be out of range
                content = self._files.read_bytes(self.path(version, "report.json"), limit=left)
                left -= len(content)
                report = Report.model_validate(parse(content))
                check_report(report)
                report = report.model_copy(update={"name": self.name, "run_id": version})  # its folder says
                began = report.started.astimezone().timestamp() if report.started else 0.0
                digest = hashlib.sha256(content).hexdigest()
                found.append((began, version, report, digest, is_sealed(content, self.name, version)))
        found.sort(key=lambda run: run[:2])
        return [Version(run[1], number, *run[2:]) for number, run in enumerate(found, 1)]

    def path(self, version: str, file: str = "") -> str:
        """The path of a version or of a file of it, relative to the folder around `.autocode`."""
        folder = run_path(self._files, self._home, version)
        return f"{folder}/{file}" if file else folder

    def get(self, version: str) -> Version | None:
        """The finished version of this folder name; None if there is none."""
        return next((known for known in self.all() if known.id == version), None)

    def folders(self) -> list[str]:
        """The folder names of all runs, finished or not, sorted by name. None of them has hidden characters."""
        names = run_ids(self._files, self._home)
        return [name for name in names if name != CHOICE_FILE and not name.startswith(".") and not hides(name)]

    def interrupted(self) -> list[str]:
        """The runs that did not finish, in the order in which they began."""
        open_ones = [
            version
            for version in self.folders()
            if not self._files.exists(self.path(version, "report.json"))
            and self._files.exists(self.path(version, "request.json"))  # stored once only when it is finished
            and not version.endswith(f"-{UNRECORDED}")
        ]
        return sorted(open_ones, key=lambda version: self._files.changed(self.path(version, "request.json")))

    def request(self, version: str) -> dict[str, Any]:
        """The recorded request of a version; empty if it cannot be read."""
        with contextlib.suppress(OSError, ValueError):
            record = parse(self._files.read_bytes(file_path(self._files, self._home, version, "request.json")))
            if isinstance(record, dict):
                return record
        return {}

    # Which one counts

    @property
    def choice(self) -> Choice:
        """The choices that the user made."""
        return Choice.read(self._files, self._home)

    def pinned(self) -> Version | None:
        """The version that the user has pinned: it counts for every request. None if none is pinned."""
        pinned = self.choice.pinned
        return None if pinned is None else self.get(pinned)

    def chosen(self, request_key: str) -> Version | None:
        """The good version that counts for a request: the one that the user chose, else the newest."""
        good = [version for version in self.all() if version.is_good and _can_be_read(version.report)]
        wanted = self.choice.chosen.get(request_key)
        return next(
            (version for version in good if version.id == wanted),
            next((version for version in reversed(good) if key_of(version) == request_key), None),
        )

    def last_good(self) -> Version | None:
        """The good version that counts for the last request; the pinned one if there is one."""
        pinned = self.pinned()
        if pinned is not None and pinned.is_good:
            return pinned
        good = [version for version in self.all() if version.is_good]
        return self.chosen(key_of(good[-1])) or good[-1] if good else None

    def numbered(self, word: str) -> Version | None:
        """The version with this number, or whose folder name begins with this text."""
        known = self.all()
        if word.isdecimal() and len(word) < 6 and 0 < int(word) <= len(known):
            return known[int(word) - 1]
        meant = [version for version in known if version.id == word] or [
            version for version in known if version.id.startswith(word) and len(word) > 3
        ]
        return meant[0] if len(meant) == 1 else None

    def show_current(self) -> list[str]:
        """Let the files at the top of the function's folder say what runs; see `top_files`.

        Returns:
            Sentences about edits that were set aside.

        Raises:
            InvalidRequest: the folder cannot be written.
        """
        from autocoder_jupyter.versions.top_files import TopFiles

        top = TopFiles(self)
        top.show()
        return top.notes

    def restore(self, version: Version) -> None:
        """Let a version count again: for its own request, and for the request of the newest version.

        Raises:
            InvalidRequest: the folder cannot be written.
        """
        choice = self.choice.choosing(key_of(version), version.id)
        newest = next((known for known in reversed(self.all()) if known.is_good), version)
        choice.choosing(key_of(newest), version.id).write(self._files, self._home)

    def free_id(self, request_key: str) -> str:
        """The name of the next version of a request: its key, then `-2`, `-3` …"""
        taken = {folder for folder in self.folders() if folder.startswith(request_key)}
        number = 1
        while (candidate := numbered_id(request_key, number)) in taken:
            number += 1
        return candidate

    def choose(self, request_key: str, version: str) -> None:
        """Let a version count for a request.

        Raises:
            InvalidRequest: the folder cannot be written.
        """
        self.choice.choosing(request_key, version).write(self._files, self._home)

    def pin(self, version: str | None) -> None:
        """Pin a version, so that it counts for every request; None removes the pin.

        Raises:
            InvalidRequest: the folder cannot be written.
        """
        replace(self.choice, pinned=version).write(self._files, self._home)

    def rename(self, name: str) -> None:
        """Give the function another name, with all its versions.

        Raises:
            InvalidRequest: something of that name is there, or the folder cannot be written.
        """
        with writing(f"{self.name} under its new name", self.root / name):
            self._files.rename(self._home, name)

    def remove(self, version: str) -> None:
        """Remove a version and all that is recorded of it.

        Raises:
            InvalidRequest: the folder cannot be written.
        """
        with writing("What is left without that version", self.root / self.name):
            release(self._files, self._home, version)
            self._files.remove(self.path(version))
            if version in (self.choice.pinned, *self.choice.chosen.values()):
                self.choice.without(version).write(self._files, self._home)

    def remove_all(self) -> None:
        """Remove all that is recorded of the name.

        Raises:
            InvalidRequest: the folder cannot be written.
        """
        with writing("The folder without that function", self.root):
            self._files.remove(self._home)

    def made(self, request_key: str, version: str) -> None:
        """Register a new good version. An earlier choice for its request no longer counts."""
        if self.choice.chosen.get(request_key, version) != version:
            self.choose(request_key, version)


def numbered_id(request_key: str, number: int) -> str:
    """The folder of the n-th version that the model made for a request."""
    return request_key if number == 1 else f"{request_key}-{number}"


def edited_id(request_key: str, code: str, tests: str) -> str:
    """The folder of a version with code or tests that the user edited: the same sources, the same folder."""
    return f"{request_key}-{hashlib.sha256(json.dumps([code, tests]).encode()).hexdigest()[:6]}"


def unrecorded_id(request_key: str) -> str:
    """The folder of a run that is not kept."""
    return f"{request_key}-{UNRECORDED}"


def key_of(version: Version) -> str:
    """The key of the request that a version was made for; from its folder name if it is not recorded."""
    return version.report.request_key or version.id.partition("-")[0]


def _can_be_read(report: Report) -> bool:
    """Whether code and tests parse as Python: a file may be damaged or hold merge conflicts."""
    try:
        parse_module(report.solution.code if report.solution else "")
        parse_module(report.tests)
    except (SyntaxError, ValueError):
        return False
    return True
