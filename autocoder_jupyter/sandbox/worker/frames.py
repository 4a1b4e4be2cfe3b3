"""Frames of a stream: four bytes of length (big-endian), a JSON header, then `header["payload"]` raw bytes."""

from __future__ import annotations

import itertools
import json
import os
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from . import pages

_LARGE = 1 << 20
_PIECES = 64
_ALIGNMENT = 64


def pack(header: Mapping[str, Any]) -> bytes:
    """The bytes of a header, with its length in front."""
    body = json.dumps(header, separators=(",", ":")).encode()
    return len(body).to_bytes(4, "big") + body


def padded(size: int) -> int:
    """The bytes that a value of `size` bytes takes in a payload. The next value then starts at a multiple of 64."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def read_header(fd: int) -> bytes | None:
    """Read the bytes of the next header from a blocking descriptor; None at the end of the stream."""
    length = _read_exactly(fd, 4)
    return None if length is None else _read_exactly(fd, int.from_bytes(length, "big"))


def read(fd: int) -> tuple[dict[str, Any], memoryview] | None:
    """Read the next frame (header, payload) from a blocking descriptor; None at the end of the stream.

    Raises:
        EOFError: the stream ended inside the payload.
    """
    raw = read_header(fd)
    if raw is None:
        return None
    header = json.loads(raw)
    return header, read_payload(fd, header["payload"])


def parse(frame: bytes) -> tuple[dict[str, Any], memoryview]:
    """Parse a frame in memory. The payload is a copy."""
    start = 4 + int.from_bytes(frame[:4], "big")
    header: dict[str, Any] = json.loads(frame[4:start])
    return header, memoryview(bytearray(frame[start:]))


def read_payload(fd: int, size: int) -> memoryview:
    """Read `size` raw bytes into a new buffer.

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
    """A writable buffer of `size` bytes with any content."""
    return memoryview(bytearray(size)) if size < _LARGE else pages.buffer(size)


def write_all(fd: int, pieces: Iterable[Any]) -> None:
    """Write bytes-like pieces one after the other to a blocking descriptor."""
    left = views(pieces)
    while left:
        write_some(fd, left)


def views(pieces: Iterable[Any]) -> deque[memoryview]:
    """The bytes of pieces that are not empty."""
    return deque(view for view in (memoryview(piece).cast("B") for piece in pieces) if view.nbytes)


def write_some(fd: int, left: deque[memoryview]) -> None:
    """Write as many bytes as a descriptor takes in one call, and remove them: each call may wake the reader.

    Raises:
        OSError: nothing can be written, or not now.
    """
    count = os.writev(fd, list(itertools.islice(left, _PIECES)))
    while count:
        piece = left.popleft()
        if count < piece.nbytes:
            left.appendleft(piece[count:])
            return
        count -= piece.nbytes


def _read_exactly(fd: int, size: int) -> bytes | None:
    parts = []
    while size:
        part = os.read(fd, min(size, _LARGE))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
