"""The versions of a function in their folders: where they are, what is read of them, and which of them counts.

The id of a version is the key of its request; `<key>-2`, `<key>-3` … if the model was asked again, `<key>-` and six
digits of a hash if the user edited it. Users see numbers in the order in which versions began: 1, 2, 3.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel

from autocoder_jupyter.errors import InvalidRequest, writing
from autocoder_jupyter.trust.formats import require_known, stamp
from autocoder_jupyter.trust.seals import is_sealed
from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import parse as parse_module
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.visible import hides, readable_code
from autocoder_jupyter.versions.report_check import check_report

# The user's choice
#
# `choice.json` names the version that counts, if the user chose one; else the newest good version does.

CHOICE_FILE = "choice.json"

_CHOICE_BYTES = 2**20


class _ChoiceFile(BaseModel):
    """The schema of the file. The file is untrusted."""

    pinned: str | None = None
    chosen: dict[str, str] = {}


@dataclass(frozen=True)
class Choice:
    """The choices that the user made for one function.

    Args:
        pinned: the version that every request of this name gets; None if there is none.
        chosen: by request key, the version that counts for it.
    """

    pinned: str | None = None
    chosen: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, files: Folder, home: str) -> Choice:
        """The choice in a folder of versions; empty if there is no file that may be read.

        Raises:
            InvalidRequest: the file is damaged. Without it, another version could count than the user chose.
            WrittenLater: a later version of this package wrote it.
        """
        what = f"{CHOICE_FILE} of {PurePosixPath(home).name}"
        try:
            content = parse(files.read_bytes(f"{home}/{CHOICE_FILE}", _CHOICE_BYTES))
            require_known(content, what)
            recorded = _ChoiceFile.model_validate(content)
        except OSError:
            return cls()
        except ValueError:
            raise InvalidRequest(
                f"{what} is damaged.",
                why="It says which version you pinned or restored. A merge may have left a conflict in it.",
                hint="Mend the file, or remove it: then the newest good version counts.",
            ) from None
        return cls(recorded.pinned, recorded.chosen)

    def write(self, files: Folder, home: str) -> None:
        """Write the file."""
        record = {**stamp(), "pinned": self.pinned, "chosen": dict(sorted(self.chosen.items()))}
        with writing("The choice of a version", files.root / home / CHOICE_FILE):
            files.write(f"{home}/{CHOICE_FILE}", (json.dumps(record, indent=1) + "\n").encode())

    def choosing(self, request_key: str, version: str) -> Choice:
        """A copy with a version chosen for a request."""
        return replace(self, chosen={**self.chosen, request_key: version})

    def without(self, version: str) -> Choice:
        """A copy without any choice of this version."""
        kept = {key: chosen for key, chosen in self.chosen.items() if chosen != version}
        return Choice(None if self.pinned == version else self.pinned, kept)


# Layout of the folders
#
#     .autocode/.gitattributes          written once; it marks what is below `versions` for git as generated
#     .autocode/<name>/
#         solution.py, test_solution.py, function.toml      what runs; see `edits.TopFiles`
#         choice.json                                       see `Choice`
#         versions/<version>/                               request, journal, code, tests, report; see `engine.journal`
#
# Earlier versions of this package wrote `.autocode/<name>/<version>/`. Such a folder is read where it is, and moved
# when the next version is written. Both places can exist after a merge, so each is always looked for.
#
# A file that two versions have in common is stored once, and `same.json` names the version that has it.

VERSIONS = "versions"

_RUN_FILES = ("request.json", "journal.jsonl", "report.json")
"""A folder with one of these is a version. Outputs of calls and answers of code mode have none of them."""

_STORED_ONCE = frozenset(
    {"request.json", "sent.json", "solution.py", "test_solution.py", "test_blind.py", "test_own.py"}
)
"""Files that two versions can have in common. Of equal ones, only the earliest is stored."""

SAME_FILE = "same.json"
"""In the folder of a version: which version has a file that is stored only there."""

_SAME_BYTES = 16 * 1024

GIT_FILE = ".gitattributes"

_GIT_ATTRIBUTES = """\
# Written once by autocoder-jupyter. Change it as you like; an empty file stays empty.
# What is recorded of versions: hidden in reviews, and no text in a diff.
*/versions/** linguist-generated gitlab-generated -diff
# What runs now, written again from the versions after a merge: see function.toml.
*/solution.py merge=union
*/test_solution.py merge=union
*/function.toml merge=union
"""


def home_of(root: str, name: str) -> str:
    """The folder of a function, relative to the folder around `.autocode`."""
    return f"{root}/{name}"


def run_path(files: Folder, home: str, run_id: str) -> str:
    """The folder of a run: below `versions`, or where an earlier version of this package wrote it."""
    new, old = f"{home}/{VERSIONS}/{run_id}", f"{home}/{run_id}"
    return old if run_id != VERSIONS and not files.exists(new) and files.exists(old) else new


def run_ids(files: Folder, home: str) -> list[str]:
    """The names of the folders of all runs at both places, sorted. `outputs` may be among them."""
    earlier = (name for name in files.names(home) if name != VERSIONS and files.is_folder(f"{home}/{name}"))
    return sorted({*files.names(f"{home}/{VERSIONS}"), *earlier})


def file_path(files: Folder, home: str, run_id: str, name: str) -> str:
    """The path of a file of a run: in its folder, or in that of the version that has the same file."""
    path = f"{run_path(files, home, run_id)}/{name}"
    if name in _STORED_ONCE and not files.exists(path) and (holder := _same(files, home, run_id).get(name)):
        return f"{run_path(files, home, holder)}/{name}"
    return path


def store_once(files: Folder, home: str, run_id: str) -> None:
    """Remove from a finished version each file that another finished version has too. `same.json` then names that one.

    Raises:
        OSError: the folder cannot be written.
    """
    own, same = run_path(files, home, run_id), _same(files, home, run_id)
    left = {name: files.read_bytes(f"{own}/{name}") for name in _STORED_ONCE if files.exists(f"{own}/{name}")}
    found: dict[str, str] = {}
    for other in run_ids(files, home):
        folder = run_path(files, home, other)
        if other == run_id or not files.exists(f"{folder}/report.json"):
            continue
        for name in left.keys() - found.keys():
            with contextlib.suppress(OSError):
                if files.read_bytes(f"{folder}/{name}", len(left[name])) == left[name]:
                    found[name] = other
    if found:
        _write_same(files, home, run_id, {**same, **found})
        for name in found:
            files.remove(f"{own}/{name}")


def release(files: Folder, home: str, run_id: str) -> None:
    """Give the files of a version to those that name it in `same.json`, before it is removed."""
    given: dict[str, str] = {}
    for other in run_ids(files, home):
        same = _same(files, home, other)
        if run_id not in same.values():
            continue
        for name in [name for name, holder in same.items() if holder == run_id]:
            if name in given:
                same[name] = given[name]
                continue
            del same[name]
            with contextlib.suppress(FileNotFoundError):
                content = files.read_bytes(f"{run_path(files, home, run_id)}/{name}")
                files.write(f"{run_path(files, home, other)}/{name}", content)
                given[name] = other
        _write_same(files, home, other, same)


def _same(files: Folder, home: str, run_id: str) -> dict[str, str]:
    """By file, the other version of this function that has it. The record is not trusted: it can name no other file."""
    with contextlib.suppress(OSError, ValueError):
        read = parse(files.read_bytes(f"{run_path(files, home, run_id)}/{SAME_FILE}", _SAME_BYTES))
        if isinstance(read, dict):
            return {
                name: one
                for name, one in read.items()
                if name in _STORED_ONCE and one != run_id and _is_run(files, home, one)
            }
    return {}


def _is_run(files: Folder, home: str, name: Any) -> bool:
    """Whether a name from a record is that of a run. The names of all runs are not read: a folder can have many."""
    if not isinstance(name, str) or "/" in name or name == VERSIONS:
        return False
    return files.is_folder(run_path(files, home, name))


def _write_same(files: Folder, home: str, run_id: str, same: dict[str, str]) -> None:
    path = f"{run_path(files, home, run_id)}/{SAME_FILE}"
    if same:
        files.write(path, (json.dumps(same, indent=1, sort_keys=True) + "\n").encode())
    elif files.exists(path):
        files.remove(path)


def is_moved(files: Folder, home: str) -> bool:
    """Whether the function is in this layout."""
    return files.is_folder(f"{home}/{VERSIONS}")


def write_git_file(files: Folder, home: str) -> None:
    """Write the file for git, if there is none."""
    path = f"{home.partition('/')[0]}/{GIT_FILE}"
    if not files.exists(path):
        files.write(path, _GIT_ATTRIBUTES.encode())


def move(files: Folder, home: str) -> None:
    """Move what an earlier version of this package wrote to its place.

    Raises:
        OSError: a folder cannot be moved. It is read where it is.
    """
    for name in files.names(home):
        old, new = f"{home}/{name}", f"{home}/{VERSIONS}/{name}"
        is_run = files.is_folder(old) and any(files.exists(f"{old}/{file}") for file in _RUN_FILES)
        if name != VERSIONS and is_run and not files.exists(new):
            with contextlib.suppress(FileNotFoundError):  # another kernel moved it
                files.move(old, new)


# Versions

TOTAL_BYTES = 64 * 2**20
"""The maximum bytes of reports that are read for one name. Further reports are skipped."""

UNRECORDED = "0"
"""The number of a run that is not kept (`cache = "disable"`): only the questions to the model are recorded."""


@dataclass(frozen=True)
class Version:
    """One finished run.

    Args:
        number: its number for users, from 1.
        report: its outcome as recorded, without the conversation. `verification.shown` decides what may be shown of it.
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
    """

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.name = name
        self._files = Folder(root.parent)
        self._home = home_of(root.name, name)

    def all(self) -> list[Version]:
        """The finished versions, in the order in which they began. Those that cannot be read are left out.

        Raises:
            WrittenLater: a later version of this package wrote one. It may be the one that counts, so none is used.
        """
        found, left = [], TOTAL_BYTES
        for version in self.folders() if self.name.isidentifier() and not hides(self.name) else ():
            with contextlib.suppress(OSError, ValueError, OverflowError):  # a date can be out of range
                content = self._files.read_bytes(self.path(version, "report.json"), limit=left)
                left -= len(content)
                record = parse(content)
                require_known(record, f"Version {version} of {self.name}")
                report = Report.model_validate(record)
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
        """The recorded request of a version; empty if it cannot be read.

        Raises:
            WrittenLater: a later version of this package wrote it.
        """
        with contextlib.suppress(OSError, ValueError):
            record = parse(self._files.read_bytes(file_path(self._files, self._home, version, "request.json")))
            require_known(record, f"The request of {self.name}")
            if isinstance(record, dict):
                return record
        return {}

    # Which one counts

    @property
    def choice(self) -> Choice:
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
        """Make the files at the top of the function's folder show what runs; see `edits.TopFiles`.

        Raises:
            InvalidRequest: the folder cannot be written.
        """
        from autocoder_jupyter.versions.edits import TopFiles

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
            WrittenLater: a later version of this package wrote one of its records.
        """
        self._require_known()
        with writing(f"{self.name} under its new name", self.root / name):
            self._files.rename(self._home, name)

    def remove(self, version: str) -> None:
        """Remove a version and all that is recorded of it.

        Raises:
            InvalidRequest: the folder cannot be written.
            WrittenLater: a later version of this package wrote one of the function's records.
        """
        self._require_known()
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

    def _require_known(self) -> None:
        """Require that all records are known before the first file changes."""
        self.all()
        _ = self.choice

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
    """Whether code and tests parse as Python: a file may be damaged or have merge conflicts."""
    try:
        parse_module(report.solution.code if report.solution else "")
        parse_module(report.tests)
    except (SyntaxError, ValueError):
        return False
    return True


# Sources of a version

CODE_FILE = "solution.py"
TESTS_FILE = "test_solution.py"
BLIND_FILE = "test_blind.py"
OWN_FILE = "test_own.py"

SOURCE_BYTES = 2**20
"""The most bytes of one file that are read."""

CONFLICT = "<<<<<<< "
"""The beginning of a line that git writes into a file that it cannot merge."""


def sources_of(report: Report) -> dict[str, str]:
    """The text of each file with code or tests of a version; "" if it has none."""
    return {
        CODE_FILE: report.solution.code if report.solution else "",
        TESTS_FILE: report.tests,
        BLIND_FILE: report.blind_tests,
        OWN_FILE: report.own_tests,
    }


def read_source(files: Folder, path: str) -> str:
    """A file's text; "" if it is missing, is not text or has merge conflicts. A run of the cell writes it again."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = files.read_bytes(path, SOURCE_BYTES).decode()
        return "" if "\0" in text or any(line.startswith(CONFLICT) for line in text.splitlines()) else text
    return ""


def plain(text: str) -> str:
    """A source as its file is written, with plain newlines and no blank lines around it."""
    return readable_code(text).replace("\r\n", "\n").strip("\n")


def written(text: str) -> bytes:
    """The content of the file of a source: without hidden characters."""
    return (readable_code(text).rstrip("\n") + "\n").encode()
