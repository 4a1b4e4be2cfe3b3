"""The filter of system calls around a worker. It denies what Landlock and namespaces do not prevent on this machine.

The worker installs its own filter before a program runs (`worker/lockdown`). This filter is installed earlier, before
any package is imported.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from autocoder_jupyter.sandbox.local.confinement.kernel import call_number, system_call
from autocoder_jupyter.sandbox.worker.bpf import ASK, Rule, compile_filter, worker_rules

_ENOSYS = errno.ENOSYS
_AF_UNIX, _SOCK_STREAM, _SOCKET_TYPE = 1, 1, 0xF
_F_SETOWN, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY = 8, 15, 1024, 1026
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
_ACCESS_MODE, _WRITE_AND_READ = 0o3, 3
_OPENS = (("open", 1), ("openat", 2))
"""Calls that open a file, each with the index of the argument for its flags."""

BIRTHS = ("clone", "fork", "vfork")
ARRIVAL = "pidfd_open"
"""A call that no program may make. A loading process makes it to report that the libraries are loaded, and a forked
worker to report its arrival."""

SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
BY_PROCESS = {
    **dict.fromkeys(("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"), 0),
    **dict.fromkeys(("setpriority", "ioprio_set"), 1),
}
"""Calls that change the scheduling of a process, each with the index of the argument for its id."""

_CLONE_PARENT = 0x8000
_TRUNCATE_SINCE, _SCOPES_SINCE = 3, 6

_SET_FILTER = 1
_NEW_LISTENER, _WAIT_UNLESS_KILLED = 8, 32


def rules(
    *, network: bool, landlock: int, namespaces: bool, siblings: bool = False, counted: bool = False
) -> tuple[Rule, ...]:
    """The rules for a worker.

    Args:
        network: whether it may use internet sockets.
        landlock: the Landlock version that is applied; 0 for none.
        namespaces: whether it has its own mount and PID namespaces.
        siblings: whether other workers share its Landlock domain and namespaces, which then do not separate them.
        counted: whether a control group limits its processes.
    """
    alone = namespaces and not siblings
    return (
        *worker_rules(network=network),
        *_always_denied(network=network),
        Rule(ARRIVAL, ASK if siblings else _ENOSYS),
        *(_truncation() if landlock < _TRUNCATE_SINCE and not namespaces else ()),
        *(() if alone else _scheduling()),
        # A process with CLONE_PARENT would be a child of the loading process, and belong to no worker.
        *((Rule("clone", argument=0, any_bit=_CLONE_PARENT),) if siblings else ()),
        *(Rule(call, ASK) for call in BIRTHS if not counted),
        *(Rule(call, ASK) for call in SIGNALS if siblings or (landlock < _SCOPES_SINCE and not namespaces)),
    )


def _always_denied(*, network: bool) -> tuple[Rule, ...]:
    """Rules for calls that no version of Landlock and no namespace prevents."""
    return (
        # A memory file is in no folder and, when it is not mapped, in no resident size. So it would not be counted.
        Rule("memfd_create"),
        *(Rule(call) for call in ("inotify_init", "inotify_init1")),
        *(Rule(call) for call in ("bind", "listen", "accept", "accept4")),
        *(() if network else (Rule("connect"),)),
        # A pair of datagram sockets can send to any address.
        Rule("socketpair", argument=1, mask=_SOCKET_TYPE, others=(_SOCK_STREAM,)),
        # These calls set the owner of a file, to which the kernel sends signals, or a lease, which delays who opens it.
        Rule("fcntl", argument=1, values=(_F_SETOWN, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY)),
        Rule("ioctl", argument=1, values=(_FIOSETOWN, _SIOCSPGRP)),
        # With this access mode the kernel checks no permission of Landlock.
        Rule("openat2", _ENOSYS),  # a filter cannot read its mode, which is in memory; libc falls back to openat
        *(Rule(call, argument=place, mask=_ACCESS_MODE, values=(_WRITE_AND_READ,)) for call, place in _OPENS),
        # Only the priority of a process can be changed, not that of a group or a user.
        Rule("setpriority", argument=0, others=(0,)),
        Rule("ioprio_set", argument=0, others=(1,)),
    )


def _truncation() -> tuple[Rule, ...]:
    """Before Landlock version 3, a file that cannot be written can still be truncated."""
    emptying = _ACCESS_MODE | os.O_TRUNC
    return (
        Rule("truncate"),
        *(Rule(call, argument=place, mask=emptying, values=(os.O_TRUNC,)) for call, place in _OPENS),
    )


def _scheduling() -> tuple[Rule, ...]:
    """The supervisor decides about changes of scheduling. Argument 0 means the calling process, and is allowed."""
    return tuple(Rule(call, ASK, argument=argument, others=(0,)) for call, argument in BY_PROCESS.items())


def install(wanted: tuple[Rule, ...]) -> int:
    """Install the filter permanently for this process and its children.

    Returns:
        The descriptor of the listener, from which the calls with the answer `ASK` are read. An exec closes it.

    Raises:
        OSError: the machine is not supported, or another filter of this process already has a listener.
    """
    code = compile_filter(wanted, os.uname().machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    number = call_number("seccomp")
    try:
        return system_call(number, _SET_FILTER, _NEW_LISTENER | _WAIT_UNLESS_KILLED, program)
    except OSError as error:
        if error.errno != errno.EINVAL:  # Linux before 5.19 does not know _WAIT_UNLESS_KILLED
            raise
    return system_call(number, _SET_FILTER, _NEW_LISTENER, program)
