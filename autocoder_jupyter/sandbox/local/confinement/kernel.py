"""System calls that Python has no function for, by ctypes."""

from __future__ import annotations

import ctypes
import os

from autocoder_jupyter.sandbox.worker import bpf

PR_SET_NO_NEW_PRIVS = 38
_PR_CAPBSET_DROP = 24
_LAST_CAPABILITY = 63
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char]) -> int:
    """Make a system call.

    Args:
        number: of the call on this machine.
        arguments: integers; bytes are passed as a pointer.

    Returns:
        The result of the call.

    Raises:
        OSError: it failed.
    """
    words = (ctypes.c_long(value) if isinstance(value, int) else value for value in arguments)
    answer = int(_libc.syscall(ctypes.c_long(number), *words))
    if answer < 0:
        raise _last_error()
    return answer


def call_number(name: str) -> int:
    """The number of a system call on this machine.

    Raises:
        OSError: the machine is not supported, or does not have the call.
    """
    machine = os.uname().machine
    number = bpf.number_of(name, machine) if machine in bpf.MACHINES else None
    if number is None:
        raise OSError(f"the system call {name} is not known on {machine}")
    return number


def set_process_option(option: int, value: int) -> None:
    """Call `prctl` with one argument.

    Raises:
        OSError: it failed.
    """
    number = ctypes.c_ulong
    if _libc.prctl(option, number(value), number(0), number(0), number(0)):
        raise _last_error()


def unshare(flags: int) -> None:
    """Move this process, and with `CLONE_NEWPID` its future children, into new namespaces.

    Raises:
        OSError: it is not permitted, or the kernel does not support it.
    """
    if _libc.unshare(ctypes.c_int(flags)):
        raise _last_error()


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Attach a file system or a part of one, or change how it is attached, like the system call of this name.

    Raises:
        OSError: it failed; the text names the target.
    """
    if _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()):
        error = _last_error()
        raise OSError(error.errno, f"mounting {target}: {error.strerror}")


def drop_capabilities() -> None:
    """Drop all capabilities of this process, and of all processes that it starts."""
    for capability in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for numbers that the kernel does not know
    header = _CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4)
    system_call(call_number("capset"), header, bytes(24))


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
