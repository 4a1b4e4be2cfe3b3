"""The envelope of a request: the program, the number of bytes, and flags. The zygote reads only this part.

An envelope can also bring a link: one end of a pair of sockets. The next child gets it, and exchanges its bytes with
the host over it. Without links they go over the streams of the zygote.
"""

from __future__ import annotations

import os
import socket
import struct
from collections import deque

_LAYOUT = struct.Struct(">QB32s")
_AGAIN, _KEEP, _LINK = 1, 2, 4


def pack(size: int, program: bytes, *, again: bool, keep: bool) -> bytes:
    """The bytes of an envelope.

    Args:
        size: number of bytes of the request after it; 0 asks whether the worker can take requests.
        program: 32 bytes that identify the program.
        again: send the request to the kept child, if that runs the same program, even if it has ended: it may have
            read the request before, which comes over its link at the same time.
        keep: keep the child after its answer. With size 0: do not end the kept child.
    """
    return _LAYOUT.pack(size, _AGAIN * again | _KEEP * keep, program)


PING = pack(0, bytes(32), again=False, keep=True)
"""Asks whether the worker can take requests."""


def pack_link(name: bytes) -> bytes:
    """The bytes of an envelope that brings a link, as the descriptor that is sent with it. It has no answer.

    Args:
        name: 32 random bytes. The report that a child has taken a request has the name of its link. A program can read
            it, so it must not say how many children there were.
    """
    return _LAYOUT.pack(0, _LINK, name)


DISMISS = pack(0, bytes(32), again=False, keep=False)
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
        """Read the next envelope from a blocking descriptor. False at the end of the stream.

        Args:
            fd: the descriptor.
            linked: whether envelopes may bring links. The descriptor is then a socket. Descriptor and name of each
                link are added to `links`.
        """
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
    def program(self) -> bytes:
        """The digest that identifies the program."""
        return bytes(_LAYOUT.unpack_from(self._content)[2])
