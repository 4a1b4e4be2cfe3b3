"""A loading process: libraries are loaded, and nothing else ever runs in it; workers are forked from it.

It waits in the system call that forks, which the supervisor answers when a worker is wanted. It has no stream, no file
and no folder then, and the supervisor looks whether that is so. A worker gets its streams from the supervisor when it
says that it is there, as its standard streams; the loading process never has them.
"""

from __future__ import annotations

import ctypes
import os

from . import lockdown

_ARRIVAL = 434
"""`pidfd_open`, on every machine; the supervisor understands it otherwise (`confinement.filters.ARRIVAL`)."""


def serve() -> None:
    """Fork a worker whenever one is wanted. Returns in each of them, and never in this process.

    Raises:
        OSError: the supervisor wants no workers of this process.
    """
    _say_that_it_is_there()
    while _fork():
        _collect_dead()
    os.setsid()
    lockdown.die_with_parent()
    _say_that_it_is_there()


def _fork() -> int:
    """As `os.fork`; -1 when this machine has no room for another process."""
    try:
        return os.fork()
    except OSError:
        return -1


def _say_that_it_is_there() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(_ARRIVAL), ctypes.c_long(0), ctypes.c_long(0)):
        raise OSError(ctypes.get_errno(), "not wanted")


def _collect_dead() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return
