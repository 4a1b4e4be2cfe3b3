"""The permissions that a folder asks for, and the user's own record of those that were granted."""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import json
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.trust.own_files import OwnRecord, own_folder

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


# The record of granted permissions, among the user's own files

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
        InvalidRequest: the record cannot be written, would be inside that folder, or is of a later version.
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
        InvalidRequest: the record cannot be written, or a later version of this package wrote it.
    """
    real = str(folder.resolve())
    _own_record().require_known()
    if real not in _read():
        return False
    with _changed() as folders:
        return folders.pop(real, None) is not None


def _contains_the_record(folder: Path) -> bool:
    """Whether the record would be inside the folder, for example if a repository was cloned as the home directory."""
    return record_path().resolve().is_relative_to(folder)


def _own_record() -> OwnRecord:
    return OwnRecord(record_path(), _FORMAT, "The record of trusted folders")


def _read() -> _Folders:
    return _checked(_own_record().read())


def _checked(record: Mapping[str, Any]) -> _Folders:
    folders = record.get("folders")
    if not isinstance(folders, Mapping):
        return {}
    return {
        folder: {part: digest for part, digest in agreed.items() if isinstance(digest, str)}
        for folder, agreed in folders.items()
        if isinstance(agreed, Mapping)
    }


@contextlib.contextmanager
def _changed() -> Iterator[_Folders]:
    """The record, open for changes; see `OwnRecord.changed`."""
    with _own_record().changed() as record:
        folders = _checked(record)
        yield folders
        record["folders"] = folders
