"""Semaphores for `multiprocessing` in a sandbox without `/dev/shm`, where named semaphores cannot be created.

They are in a file in the program's folder that forked processes share. So pools, queues and locks work with the start
method "fork". `_multiprocessing` itself is not changed: joblib checks it, and then uses no processes.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import mmap
import os
import secrets
import tempfile
import threading
import time
import types
from pathlib import Path
from typing import Any

_RECURSIVE = 0
_SIZE = 64
"""Bytes; twice the size of `sem_t` in any C library."""


def install_where_needed() -> None:
    """Replace the semaphores of `multiprocessing` if they do not work here. Forked children inherit the replacement."""
    try:
        own: Any = importlib.import_module("_multiprocessing")
    except ImportError:  # a Python without `_multiprocessing`
        return
    try:
        own.SemLock(1, 1, 1, f"/autocode-{secrets.token_hex(8)}", True)
    except OSError:
        from multiprocessing import heap, synchronize

        changed = types.SimpleNamespace(**{**vars(own), "SemLock": SharedSemaphore})
        vars(synchronize)["_multiprocessing"] = changed
        vars(heap.Arena)["_dir_candidates"].clear()  # values are stored in the temporary folder instead of /dev/shm


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class SharedSemaphore:
    """Replaces `_multiprocessing.SemLock` for forked processes, as far as `multiprocessing.synchronize` uses it.

    Args:
        kind: 0 for a recursive lock, 1 for a semaphore.
        value: its initial value.
        maxvalue: its largest value.
        unlink: whether the start method is "fork".

    Raises:
        PermissionError: the start method is another one.
    """

    SEM_VALUE_MAX = 2**31 - 1

    def __init__(self, kind: int, value: int, maxvalue: int, _name: str, unlink: bool) -> None:
        if not unlink:
            raise PermissionError(errno.EPERM, 'Processes can only be forked here: multiprocessing.get_context("fork")')
        self.kind, self.maxvalue, self.name = kind, maxvalue, None
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._place = _shared_memory()
        self._semaphore = ctypes.byref(self._place)
        self._taken = 0
        self._owner = 0
        self._libc.sem_init(self._semaphore, 1, ctypes.c_uint(value))

    @property
    def handle(self) -> int:
        """Its address in memory."""
        return ctypes.addressof(self._place)

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Acquire the semaphore. False if it was not free, or not in time."""
        if self.kind == _RECURSIVE and self._is_mine():
            self._taken += 1
            return True
        if not self._wait(block, timeout):
            return False
        self._taken += 1
        self._owner = threading.get_ident()
        return True

    def release(self) -> None:
        """Release the semaphore.

        Raises:
            AssertionError: the recursive lock is not held by this thread.
            ValueError: the value would be larger than `maxvalue`.
        """
        if self.kind == _RECURSIVE:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._taken > 1:
                self._taken -= 1
                return
        elif self._get_value() >= self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._libc.sem_post(self._semaphore)
        self._taken -= 1

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: Any) -> None:
        self.release()

    def _wait(self, block: bool, timeout: float | None) -> bool:
        until = time.time() + max(timeout or 0.0, 0.0)
        deadline = ctypes.byref(_Time(int(until), int(until % 1 * 1e9)))
        while True:
            if not block:
                answer = self._libc.sem_trywait(self._semaphore)
            elif timeout is None:
                answer = self._libc.sem_wait(self._semaphore)
            else:
                answer = self._libc.sem_timedwait(self._semaphore, deadline)
            if answer == 0:
                return True
            if ctypes.get_errno() != errno.EINTR:
                return False

    def _count(self) -> int:
        return self._taken

    def _is_mine(self) -> bool:
        return self._taken > 0 and self._owner == threading.get_ident()

    def _get_value(self) -> int:
        value = ctypes.c_int()
        self._libc.sem_getvalue(self._semaphore, ctypes.byref(value))
        return value.value

    def _is_zero(self) -> bool:
        return self._get_value() == 0

    def _after_fork(self) -> None:
        self._taken = 0


def _shared_memory() -> ctypes.Array[ctypes.c_char]:
    """A small block of memory that is shared with forked processes. It is in a file whose name is removed."""
    descriptor, name = tempfile.mkstemp()
    try:
        Path(name).unlink()
        os.ftruncate(descriptor, _SIZE)
        return (ctypes.c_char * _SIZE).from_buffer(mmap.mmap(descriptor, _SIZE))
    finally:
        os.close(descriptor)
