"""Values in a frame, in both directions: the entries of the header, and the bytes of the values one after the other.

Host and worker import this module, and the codec has another name in each. So values are encoded before they are packed
here, and decoded after they are unpacked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .frames import padded


@dataclass
class Packed:
    """The entries of a header, and the bytes of their values.

    Args:
        entries: for each value its `name`, `type`, `header` and `size`. A value without a header is None.
        pieces: the bytes of the values; each value is padded.
        size: number of bytes in all pieces.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    pieces: list[Any] = field(default_factory=list)
    size: int = 0

    def add(self, name: str, kind: str, encoded: Any) -> None:
        """Append a value."""
        entry: dict[str, Any] = {"name": name, "type": kind, "header": None, "size": 0}
        if encoded is not None:
            room = padded(encoded.size)
            entry.update(header=encoded.header, size=encoded.size)
            self.pieces += [*encoded.buffers, bytes(room - encoded.size)]
            self.size += room
        self.entries.append(entry)


class OutOfBounds(ValueError):
    """An entry describes bytes outside of the payload. The text is the name of the value."""


def unpacked(
    entries: Iterable[Mapping[str, Any]], payload: memoryview
) -> Iterator[tuple[Mapping[str, Any], memoryview]]:
    """Iterate over the entries, each with its bytes."""
    position = 0
    for entry in entries:
        size = entry.get("size")
        if type(size) is not int or not 0 <= size <= len(payload) - position:
            raise OutOfBounds(repr(entry.get("name")))
        yield entry, payload[position : position + size]
        position += padded(size)
