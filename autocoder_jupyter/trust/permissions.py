"""The permissions that a folder asks for, and a check that they were granted. No file is read here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


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
        folder: its real path.
        agreed: by part, the digest of the permissions that were granted.
    """

    folder: Path
    agreed: Mapping[str, str] = field(default_factory=dict)

    def covers(self, permissions: Iterable[Permission]) -> bool:
        """Whether exactly these permissions were granted; True if there are none.

        Args:
            permissions: all permissions of one or several parts. A subset of a part has another digest, so it was
                not granted.
        """
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
