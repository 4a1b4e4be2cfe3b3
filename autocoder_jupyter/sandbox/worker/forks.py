"""A loading process: libraries are loaded, and nothing else ever runs in it; workers are forked from it.

It waits in the system call that forks, which the supervisor answers when a worker is wanted. It has no stream, no file
and no folder then, and the supervisor looks whether that is so. A worker gets its streams from the supervisor when it
says that it is there, as its standard streams; the loading process never has them.
"""

from __future__ import annotations

import ctypes
import errno
import os

from . import lockdown

_ARRIVAL = 434
"""`pidfd_open`, on every machine; the supervisor understands it otherwise (`confinement.filters.ARRIVAL`)."""

RULES = 3
"""The descriptor at which a worker finds the rules of its own layer of Landlock, where there is any."""

_RESTRICT_SELF = 446
_NOT_MORE = (errno.EBADF, errno.E2BIG)
"""There are no rules, or the notebook itself is in as many layers as the kernel knows."""


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
    _put_on_own_layer()


def _fork() -> int:
    """As `os.fork`; -1 when this machine has no room for another process."""
    try:
        return os.fork()
    except OSError:
        return -1


def _say_that_it_is_there() -> None:
    if error := _call(_ARRIVAL, 0):
        raise OSError(error, "not wanted")


def _put_on_own_layer() -> None:
    """From here on it reaches no folder but its own, also where it knows the name."""
    error = _call(_RESTRICT_SELF, RULES)
    if error and error not in _NOT_MORE:
        raise OSError(error, "the layer of Landlock cannot be put on")
    if error != errno.EBADF:
        os.close(RULES)


def _call(number: int, argument: int) -> int:
    """Make a system call; the number of its error, or 0."""
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(number), ctypes.c_long(argument), ctypes.c_long(0)) else 0


def _collect_dead() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return
