"""The envelope of a request, which is all that the zygote reads of it: the program, the number of bytes, and flags."""

from __future__ import annotations

import os
import struct

_LAYOUT = struct.Struct(">QB32s")
_AGAIN, _KEEP = 1, 2


def pack(size: int, program: bytes, *, again: bool, keep: bool) -> bytes:
    """An envelope as it goes over the wire.

    Args:
        size: bytes of the request behind it; 0 asks whether the worker is in order.
        program: 32 bytes that name what runs.
        again: the request is for the child that was kept, if that runs the same.
        keep: the child stays when it has answered. With nothing behind it: the one that was kept stays.
    """
    return _LAYOUT.pack(size, _AGAIN * again | _KEEP * keep, program)


PING = pack(0, bytes(32), again=False, keep=True)
"""Asks whether the worker is in order."""

DISMISS = pack(0, bytes(32), again=False, keep=False)
"""Ends the child that was kept, and asks whether the worker is in order."""


class Envelope:
    """The envelope of the present request, in one place that is written over.

    Forked children inherit the place. `forget` leaves nothing there that would tell why they are called, or what was
    called before.
    """

    def __init__(self) -> None:
        self._content = bytearray(_LAYOUT.size)
        self.taken = False

    def take(self, fd: int) -> bool:
        """Read the next one from a blocking descriptor; False when the stream has ended."""
        filled = 0
        while filled < _LAYOUT.size:
            count = os.readv(fd, [memoryview(self._content)[filled:]])
            if not count:
                return False
            filled += count
        self.taken = True
        return True

    def forget(self) -> None:
        """Be empty again."""
        self._content[:] = bytes(_LAYOUT.size)
        self.taken = False

    @property
    def size(self) -> int:
        """Bytes of the request behind it."""
        return int(_LAYOUT.unpack_from(self._content)[0])

    @property
    def empty(self) -> bool:
        """Whether there is no request behind it: it only asks whether the worker is in order."""
        return self.size == 0

    @property
    def again(self) -> bool:
        """Whether it is for the child that was kept."""
        return bool(_LAYOUT.unpack_from(self._content)[1] & _AGAIN)

    @property
    def keep(self) -> bool:
        """Whether the child stays."""
        return bool(_LAYOUT.unpack_from(self._content)[1] & _KEEP)

    @property
    def program(self) -> bytes:
        """Names what runs."""
        return bytes(_LAYOUT.unpack_from(self._content)[2])
