"""The frames of every stream: four bytes of length (big-endian), a JSON header, then `header["payload"]` raw bytes."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
from collections.abc import Iterable, Mapping
from typing import Any

_LARGE = 1 << 20
_ALIGNMENT = 64


def pack(header: Mapping[str, Any]) -> bytes:
    """A header as it goes over the wire, its length in front."""
    body = json.dumps(header, separators=(",", ":")).encode()
    return len(body).to_bytes(4, "big") + body


def padded(size: int) -> int:
    """The room that a value of `size` bytes takes in a payload: the next one starts where numbers may start."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def read_header(fd: int) -> bytes | None:
    """The next header's bytes from a blocking descriptor; None when the stream has ended."""
    length = _read_exactly(fd, 4)
    return None if length is None else _read_exactly(fd, int.from_bytes(length, "big"))


def read(fd: int) -> tuple[dict[str, Any], memoryview] | None:
    """The next frame from a blocking descriptor; None when the stream has ended.

    Raises:
        EOFError: it ended in the middle of the payload.
    """
    raw = read_header(fd)
    if raw is None:
        return None
    header = json.loads(raw)
    return header, read_payload(fd, header["payload"])


def parse(frame: bytes) -> tuple[dict[str, Any], memoryview]:
    """A frame that lies in memory; its payload is a private copy."""
    start = 4 + int.from_bytes(frame[:4], "big")
    header: dict[str, Any] = json.loads(frame[4:start])
    return header, memoryview(bytearray(frame[start:]))


def read_payload(fd: int, size: int) -> memoryview:
    """`size` raw bytes in one private buffer.

    Raises:
        EOFError: the stream ended before.
    """
    buffer = allocate(size)
    position = 0
    while position < size:
        count = os.readv(fd, [buffer[position:]])
        if not count:
            raise EOFError
        position += count
    return buffer


def allocate(size: int) -> memoryview:
    """A writable buffer of `size` bytes whose pages are touched only when written.

    Large ones ask for huge pages: what a transfer costs is page faults, not bandwidth.
    """
    if size < _LARGE:
        return memoryview(bytearray(size))
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without huge pages
            pages.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(pages)


def write_all(fd: int, pieces: Iterable[Any]) -> None:
    """Write bytes-like pieces one after the other to a blocking descriptor."""
    for piece in pieces:
        view = memoryview(piece).cast("B")
        while view:
            view = view[os.write(fd, view) :]


def _read_exactly(fd: int, size: int) -> bytes | None:
    parts = []
    while size:
        part = os.read(fd, min(size, _LARGE))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
