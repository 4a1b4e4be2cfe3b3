"""The loading process: it imports the libraries, and workers are forked from it. It runs no other code.

It waits in the system call that forks, until the supervisor needs a worker and lets the call continue. Meanwhile it has
no open streams, files or folders, and the supervisor checks this. A new worker reports its arrival and gets its
standard streams from the supervisor. The loading process never has them.
"""

from __future__ import annotations

import ctypes
import os

from . import lockdown

_ARRIVAL = 434
"""The number of `pidfd_open`. The supervisor takes this call as a report (`confinement.filters.ARRIVAL`)."""

RULES = 3
"""The descriptor of the Landlock ruleset for the worker itself, if there is one."""

_RESTRICT_SELF = 446


def serve() -> None:
    """Fork a worker each time the supervisor needs one. Returns only in the workers.

    Raises:
        OSError: the supervisor does not accept this process, or Landlock fails.
    """
    _report_arrival()
    while _fork():
        _reap_children()
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
