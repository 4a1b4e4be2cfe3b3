"""The record of what a person agreed to: one small JSON file in their own configuration, for no one else to write."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.trust.wishes import FolderTrust, Wish, digests

FILE_BYTES = 4 * 2**20
"""A larger record is not ours."""

_FORMAT = 1

_Folders = dict[str, dict[str, str]]
"""By the real path of a folder, what was agreed to: by part, the digest of its wishes."""


def record_path() -> Path:
    """Where the record is, there or not. It follows `XDG_CONFIG_HOME` where the system does."""
    import platformdirs

    return platformdirs.user_config_path("autocoder-jupyter") / "trusted.json"


def trust_in(folder: Path) -> FolderTrust:
    """What the person agreed to in a folder. A record that is damaged, or that others can write, says nothing."""
    real = folder.resolve()
    if _brings_the_record(real):
        return FolderTrust(real)
    return FolderTrust(real, _read().get(str(real), {}))


def agree(folder: Path, wishes: Iterable[Wish]) -> None:
    """Note that the person agrees to these wishes of a folder, all of their parts. Other parts stay as they are.

    Raises:
        InvalidRequest: the record cannot be written, or would lie in that folder.
    """
    real = folder.resolve()
    if _brings_the_record(real):
        raise InvalidRequest(
            f"{real} cannot be trusted as a folder.",
            why=f"The record of what you agreed to, {record_path()}, would lie in it, and could have come with it.",
            hint="Set what you want of it yourself, with %config Autocode.… or AUTOCODE_… variables.",
        )
    with _changed() as folders:
        folders[str(real)] = {**folders.get(str(real), {}), **digests(wishes)}


def withdraw(folder: Path) -> bool:
    """Forget what the person agreed to in a folder; whether there was anything.

    Raises:
        InvalidRequest: the record cannot be written.
    """
    real = str(folder.resolve())
    if real not in _read():
        return False
    with _changed() as folders:
        return folders.pop(real, None) is not None


def _brings_the_record(folder: Path) -> bool:
    """Whether the record would lie in the folder itself, as where a cloned repository is the home of its reader."""
    return record_path().resolve().is_relative_to(folder)


def _read() -> _Folders:
    try:
        descriptor = os.open(record_path(), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not _is_ones_own(os.fstat(descriptor)):
                return {}
            content = file.read(FILE_BYTES + 1)
        return _checked(json.loads(content)) if len(content) <= FILE_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}


def _is_ones_own(status: os.stat_result) -> bool:
    """Whether it is a plain file that nobody else can write."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


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
    """The record, to be changed; written in one step at the end. Two kernels take turns."""
    from filelock import FileLock

    path = record_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            folders = _read()
            yield folders
            _write(path, folders)
    except OSError as error:
        raise InvalidRequest(
            f"The record of trusted folders cannot be written to {path}.", why=f"{error.strerror or error}."
        ) from None


def _write(path: Path, folders: _Folders) -> None:
    descriptor, staged = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"format": _FORMAT, "folders": folders}, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(descriptor)
        Path(staged).replace(path)
    except BaseException:
        Path(staged).unlink(missing_ok=True)
        raise
