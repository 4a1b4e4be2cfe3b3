"""What a folder asks for, and whether that is what a person agreed to. Plain values: no file is read here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Wish:
    """One thing that a folder asks for, and that waits for a person's yes.

    Args:
        part: which part of the folder asks, such as `settings`, `package index` or `lock of growth`. A person agrees
            to a part as a whole, because two harmless wishes can be one harmful one: a key, and the address that it
            goes to.
        name: what is asked for, such as `api_base`.
        value: what it is to be, as it is shown. Text of others: whoever shows it makes it visible.
        why: what it means to say yes, in plain words.
        hidden: what `value` does not show, because it may be a key. It counts when wishes are compared, and is never
            shown or stored.
    """

    part: str
    name: str
    value: str
    why: str
    hidden: str = field(default="", repr=False)


@dataclass(frozen=True)
class FolderTrust:
    """What a person agreed to in one folder, at one moment; handed down as data.

    Args:
        folder: its real path.
        agreed: by part, the digest of the wishes that were agreed to.
    """

    folder: Path
    agreed: Mapping[str, str] = field(default_factory=dict)

    def covers(self, wishes: Iterable[Wish]) -> bool:
        """Whether the person agreed to exactly these wishes; True when there are none.

        Args:
            wishes: all of a part, or of several parts. Half of a part is another part, and was not agreed to.
        """
        return all(self.agreed.get(part) == digest for part, digest in digests(wishes).items())


def digests(wishes: Iterable[Wish]) -> dict[str, str]:
    """By part, the SHA-256, in hex, of its wishes. Their order does not matter, nor how they are explained."""
    parts: dict[str, list[tuple[str, str, str]]] = {}
    for wish in wishes:
        parts.setdefault(wish.part, []).append((wish.name, wish.value, wish.hidden))
    return {
        part: hashlib.sha256(json.dumps(sorted(set(contents)), ensure_ascii=True).encode()).hexdigest()
        for part, contents in parts.items()
    }
