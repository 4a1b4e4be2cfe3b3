"""Restrict the worker from inside, in addition to the sandbox: privileges, limits, system calls.

A container engine's default filter has let dangerous calls through for years at a time, and Landlock alone permits
datagram sockets and changes of file modes. So the worker adds its own: by ctypes, with nothing compiled. Where a part
cannot apply, `Lockdown` says so and the rest still does.
"""

from __future__ import annotations

import ctypes
import os
import platform
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
    """Which parts hold. `system_calls` is the seccomp filter, `hidden_memory` closes the zygote's /proc."""

    no_new_privileges: bool
    system_calls: bool
    hidden_memory: bool
    adopts_orphans: bool


def lock_worker(*, network: bool, file_bytes: int, address_space: int | None, hide_memory: bool) -> Lockdown:
    """Lock the zygote and all that it will fork.

    Args:
        network: allow internet sockets; nothing else ever.
        file_bytes: size of one file at most.
        address_space: bytes of address space of one process, when the sandbox has no better limit of memory.
        hide_memory: make /proc entries of the zygote unreadable. Not under a supervisor that looks into processes to
            count what they use; there, what it could not count is refused instead.
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
        system_calls=no_new_privileges and _filter(rules),
    )


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def lock_child() -> bool:
    """Tie a forked child to its process group and to the life of its parent, so that one kill ends all of it."""
    die_with_parent()
    zygote = os.getppid()
    return _filter(bpf.child_rules(zygote=zygote, group=os.getpgid(zygote)))


def show_memory(shown: bool) -> None:
    """Let other processes of the same user look into this one, or not. Forked children inherit the zygote's no."""
    _prctl(_PR_SET_DUMPABLE, int(shown))


def _set_limits(file_bytes: int, address_space: int | None) -> None:
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, file_bytes)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_STACK, _STACK)
    if address_space is not None:
        _limit(resource.RLIMIT_AS, address_space)


def _limit(kind: int, most: int) -> None:
    """Lower a limit for good; a limit that is lower already stays."""
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


def _filter(rules: tuple[bpf.Rule, ...]) -> bool:
    """Install a seccomp filter; False where the machine has none or the sandbox forbids it."""
    machine = platform.machine()
    if not sys.platform.startswith("linux") or machine not in bpf.MACHINES:
        return False
    code = bpf.compile_filter(rules, machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _SockFprog(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    number = ctypes.c_ulong
    answer = libc.prctl(_PR_SET_SECCOMP, number(_SECCOMP_MODE_FILTER), ctypes.byref(program), number(0), number(0))
    return bool(answer == 0)
