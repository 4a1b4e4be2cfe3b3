"""What host and worker send each other: frames, the envelopes of requests, and large answers in place.

A frame is four bytes of length (big-endian), a JSON header, then `header["payload"]` raw bytes.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import mmap
import os
import socket
import struct
import weakref
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

# Frames

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
    """Read the next frame (header, payload) from a blocking descriptor; None at the end of the stream."""
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
    """Read `size` raw bytes into a new buffer."""
    room = allocate(size)
    position = 0
    while position < size:
        count = os.readv(fd, [room[position:]])
        if not count:
            raise EOFError
        position += count
    return room


def allocate(size: int) -> memoryview:
    """A writable buffer of `size` bytes with any content."""
    return memoryview(bytearray(size)) if size < _LARGE else _large_buffer(size)


def write_all(fd: int, pieces: Iterable[Any]) -> None:
    """Write bytes-like pieces one after the other to a blocking descriptor."""
    left = views(pieces)
    while left:
        write_some(fd, left)


def views(pieces: Iterable[Any]) -> deque[memoryview]:
    """The bytes of pieces that are not empty."""
    return deque(view for view in (memoryview(piece).cast("B") for piece in pieces) if view.nbytes)


def write_some(fd: int, left: deque[memoryview]) -> None:
    """Write as many bytes as a descriptor takes in one call, and remove them: each call may wake the reader."""
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


# Large buffers
#
# The kernel clears memory before it gives it to a process, which takes nearly as long as to fill it: 7 ms of 80 MB. So
# the memory of a buffer that is no longer used is kept for the next buffer of about this size. Meanwhile the kernel
# may take it back when it needs memory.

MOST_KEPT = 256 << 20
"""Most bytes of all memory that is kept."""

_kept: list[mmap.mmap] = []  # the garbage collector adds to it at any time, so nothing may need a lock


def _large_buffer(size: int) -> memoryview:
    """A writable buffer of `size` bytes with any content. Its memory is kept when the last view of it is gone.

    New memory is used only for pages that are written. It requests huge pages, because page faults take most of the
    time of a transfer.
    """
    import numpy as np  # the host imports it with the first table

    pages = _reused(size)
    if pages is None:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel without huge pages
                pages.madvise(mmap.MADV_HUGEPAGE)
    room = np.frombuffer(pages, np.uint8, size)
    weakref.finalize(room, _keep, pages).atexit = False
    return room.data


def _reused(size: int) -> mmap.mmap | None:
    """Kept memory that is large enough and not twice as large. If there is none, what is kept is given back."""
    for pages in list(_kept):
        if size <= len(pages) <= 2 * size:
            with contextlib.suppress(ValueError):  # another thread has just taken it
                _kept.remove(pages)
                return pages
    _kept.clear()
    return None


def give_back_buffers() -> None:
    """Return the memory of buffers that is kept for the next ones to the system."""
    _kept.clear()


def _keep(pages: mmap.mmap) -> None:
    if not hasattr(mmap, "MADV_FREE") or sum(map(len, [*_kept, pages])) > MOST_KEPT:
        return
    with contextlib.suppress(OSError):  # a kernel that cannot take it back while it is kept
        pages.madvise(mmap.MADV_FREE)
        _kept.append(pages)


# Envelopes
#
# An envelope precedes a request: the program, the number of bytes, flags, and the limit of processor time. The zygote
# reads only this part. An envelope can also bring a link: one end of a pair of sockets. The next child gets it, and
# exchanges its bytes with the host over it. Without links they go over the streams of the zygote.

_LAYOUT = struct.Struct(">QBI32s")
_AGAIN, _KEEP, _LINK = 1, 2, 4
_MOST_MILLISECONDS = 2**32 - 1


def pack_envelope(
    size: int, program: bytes, *, again: bool, keep: bool, processor_seconds: float | None = None
) -> bytes:
    milliseconds = 0 if processor_seconds is None else min(max(int(processor_seconds * 1000), 1), _MOST_MILLISECONDS)
    return _LAYOUT.pack(size, _AGAIN * again | _KEEP * keep, milliseconds, program)


def pack_link(name: bytes) -> bytes:
    """The bytes of an envelope that brings a link, as the descriptor that is sent with it. It has no answer."""
    return _LAYOUT.pack(0, _LINK, 0, name)


PING = pack_envelope(0, bytes(32), again=False, keep=True)
"""Asks whether the worker can take requests."""


DISMISS = pack_envelope(0, bytes(32), again=False, keep=False)
"""Ends the kept child, and asks whether the worker can take requests."""


class Envelope:
    """The envelope of the current request, in one buffer that is overwritten.

    Forked children inherit the buffer. `forget` clears it, so that a program cannot learn from it why it is called, or
    what was called before.
    """

    def __init__(self) -> None:
        self._content = bytearray(_LAYOUT.size)
        self.taken = False
        self._received: list[int] = []
        self.links: deque[tuple[int, str]] = deque()

    def take(self, fd: int, *, linked: bool) -> bool:
        """Read the next envelope from a blocking descriptor. False at the end of the stream."""
        filled = 0
        while filled < _LAYOUT.size:
            room = memoryview(self._content)[filled:]
            count = self._receive(fd, room) if linked else os.readv(fd, [room])
            if not count:
                return False
            filled += count
        self.taken = True
        for link in self._received:
            self.links.append((link, self.program.hex()))
        self._received.clear()
        return True

    def _receive(self, fd: int, room: memoryview) -> int:
        link = socket.socket(fileno=fd)
        try:
            count, messages, _, _ = link.recvmsg_into([room], socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
        finally:
            link.detach()
        for level, kind, data in messages:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self._received += struct.unpack(f"{len(data) // 4}i", data)
        return count

    def forget(self) -> None:
        """Clear the buffer."""
        self._content[:] = bytes(_LAYOUT.size)
        self.taken = False

    @property
    def size(self) -> int:
        """Number of bytes of the request after the envelope."""
        return int(_LAYOUT.unpack_from(self._content)[0])

    @property
    def only_brings_link(self) -> bool:
        """Whether the envelope has been processed when it is read, and has no answer."""
        return bool(_LAYOUT.unpack_from(self._content)[1] & _LINK)

    @property
    def empty(self) -> bool:
        """Whether no request follows. Then it only asks whether the worker can take requests."""
        return self.size == 0

    @property
    def again(self) -> bool:
        """Whether the request is for the kept child."""
        return bool(_LAYOUT.unpack_from(self._content)[1] & _AGAIN)

    @property
    def keep(self) -> bool:
        """Whether the child is kept."""
        return bool(_LAYOUT.unpack_from(self._content)[1] & _KEEP)

    @property
    def processor_seconds(self) -> float | None:
        """The limit of processor time; None if there is none."""
        milliseconds = int(_LAYOUT.unpack_from(self._content)[2])
        return milliseconds / 1000 if milliseconds else None

    @property
    def program(self) -> bytes:
        """The digest that identifies the program."""
        return bytes(_LAYOUT.unpack_from(self._content)[3])


# Large answers in place
#
# The host copies the answer from the memory of this process, so the bytes are copied once and not twice. It finds the
# process by what the kernel says of the sender, and knows it by the name of its link, which it reads first. If it may
# not read the memory, it asks for the bytes.

LEAST_IN_PLACE = 1 << 20
"""Bytes from which an answer is offered. A smaller one is sent faster."""

MOST_PLACES = 1024
"""Most pieces of one answer: as many as one system call reads."""

READ, SEND = {"kind": "read", "payload": 0}, {"kind": "send", "payload": 0}
"""The replies of the host: it has copied the answer, or it must be sent."""

_name = b""


def keep_name(name: bytes) -> None:
    """Keep the name of the link of this process in its memory, where the host will look for it."""
    global _name
    _name = name


def handed_over(link: int, pieces: Iterable[Any]) -> bool:
    """Offer the pieces of an answer to the host, and wait until it has copied them."""
    parts = views(pieces)
    if sum(part.nbytes for part in parts) < LEAST_IN_PLACE or len(parts) >= MOST_PLACES:
        return False
    places = [[_address(part), part.nbytes] for part in (memoryview(_name), *parts)]
    write_all(link, [pack({"kind": "in place", "places": places, "payload": 0})])
    reply = read(link)
    if reply is None:
        os._exit(0)
    return bool(reply[0]["kind"] == READ["kind"])


def _address(part: memoryview) -> int:
    import numpy as np  # the host, which imports this module for its constants, may have no use for it

    return int(np.frombuffer(part, np.uint8).__array_interface__["data"][0])  # `.ctypes` would import that first
