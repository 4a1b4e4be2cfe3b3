"""The envelope of a request: the program, the number of bytes, and flags. The zygote reads only this part."""

from __future__ import annotations

import os
import struct

_LAYOUT = struct.Struct(">QB32s")
_AGAIN, _KEEP = 1, 2


def pack(size: int, program: bytes, *, again: bool, keep: bool) -> bytes:
    """The bytes of an envelope.

    Args:
        size: number of bytes of the request after it; 0 asks whether the worker can take requests.
        program: 32 bytes that identify the program.
        again: send the request to the kept child, if that runs the same program.
        keep: keep the child after its answer. With size 0: do not end the kept child.
    """
    return _LAYOUT.pack(size, _AGAIN * again | _KEEP * keep, program)


PING = pack(0, bytes(32), again=False, keep=True)
"""Asks whether the worker can take requests."""

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

    def take(self, fd: int) -> bool:
        """Read the next envelope from a blocking descriptor. False at the end of the stream."""
        filled = 0
        while filled < _LAYOUT.size:
            count = os.readv(fd, [memoryview(self._content)[filled:]])
            if not count:
                return False
            filled += count
        self.taken = True
        return True

    def forget(self) -> None:
        """Clear the buffer."""
        self._content[:] = bytes(_LAYOUT.size)
        self.taken = False

    @property
    def size(self) -> int:
        """Number of bytes of the request after the envelope."""
        return int(_LAYOUT.unpack_from(self._content)[0])

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
