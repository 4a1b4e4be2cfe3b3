"""Restrict the worker from inside, in addition to the sandbox: privileges, limits, system calls.

The default filters of container engines have allowed dangerous calls for years, and Landlock alone allows datagram
sockets and changes of file modes. So the worker installs its own filter, with ctypes and without compiled code. If a
part is not possible, the others are still applied, and `Lockdown` records it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from dataclasses import dataclass

from . import bpf

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_OPEN_FILES = 1024
_STACK = 64 * 2**20


@dataclass(frozen=True)
class Lockdown:
    """Which parts are in effect.

    Args:
        no_new_privileges: no program can gain privileges.
        system_calls: the seccomp filter.
        hidden_memory: the /proc entries of the zygote cannot be read.
        adopts_orphans: the zygote becomes the parent of orphaned processes, so it can reap them.
    """

    no_new_privileges: bool
    system_calls: bool
    hidden_memory: bool
    adopts_orphans: bool


def lock_worker(*, network: bool, file_bytes: int, address_space: int | None, hide_memory: bool) -> Lockdown:
    """Restrict the zygote and all processes that it will fork.

    Args:
        network: allow internet sockets.
        file_bytes: largest size of one file.
        address_space: most bytes of address space of one process; None if the sandbox limits memory itself.
        hide_memory: make the /proc entries of the zygote unreadable. A supervisor that counts the memory of processes
            needs these entries; then it is False, and calls whose use cannot be counted are denied instead.
    """
    _set_limits(file_bytes, address_space)
    no_new_privileges = _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    rules = bpf.worker_rules(network=network)
    if not hide_memory:
        rules += bpf.watched_rules(network=network)
    return Lockdown(
        no_new_privileges=no_new_privileges,
        adopts_orphans=_prctl(_PR_SET_CHILD_SUBREAPER, 1),
        hidden_memory=hide_memory and _prctl(_PR_SET_DUMPABLE, 0),
        system_calls=no_new_privileges and _filter(_compiled(rules)),
    )


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def filter_of_children() -> bytes:
    """The filter for children of this process, to be made once for all of them; b"" if the machine has none."""
    return _compiled(bpf.child_rules(zygote=os.getpid(), group=os.getpgrp()))


def lock_child(its_filter: bytes) -> bool:
    """Restrict a forked child. It cannot leave its process group and ends with its parent, so one signal kills it all.

    Args:
        its_filter: from `filter_of_children`, made by its parent.

    Returns:
        Whether the filter was installed.
    """
    die_with_parent()
    return _filter(its_filter)


def show_memory(shown: bool) -> None:
    """Set whether other processes of the same user may inspect this one. Forked children inherit the setting."""
    _prctl(_PR_SET_DUMPABLE, int(shown))


def _set_limits(file_bytes: int, address_space: int | None) -> None:
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, file_bytes)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_STACK, _STACK)
    if address_space is not None:
        _limit(resource.RLIMIT_AS, address_space)


def _limit(kind: int, most: int) -> None:
    """Lower a limit permanently. A lower limit is not changed."""
    soft, hard = resource.getrlimit(kind)
    infinite = resource.RLIM_INFINITY
    new_hard = most if hard == infinite else min(most, hard)
    new_soft = new_hard if soft == infinite else min(soft, new_hard)
    resource.setrlimit(kind, (new_soft, new_hard))


def _prctl(option: int, value: int) -> bool:
    return _answer(option, value) == 0


def _answer(option: int, value: int) -> int:
    if not sys.platform.startswith("linux"):
        return -1
    number = ctypes.c_ulong
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.prctl(option, number(value), number(0), number(0), number(0)))


class _SockFprog(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _compiled(rules: tuple[bpf.Rule, ...]) -> bytes:
    """A seccomp filter; b"" if the machine does not support it."""
    if not sys.platform.startswith("linux") or (machine := os.uname().machine) not in bpf.MACHINES:
        return b""
    return bpf.compile_filter(rules, machine)


def _filter(code: bytes) -> bool:
    """Install a seccomp filter. False if there is none, or the sandbox forbids it."""
    if not code:
        return False
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _SockFprog(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    number = ctypes.c_ulong
    answer = libc.prctl(_PR_SET_SECCOMP, number(_SECCOMP_MODE_FILTER), ctypes.byref(program), number(0), number(0))
    return bool(answer == 0)
