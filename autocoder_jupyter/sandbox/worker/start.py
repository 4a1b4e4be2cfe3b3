"""Start a worker: take the streams, import libraries, lock down, report that it is ready, serve requests.

A loading process does the first two steps only, and forks workers, which continue from there. No numerical library is
imported at the top of this module, because it reads its number of threads when it is imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import importlib
import json
import mmap
import os
import platform
import secrets
import sys
import tempfile
import threading
import time
import traceback
import types
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import frames, lockdown

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)

_ARROW_ALLOCATOR = "JE_ARROW_MALLOC_CONF"


def main() -> None:
    """Serve until the host closes the connection. Never returns."""
    requests, data, control = _take_streams()
    start = frames.read_header(requests)
    if start is None:
        os._exit(0)
    setup = json.loads(start)
    if setup["kind"] == "load":
        _close(requests, data, control)
        _load(setup)
        serve_forks(own_numbers=setup["own_numbers"])
        requests, data, control = _take_streams()
        setup = _read_setup(requests)
    try:
        _load(setup)
        locked = lockdown.lock_worker(
            network=setup["network"],
            file_bytes=setup["file_bytes"],
            address_space=setup["address_space"],
            hide_memory=setup["hide_memory"],
        )
    except BaseException:
        failed = {"kind": "failed", "text": traceback.format_exc(limit=-3), "payload": 0}
        frames.write_all(control, [frames.pack(failed)])
        os._exit(1)
    from .removal import Workplace
    from .zygote import Zygote

    workplace = Workplace(setup["scratch"])
    zygote = Zygote(requests, data, control, workplace, keep_text=setup["text_bytes"], linked=setup["linked"])
    zygote.report(
        "ready",
        python=list(sys.version_info[:3]),
        machine=platform.machine(),
        pid=os.getpid(),
        folder=str(workplace.root),
        lockdown=asdict(locked),
    )
    try:
        zygote.serve()
    finally:
        zygote.end()
        os._exit(0)


def _take_streams() -> tuple[int, int, int]:
    """Move the host's streams to other descriptors, so that no output gets into them. The standard streams are null."""
    streams = tuple(os.dup(fd) for fd in range(3))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)
    os.set_blocking(streams[1], False)
    return streams[0], streams[1], streams[2]


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _read_setup(requests: int) -> dict[str, Any]:
    """Read the setup of a forked worker, and change to its folder."""
    frames.read_header(requests)  # the sources, which are already loaded
    setup: dict[str, Any] = json.loads(frames.read_header(requests) or b"")
    folder = setup["scratch"][0]
    os.environ.update(HOME=folder, TMPDIR=folder)
    tempfile.tempdir = None
    os.chdir(folder)
    return setup


def _load(setup: dict[str, Any]) -> None:
    """Import and use the libraries that programs are likely to need. A second call imports nothing.

    Garbage is collected only afterwards: imports leave little garbage, and looking for it takes a tenth of the start.
    """
    gc.disable()
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(setup["threads"])), MPLBACKEND="Agg")
    if "autocoder_worker.warmup" not in sys.modules:
        os.environ[_ARROW_ALLOCATOR] = "background_thread:false"  # a process that forks must have one thread only
        importlib.import_module("autocoder_worker.warmup").warm_up()
        del os.environ[_ARROW_ALLOCATOR]
        install_semaphores()
        tune_heap()
    gc.freeze()
    gc.enable()


# The loading process
#
# It waits in the system call that forks, until the supervisor needs a worker and lets the call continue. Meanwhile it
# has no open streams, files or folders, and the supervisor checks this. A new worker reports its arrival and gets its
# standard streams from the supervisor. The loading process never has them.

_ARRIVAL = 434
"""The number of `pidfd_open`. The supervisor takes this call as a report (`confinement.kernel_features.ARRIVAL`)."""

RULES = 3
"""The descriptor of the Landlock ruleset for the worker itself, if there is one."""

_RESTRICT_SELF = 446

APART = 0x30000000
"""A PID namespace, and the user namespace without which nobody may create one."""

_SIGCHLD, _AS_FORK = 0x11, 0x01200011
_PR_GET_TID_ADDRESS = 40
_CAPABILITY_VERSION_3 = 0x20080522


def serve_forks(*, own_numbers: bool) -> None:
    """Fork a worker each time the supervisor needs one. Returns only in the workers.

    With `own_numbers`, each worker has a PID namespace of its own: in a common one, the next number of a process would
    tell how many processes and threads the other workers have started.
    """
    _report_arrival()
    fork = _fork_apart if own_numbers else _fork
    while fork():
        _reap_children()
    if own_numbers:
        _drop_capabilities()
    os.setsid()
    lockdown.die_with_parent()
    _report_arrival()
    _apply_own_layer()


def _fork() -> int:
    """Like `os.fork`, but -1 if the machine cannot create another process."""
    try:
        return os.fork()
    except OSError:
        return -1


def _fork_apart() -> int:
    """The same, but the child is the first process of a new PID namespace."""
    python, place = ctypes.pythonapi, ctypes.c_long()
    clone = lockdown.number_of("clone", os.uname().machine)
    # The C library keeps the number of a thread, and a fork must update it.
    ctypes.CDLL(None).prctl(_PR_GET_TID_ADDRESS, ctypes.byref(place), 0, 0, 0)
    flags = (_AS_FORK if place.value else _SIGCHLD) | APART
    python.PyOS_BeforeFork()
    pid = int(ctypes.PyDLL(None).syscall(*map(ctypes.c_long, (clone or -1, flags, 0, 0, place.value, place.value))))
    if pid:
        python.PyOS_AfterFork_Parent()
    else:
        python.PyOS_AfterFork_Child()
    return pid


def _drop_capabilities() -> None:
    """Drop those that a new user namespace gives to its first process. The supervisor checks it."""
    header = _CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4)
    capset = lockdown.number_of("capset", os.uname().machine)
    ctypes.CDLL(None).syscall(ctypes.c_long(capset or -1), header, bytes(24))


def _report_arrival() -> None:
    if error := _call(_ARRIVAL, 0):
        raise OSError(error, "the supervisor does not accept this process")


def _apply_own_layer() -> None:
    """Restrict this worker to its own folder, so that it cannot reach those of other workers. If that fails, it ends,
    and workers load the libraries themselves.

    Without Landlock the supervisor gives no ruleset; the call itself may then be unknown to the kernel.
    """
    try:
        os.fstat(RULES)
    except OSError:
        return
    error = _call(_RESTRICT_SELF, RULES)
    os.close(RULES)
    if error:  # for example because the notebook already has the largest number of layers but one
        raise OSError(error, "the Landlock ruleset of the worker cannot be applied")


def _call(number: int, argument: int) -> int:
    """Make a system call. Returns its errno, or 0."""
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(number), ctypes.c_long(argument), ctypes.c_long(0)) else 0


def _reap_children() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


# The heap
#
# Most time of a call is spent on page faults in new memory: glibc returns freed columns to the system, and requests new
# memory for the next ones. If freed memory is kept and has huge pages, this takes a tenth of the time (measured: a copy
# of 8 MB of columns takes 0.9 ms instead of 7.7 ms).

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_LARGEST_IN_HEAP = 32 * 2**20
"""The largest value that glibc allows. Larger blocks are mapped separately, and numpy requests huge pages for them."""

_HEAP_BYTES = 512 * 2**20
"""Bytes of the heap that get huge pages and are kept when they are free."""

_HUGE_PAGE = 2 * 2**20


def tune_heap() -> None:
    """Keep freed memory in the heap, and request huge pages for the part into which it will grow.

    No page is written, so no memory is used. Forked children inherit the settings. With another C library, or a kernel
    without huge pages, it has no effect.
    """
    if not sys.platform.startswith("linux") or not hasattr(mmap, "MADV_HUGEPAGE"):
        return
    libc = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):  # another C library than glibc
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_IN_HEAP)
        libc.mallopt(_M_TRIM_THRESHOLD, _HEAP_BYTES)
        _advise_top(libc)


def _advise_top(libc: ctypes.CDLL) -> None:
    """Grow the heap, request huge pages for the new part, and free it again. It stays as the free top of the heap."""
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = (ctypes.c_size_t,)
    libc.free.argtypes = (ctypes.c_void_p,)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    pieces = [libc.malloc(_LARGEST_IN_HEAP - _HUGE_PAGE) for _ in range(_HEAP_BYTES // _LARGEST_IN_HEAP)]
    for piece in filter(None, pieces):
        start = -(-piece // mmap.PAGESIZE) * mmap.PAGESIZE
        libc.madvise(start, _LARGEST_IN_HEAP - _HUGE_PAGE - mmap.PAGESIZE, mmap.MADV_HUGEPAGE)
    for piece in reversed(pieces):
        libc.free(piece)


# Semaphores
#
# Without `/dev/shm`, `multiprocessing` cannot create its named semaphores. These are in a file in the program's folder
# that forked processes share, so pools, queues and locks work with the start method "fork". `_multiprocessing` itself
# is not changed: joblib checks it, and then uses no processes.

_RECURSIVE = 0
_SEMAPHORE_BYTES = 64
"""Bytes; twice the size of `sem_t` in any C library."""


def install_semaphores() -> None:
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
        unlink: whether the start method is "fork".
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
        """The address in memory."""
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
        """Release the semaphore."""
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
        os.ftruncate(descriptor, _SEMAPHORE_BYTES)
        return (ctypes.c_char * _SEMAPHORE_BYTES).from_buffer(mmap.mmap(descriptor, _SEMAPHORE_BYTES))
    finally:
        os.close(descriptor)
