"""Copy a large answer from the memory of the child that made it; the other side is `worker.frames`.

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
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.sandbox.worker.frames import MOST_PLACES

STEP = 16 << 20
"""Most bytes of one system call. It cannot be interrupted, and the time limit is checked after it."""

_SHORT = 4 << 20
"""Bytes up to which one thread copies. It copies more in the time that another one needs to begin, and memory is twice
as fast for two (measured: 88 MB in 5.2 instead of 10 ms)."""

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
        places: from its offer: pairs of address and size. They are not trusted. The first one holds the name.
        limit: most bytes of all places.
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
        """Copy the next bytes into `room`, at most twice `STEP`. Returns their number; 0 if there are none."""
        try:
            return self._copied(room[: 2 * STEP])
        except OSError:
            raise BadOffer("memory that cannot be read") from None

    def close(self) -> None:
        """Forget the process."""
        if self._process >= 0:
            os.close(self._process)
            self._process = -1

    def _copied(self, room: memoryview) -> int:
        half = len(room) if len(room) <= _SHORT else len(room) // 2
        copies = [_Copy(self._pid, part, self._next(len(part))) for part in (room[:half], room[half:])]
        _make([copy for copy in copies if copy.wanted])
        missing = [copy for copy in copies if copy.copied != copy.wanted]
        # The memory of a process that is killed is gone shortly before the process has ended.
        about_to_end = any(copy.copied >= 0 or copy.errno in (errno.ESRCH, errno.EFAULT) for copy in missing)
        if self._has_ended(_TO_DIE_MILLISECONDS if about_to_end else 0):
            raise ChildEnded
        for copy in missing:
            if copy.copied < 0:
                raise OSError(copy.errno, os.strerror(copy.errno))
            raise BadOffer("memory that is not there")
        return sum(copy.wanted for copy in copies)

    def _next(self, limit: int) -> list[_Piece]:
        """The next places of the process, with at most `limit` bytes in all."""
        pieces = []
        while self._places and limit:
            start, size = self._places.popleft()
            part = min(size, limit)
            pieces.append(_Piece(start, part))
            limit -= part
            if part < size:
                self._places.appendleft((start + part, size - part))
        return pieces

    def _has_ended(self, milliseconds: int) -> bool:
        poll = select.poll()
        poll.register(self._process, select.POLLIN)
        return bool(poll.poll(milliseconds))


class _Copy:
    """One system call that copies.

    Args:
        room: the bytes go to its beginning.
        pieces: places in the memory of the process.

    Attributes:
        wanted: bytes of all pieces.
        copied: bytes that were copied; less than 0 if none could be.
        errno: the reason.
    """

    def __init__(self, pid: int, room: memoryview, pieces: list[_Piece]) -> None:
        self._pid, self._room, self._pieces = pid, room, pieces
        self.wanted: int = sum(piece.size for piece in pieces)
        self.copied = self.errno = 0

    def make(self) -> None:
        """Copy."""
        count = len(self._pieces)
        target = (ctypes.c_char * self.wanted).from_buffer(self._room)
        ours = _Piece(ctypes.addressof(target), self.wanted)
        self.copied = _reader()(self._pid, ctypes.byref(ours), 1, (_Piece * count)(*self._pieces), count, 0)
        self.errno = ctypes.get_errno()


def _make(copies: list[_Copy]) -> None:
    """Make these copies, each but the first on its own thread."""
    _reader()
    others = []
    for copy in copies[1:]:
        done = threading.Event()
        others.append(done)
        start_thread(functools.partial(_make_and_signal, copy, done), "autocode-copy")
    try:
        for copy in copies[:1]:
            copy.make()
    finally:
        for done in others:
            done.wait()


def _make_and_signal(copy: _Copy, done: threading.Event) -> None:
    try:
        copy.make()
    finally:
        done.set()


@functools.cache
def _reader() -> Callable[..., int]:
    """`process_vm_readv`. ctypes releases the GIL while it runs."""
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
