"""Copy a large answer from the memory of the child that made it; the other side is `worker.in_place`.

Memory that both sides share would have to be cleared for the next child, could be changed while it is checked, and
would be kept. Here nothing is shared: the kernel copies once into private memory, and that copy is checked. What the
child changes meanwhile or later is at most another answer of its own.

The child says where its answer lies, and is not believed: the kernel names the process that has sent the offer, the
first place must hold the name of the link, and no byte counts that was read after this process had ended, because
another one could have its number by then. So nothing is read but what the child could have sent.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import select
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from autocoder_jupyter.sandbox.worker.in_place import MOST_PLACES

STEP = 16 << 20
"""Most bytes of one system call. It cannot be interrupted, and the time limit is checked after it."""

_TO_DIE_MILLISECONDS = 1000
_ADDRESSES = 1 << 63


class ChildEnded(Exception):
    """The process has ended."""


class BadOffer(Exception):
    """The memory that was named is not there."""


class _Piece(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("size", ctypes.c_size_t))


class AnswerInPlace:
    """The bytes of an answer in the memory of another process, read from the first to the last.

    Args:
        pid: of the process.
        name: of its link.
        places: from its offer: pairs of address and size. They are not trusted. The first one holds the name.
        limit: most bytes of all places.

    Raises:
        OSError: this process may not read it.
        ChildEnded: the process has ended.
        BadOffer: the places are none, too many or too large, or the name is another.
    """

    def __init__(self, pid: int, name: bytes, places: Any, limit: int) -> None:
        self._pid = pid
        self._places = _checked(places, limit + len(name))
        self._process = os.pidfd_open(pid)
        try:
            held = memoryview(bytearray(len(name)))
            if self._places[0][1] != len(name) or self._copied(held) != len(name) or held != name:
                raise BadOffer("an offer of another process")
        except BaseException:
            self.close()
            raise

    @property
    def left(self) -> bool:
        """Whether there are unread bytes."""
        return bool(self._places)

    def read(self, room: memoryview) -> int:
        """Copy the next bytes into `room`, at most `STEP`. Returns their number; 0 if there are none.

        Raises:
            ChildEnded: the process has ended.
            BadOffer: a place is not in its memory.
        """
        try:
            return self._copied(room[:STEP])
        except OSError:
            raise BadOffer("memory that cannot be read") from None

    def close(self) -> None:
        """Forget the process."""
        if self._process >= 0:
            os.close(self._process)
            self._process = -1

    def _copied(self, room: memoryview) -> int:
        wanted, pieces = 0, []
        while self._places and wanted < len(room):
            start, size = self._places.popleft()
            part = min(size, len(room) - wanted)
            pieces.append(_Piece(start, part))
            wanted += part
            if part < size:
                self._places.appendleft((start + part, size - part))
        if not wanted:
            return 0
        target = (ctypes.c_char * wanted).from_buffer(room)
        ours = _Piece(ctypes.addressof(target), wanted)
        copied = _reader()(self._pid, ctypes.byref(ours), 1, (_Piece * len(pieces))(*pieces), len(pieces), 0)
        number = ctypes.get_errno()
        # The memory of a process that is killed is gone shortly before the process has ended.
        about_to_end = copied != wanted and (copied >= 0 or number in (errno.ESRCH, errno.EFAULT))
        if self._has_ended(_TO_DIE_MILLISECONDS if about_to_end else 0):
            raise ChildEnded
        if copied < 0:
            raise OSError(number, os.strerror(number))
        if copied < wanted:
            raise BadOffer("memory that is not there")
        return wanted

    def _has_ended(self, milliseconds: int) -> bool:
        poll = select.poll()
        poll.register(self._process, select.POLLIN)
        return bool(poll.poll(milliseconds))


@functools.cache
def _reader() -> Callable[..., int]:
    """`process_vm_readv`. ctypes releases the GIL while it runs.

    Raises:
        OSError: this system has no such call.
    """
    try:
        call = ctypes.CDLL(None, use_errno=True).process_vm_readv
    except AttributeError:
        raise OSError("no process_vm_readv") from None
    number, pointer = ctypes.c_ulong, ctypes.c_void_p
    call.argtypes = (ctypes.c_int, pointer, number, pointer, number, number)
    call.restype = ctypes.c_ssize_t
    reader: Callable[..., int] = call
    return reader


def _checked(places: Any, limit: int) -> deque[tuple[int, int]]:
    if not isinstance(places, list) or not 2 <= len(places) <= MOST_PLACES:
        raise BadOffer("an offer without an answer, or of too many pieces")
    checked: deque[tuple[int, int]] = deque()
    for place in places:
        match place:
            case [int(start), int(size)] if 0 <= start < _ADDRESSES and 0 < size <= limit:
                checked.append((start, size))
                limit -= size
            case _:
                raise BadOffer("an offer of impossible or too many bytes")
    return checked


def sender_of(messages: Iterable[tuple[int, int, bytes]]) -> int:
    """The process that sent what came with these control messages, by the kernel's word; 0 if it does not say."""
    for level, kind, data in messages:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            return int(struct.unpack_from("i", data)[0])
    return 0
