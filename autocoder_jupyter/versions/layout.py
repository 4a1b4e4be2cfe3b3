"""Where the versions of a function are: `.autocode/<name>/versions/<version>/`.

    .autocode/.gitattributes          written once; it marks what is below `versions` for git as generated
    .autocode/<name>/
        solution.py, test_solution.py, function.toml      what runs; see `top_files`
        choice.json                                       see `choice`
        versions/<version>/                               see `engine.journal`

Earlier versions of this package wrote `.autocode/<name>/<version>/`. Such a folder is read where it is, and moved when
the next version is written. Both places can exist after a merge, so each is always looked for.

A file that two versions have in common is stored once, and `same.json` names the version that has it.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse

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
    """Give the files of a version to those that name it in `same.json`, before it is removed.

    Raises:
        OSError: the folder cannot be written.
    """
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
    """Write the file for git, if there is none.

    Raises:
        OSError: it cannot be written.
    """
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
