"""Values by name as they travel, both ways: the entries of a header, and the bytes they describe, one behind the other.

Both sides import it, so it knows nothing of the codec: who packs encodes, who unpacks decodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .frames import padded


@dataclass
class Packed:
    """Entries, with the bytes of their values in pieces.

    Args:
        entries: of each value its `name`, `type`, `header` and `size`; without a header it is None.
        pieces: the bytes, each value's padded.
        size: bytes of all pieces.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    pieces: list[Any] = field(default_factory=list)
    size: int = 0

    def add(self, name: str, kind: str, encoded: Any) -> None:
        """Put a value behind the others.

        Args:
            name: of the value.
            kind: its declared type.
            encoded: what the codec made of it; None for None.
        """
        entry: dict[str, Any] = {"name": name, "type": kind, "header": None, "size": 0}
        if encoded is not None:
            room = padded(encoded.size)
            entry.update(header=encoded.header, size=encoded.size)
            self.pieces += [*encoded.buffers, bytes(room - encoded.size)]
            self.size += room
        self.entries.append(entry)


class OutOfBounds(ValueError):
    """An entry describes bytes that are not there."""


def unpacked(
    entries: Iterable[Mapping[str, Any]], payload: memoryview
) -> Iterator[tuple[Mapping[str, Any], memoryview]]:
    """Each entry with its bytes.

    Raises:
        OutOfBounds: its name; the entries may come from a program.
    """
    position = 0
    for entry in entries:
        size = entry.get("size")
        if type(size) is not int or not 0 <= size <= len(payload) - position:
            raise OutOfBounds(repr(entry.get("name")))
        yield entry, payload[position : position + size]
        position += padded(size)
