"""The descriptor at which the kernel asks about system calls (seccomp's user notification)."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from dataclasses import dataclass

_RECEIVE, _SEND, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40182103
_NOTICE, _ANSWER, _DESCRIPTOR = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI"), struct.Struct("=QIIII")
_CONTINUE = 1
_AT_THIS_NUMBER = 1


@dataclass(frozen=True)
class Question:
    """A system call that waits for an answer.

    Args:
        identity: the kernel's number for it.
        caller: id of the thread that made it, as this process sees it.
        call: number of the call.
        arguments: the low halves, as signed numbers.
    """

    identity: int
    caller: int
    call: int
    arguments: tuple[int, ...]


class Listener:
    """Receives the kernel's questions and sends the answers. Not threadsafe; `close` closes the descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """The descriptor; readable when something is asked."""
        return self._descriptor

    def receive(self) -> Question | None:
        """The next question; None when the asking thread is gone."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self._descriptor, _RECEIVE, notice)
        except OSError:
            return None
        identity, caller, _, call, _, _, *arguments = _NOTICE.unpack(notice)
        return Question(identity, caller, call, tuple(map(_signed, arguments)))

    def answer(self, question: Question, error: int, *, goes_on: bool = False) -> bool:
        """Answer with an errno, 0 for success, or let the kernel go on with the call. False when who asked is gone."""
        try:
            said = _ANSWER.pack(question.identity, 0, -error, _CONTINUE if goes_on else 0)
            fcntl.ioctl(self._descriptor, _SEND, said)
        except OSError:
            return False
        return True

    def give(self, question: Question, descriptor: int, number: int) -> None:
        """Give who asks an open descriptor of ours, under this number.

        Raises:
            OSError: who asked is gone, or the kernel is older than Linux 5.9.
        """
        fcntl.ioctl(
            self._descriptor,
            _ADD_DESCRIPTOR,
            _DESCRIPTOR.pack(question.identity, _AT_THIS_NUMBER, descriptor, number, 0),
        )

    def close(self) -> None:
        """Stop answering; system calls that ask then fail."""
        os.close(self._descriptor)


def _signed(value: int) -> int:
    return ctypes.c_int(value & 0xFFFFFFFF).value
