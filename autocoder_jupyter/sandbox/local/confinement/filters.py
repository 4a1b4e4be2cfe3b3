"""The filter of system calls around a worker: what Landlock and namespaces do not hold, and what their version lacks.

The worker puts on a filter of its own before any program runs (`worker/lockdown`). This one is there before the first
line of a package is imported.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

from autocoder_jupyter.sandbox.local.confinement.kernel import call_number, system_call
from autocoder_jupyter.sandbox.worker.bpf import ASK, Rule, compile_filter, worker_rules

_ENOSYS = errno.ENOSYS
_AF_UNIX, _SOCK_STREAM, _SOCKET_TYPE = 1, 1, 0xF
_F_SETOWN, _F_SETOWN_EX, _F_NOTIFY = 8, 15, 1026
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
_ACCESS_MODE, _WRITE_AND_READ = 0o3, 3
_OPENS = (("open", 1), ("openat", 2))
"""With the argument that holds the mode."""

BIRTHS = ("clone", "fork", "vfork")
ARRIVAL = "pidfd_open"
"""Nobody may make it. Where workers are forked from a loading process, by this call it says that it has loaded its
libraries, and a worker that it is there."""

SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
BY_PROCESS = {
    **dict.fromkeys(("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"), 0),
    **dict.fromkeys(("setpriority", "ioprio_set"), 1),
}
"""Calls that change how a process is scheduled, with the argument that names it."""

_CLONE_PARENT = 0x8000
_TRUNCATE_SINCE, _SCOPES_SINCE = 3, 6

_SET_FILTER = 1
_NEW_LISTENER, _WAIT_UNLESS_KILLED = 8, 32


def rules(
    *, network: bool, landlock: int, namespaces: bool, siblings: bool = False, counted: bool = False
) -> tuple[Rule, ...]:
    """What a worker may not do.

    Args:
        network: whether it may use internet sockets.
        landlock: the version that holds; 0 for none.
        namespaces: whether it has a file tree and processes of its own.
        siblings: whether others share its Landlock domain and its namespaces, which then do not hold it off them.
        counted: whether the kernel limits its processes by itself.
    """
    alone = namespaces and not siblings
    return (
        *worker_rules(network=network),
        *_held_nowhere(network=network),
        Rule(ARRIVAL, ASK if siblings else _ENOSYS),
        *(_truncation() if landlock < _TRUNCATE_SINCE and not namespaces else ()),
        *(() if alone else _at_other_processes()),
        # A process that is born as a sibling would belong to no worker.
        *((Rule("clone", argument=0, any_bit=_CLONE_PARENT),) if siblings else ()),
        *(Rule(call, ASK) for call in BIRTHS if not counted),
        *(Rule(call, ASK) for call in SIGNALS if siblings or (landlock < _SCOPES_SINCE and not namespaces)),
    )


def _held_nowhere(*, network: bool) -> tuple[Rule, ...]:
    """What no version of Landlock and no namespace knows."""
    return (
        # Memory files are in no folder and, unmapped, in no resident size, so their size would not be counted.
        Rule("memfd_create"),
        *(Rule(call) for call in ("inotify_init", "inotify_init1")),
        *(Rule(call) for call in ("bind", "listen", "accept", "accept4")),
        *(() if network else (Rule("connect"),)),
        # A pair of datagram sockets can write to any name.
        Rule("socketpair", argument=1, mask=_SOCKET_TYPE, others=(_SOCK_STREAM,)),
        # Signals to the owner that is set for a file.
        Rule("fcntl", argument=1, values=(_F_SETOWN, _F_SETOWN_EX, _F_NOTIFY)),
        Rule("ioctl", argument=1, values=(_FIOSETOWN, _SIOCSPGRP)),
        # A mode for which no right is asked.
        Rule("openat2", _ENOSYS),  # its mode lies in memory, where a filter cannot look; libc falls back to openat
        *(Rule(call, argument=place, mask=_ACCESS_MODE, values=(_WRITE_AND_READ,)) for call, place in _OPENS),
        # The priority of a process, not of a group or a user.
        Rule("setpriority", argument=0, others=(0,)),
        Rule("ioprio_set", argument=0, others=(1,)),
    )


def _truncation() -> tuple[Rule, ...]:
    """Before version 3 a file that may not be written may be emptied."""
    emptying = _ACCESS_MODE | os.O_TRUNC
    return (
        Rule("truncate"),
        *(Rule(call, argument=place, mask=emptying, values=(os.O_TRUNC,)) for call, place in _OPENS),
    )


def _at_other_processes() -> tuple[Rule, ...]:
    """Scheduling and priority are a worker's own affair; 0 is the process that asks."""
    return tuple(Rule(call, ASK, argument=argument, others=(0,)) for call, argument in BY_PROCESS.items())


def install(wanted: tuple[Rule, ...]) -> int:
    """Put the filter on, for good.

    Returns:
        The descriptor at which the kernel asks about the calls whose answer is `ASK`; closed by an exec.

    Raises:
        OSError: the machine is unknown, or somebody around this process listens already.
    """
    code = compile_filter(wanted, platform.machine())
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    number = call_number("seccomp")
    try:
        return system_call(number, _SET_FILTER, _NEW_LISTENER | _WAIT_UNLESS_KILLED, program)
    except OSError as error:
        if error.errno != errno.EINVAL:  # before Linux 5.19 a signal may interrupt who waits for an answer
            raise
    return system_call(number, _SET_FILTER, _NEW_LISTENER, program)
