"""The permissions that a folder asks for, and the user's own record of those that were granted."""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import json
import os
import re
import socket
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from autocoder_jupyter.errors import InvalidRequest

# Permissions


@dataclass(frozen=True)
class Permission:
    """One permission that a folder asks for. It is not used before the user grants it.

    Args:
        part: the part of the folder that asks, such as `settings`, `package index` or `lock of growth`. A part is
            granted as a whole, because two harmless permissions can be harmful together: a key, and the address to
            which it is sent.
        name: the name of the setting, such as `api_base`.
        value: its value as it is shown. The text is not trusted: pass it through `visible` before it is displayed.
        why: the effect of granting it, in plain words.
        hidden: the part of the value that is not shown, because it may be a key. It is part of the comparison, and
            is never shown or stored.
    """

    part: str
    name: str
    value: str
    why: str
    hidden: str = field(default="", repr=False)


@dataclass(frozen=True)
class FolderTrust:
    """The permissions that were granted to one folder, at one moment.

    Args:
        agreed: by part, the digest of the permissions that were granted.
    """

    folder: Path
    agreed: Mapping[str, str] = field(default_factory=dict)

    def covers(self, permissions: Iterable[Permission]) -> bool:
        """Whether exactly these permissions were granted; True if there are none."""
        return all(self.agreed.get(part) == digest for part, digest in digests(permissions).items())


def digests(permissions: Iterable[Permission]) -> dict[str, str]:
    """By part, the SHA-256 of its permissions in hex. Their order and their explanations (`why`) do not matter."""
    parts: dict[str, list[tuple[str, str, str]]] = {}
    for permission in permissions:
        parts.setdefault(permission.part, []).append((permission.name, permission.value, permission.hidden))
    return {
        part: hashlib.sha256(json.dumps(sorted(set(contents)), ensure_ascii=True).encode()).hexdigest()
        for part, contents in parts.items()
    }


# The machine that an address leads to, as text for the question to the user

_NAME = re.compile(r"[a-z0-9._:-]+")


def machine_of(address: str) -> str:
    """The host of an address: `the machine api.example.com`, or `an address that cannot be read`.

    An address can hide its host behind a user name, in letters of other scripts, or in a number: `http://2130706433` is
    127.0.0.1. HTTP clients read blanks, control characters and percent signs in a host in different ways.
    """
    try:
        host = urlsplit(address).hostname or ""
        name = host.encode("idna").decode("ascii")
        is_clear = host in (name, name.encode("ascii").decode("idna"))  # clients convert other letters differently
    except ValueError:
        is_clear = False
    if not is_clear or not address.isprintable() or " " in address or not _NAME.fullmatch(name):
        return "an address that cannot be read"
    return f"the machine {_without_disguise(name)}"


def _without_disguise(host: str) -> str:
    """A number as the address that it means; a name as it is."""
    with contextlib.suppress(OSError):
        return socket.inet_ntoa(socket.inet_aton(host))
    with contextlib.suppress(ValueError):
        number = ipaddress.ip_address(host)
        return str(getattr(number, "ipv4_mapped", None) or number)
    return host


# The user's own files, which no folder can supply: in the user's configuration, writable only by that user


def own_folder() -> Path:
    """The folder of these files; it may not exist. On Linux it follows `XDG_CONFIG_HOME`."""
    import platformdirs

    return platformdirs.user_config_path("autocoder-jupyter")


def is_ones_own(status: os.stat_result, others: int = stat.S_IWGRP | stat.S_IWOTH) -> bool:
    """Whether it is a regular file of this user."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & others)


def write_own(path: Path, content: bytes) -> None:
    """Write a file in one atomic step, for this user only."""
    descriptor, staged = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(staged).replace(path)
    except BaseException:
        Path(staged).unlink(missing_ok=True)
        raise


# The record of granted permissions: one small JSON file among these

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
    if _contains_the_record(real):
        return FolderTrust(real)
    return FolderTrust(real, _read().get(str(real), {}))


def agree(folder: Path, permissions: Iterable[Permission]) -> None:
    """Grant these permissions to a folder. They must be all permissions of their parts; other parts do not change.

    Raises:
        InvalidRequest: the record cannot be written, or it would be inside that folder.
    """
    real = folder.resolve()
    if _contains_the_record(real):
        raise InvalidRequest(
            f"{real} cannot be trusted as a folder.",
            why=f"The record of what you agreed to, {record_path()}, is in this folder, which could have supplied it.",
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


def _contains_the_record(folder: Path) -> bool:
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
