"""The record of granted permissions: one small JSON file in the user's configuration, writable only by that user."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.trust.own_files import is_ones_own, own_folder, write_own
from autocoder_jupyter.trust.permissions import FolderTrust, Permission, digests

FILE_BYTES = 4 * 2**20
"""A larger file was not written by us and is ignored."""

_FORMAT = 1

_Folders = dict[str, dict[str, str]]
"""The real path of a folder, then the name of a part, to the digest of the permissions that were granted."""


def record_path() -> Path:
    """The path of the record; the file may not exist. On Linux it follows `XDG_CONFIG_HOME`."""
    return own_folder() / "trusted.json"


def trust_in(folder: Path) -> FolderTrust:
    """The permissions that were granted to a folder. A record that is damaged, or writable by others, is ignored."""
    real = folder.resolve()
    if _brings_the_record(real):
        return FolderTrust(real)
    return FolderTrust(real, _read().get(str(real), {}))


def agree(folder: Path, permissions: Iterable[Permission]) -> None:
    """Grant these permissions to a folder. They must be all permissions of their parts; other parts do not change.

    Raises:
        InvalidRequest: the record cannot be written, or it would be inside that folder.
    """
    real = folder.resolve()
    if _brings_the_record(real):
        raise InvalidRequest(
            f"{real} cannot be trusted as a folder.",
            why=f"The record of what you agreed to, {record_path()}, would lie in it, and could have come with it.",
            hint="Set what you want of it yourself, with %config Autocode.… or AUTOCODE_… variables.",
        )
    with _changed() as folders:
        folders[str(real)] = {**folders.get(str(real), {}), **digests(permissions)}


def withdraw(folder: Path) -> bool:
    """Withdraw all permissions of a folder. Returns whether there were any.

    Raises:
        InvalidRequest: the record cannot be written.
    """
    real = str(folder.resolve())
    if real not in _read():
        return False
    with _changed() as folders:
        return folders.pop(real, None) is not None


def _brings_the_record(folder: Path) -> bool:
    """Whether the record would be inside the folder, for example if a repository was cloned as the home directory."""
    return record_path().resolve().is_relative_to(folder)


def _read() -> _Folders:
    try:
        descriptor = os.open(record_path(), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not is_ones_own(os.fstat(descriptor)):
                return {}
            content = file.read(FILE_BYTES + 1)
        return _checked(json.loads(content)) if len(content) <= FILE_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}


def _checked(record: object) -> _Folders:
    folders = record.get("folders") if isinstance(record, Mapping) and record.get("format") == _FORMAT else None
    if not isinstance(folders, Mapping):
        return {}
    return {
        folder: {part: digest for part, digest in agreed.items() if isinstance(digest, str)}
        for folder, agreed in folders.items()
        if isinstance(agreed, Mapping)
    }


@contextlib.contextmanager
def _changed() -> Iterator[_Folders]:
    """The record, open for changes; it is written atomically at the end. A file lock serializes kernels."""
    from filelock import FileLock

    path = record_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            folders = _read()
            yield folders
            record = {"format": _FORMAT, "folders": folders}
            write_own(path, json.dumps(record, indent=1, sort_keys=True).encode())
    except OSError as error:
        raise InvalidRequest(
            f"The record of trusted folders cannot be written to {path}.", why=f"{error.strerror or error}."
        ) from None
