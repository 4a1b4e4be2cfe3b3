"""Receive and answer the kernel's questions about system calls (seccomp user notification)."""

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
class SystemCall:
    """A system call that waits for an answer.

    Args:
        identity: the kernel's number for the question.
        caller: id of the calling thread, in the PID namespace of this process.
        call: number of the system call.
        arguments: the low 32 bits of its arguments, as signed numbers.
    """

    identity: int
    caller: int
    call: int
    arguments: tuple[int, ...]


class SystemCallListener:
    """Receives the kernel's questions and sends the answers. Not threadsafe; `close` closes the descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """The descriptor. It is readable when there is a question."""
        return self._descriptor

    def receive(self) -> SystemCall | None:
        """Receive the next question; None if the calling thread has ended."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self._descriptor, _RECEIVE, notice)
        except OSError:
            return None
        identity, caller, _, call, _, _, *arguments = _NOTICE.unpack(notice)
        return SystemCall(identity, caller, call, tuple(map(_signed, arguments)))

    def answer(self, question: SystemCall, error: int, *, continues: bool = False) -> bool:
        """Answer a question.

        Args:
            question: the question.
            error: the errno that the call returns; 0 for success.
            continues: let the kernel execute the call.

        Returns:
            False if the calling thread has ended.
        """
        try:
            message = _ANSWER.pack(question.identity, 0, -error, _CONTINUE if continues else 0)
            fcntl.ioctl(self._descriptor, _SEND, message)
        except OSError:
            return False
        return True

    def give(self, question: SystemCall, descriptor: int, number: int) -> None:
        """Copy an open descriptor of this process to the caller.

        Args:
            question: identifies the caller.
            descriptor: of this process.
            number: of the copy.

        Raises:
            OSError: the calling thread has ended, or the kernel is older than Linux 5.9.
        """
        fcntl.ioctl(
            self._descriptor,
            _ADD_DESCRIPTOR,
            _DESCRIPTOR.pack(question.identity, _AT_THIS_NUMBER, descriptor, number, 0),
        )

    def close(self) -> None:
        """Close the descriptor. System calls with a question then fail."""
        os.close(self._descriptor)


def _signed(value: int) -> int:
    return ctypes.c_int(value & 0xFFFFFFFF).value
