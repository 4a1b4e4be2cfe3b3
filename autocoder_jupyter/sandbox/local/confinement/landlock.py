"""Landlock limits the files that a process and its children can reach. Every version works, from Linux 5.13 on.

What an older version cannot prevent is denied by the filter of system calls (`filters`).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

from autocoder_jupyter.sandbox.local.confinement.kernel import PR_SET_NO_NEW_PRIVS, set_process_option, system_call

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every machine
_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_SOCK, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_OF_A_FILE = _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_DENIED = _MAKE_CHAR | _MAKE_BLOCK | _MAKE_SOCK | _IOCTL_DEV
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16, 6: 16}
"""Number of file rights of each version. Version 2 added moving between folders, 3 truncation, 5 ioctl."""

_BIND_TCP, _CONNECT_TCP = 1, 2
_NET_SINCE, _SCOPES_SINCE, NEWEST = 4, 6, 6
_ALL_SCOPES = 3  # abstract Unix sockets, signals


def version() -> int:
    """The Landlock version of the kernel; 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(int(libc.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_long(0), ctypes.c_long(_VERSION))), 0)


def restrict(readable: Iterable[str], writable: Iterable[str], *, network: bool) -> int:
    """Restrict this process and its children to these files and folders. `no_new_privs` must be set before.

    Args:
        readable: files and folders that may be read and executed.
        writable: files and folders that may be read and written.
        network: whether TCP connections are allowed.

    Returns:
        The version that is applied.

    Raises:
        OSError: there is no Landlock, or a path cannot be opened.
    """
    applied, ruleset = rule_set(readable, writable, network=network)
    system_call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return applied


def room_for(layers: int) -> bool:
    """Whether so many layers can be added to this process: the kernel allows 16. It is tried in a forked child."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        set_process_option(PR_SET_NO_NEW_PRIVS, 1)
        for _ in range(layers):
            _, _, ruleset = _newest_ruleset(network=True)
            system_call(_RESTRICT_SELF, ruleset, 0)
        os._exit(0)
    finally:
        os._exit(1)


def rule_set(readable: Iterable[str], writable: Iterable[str], *, network: bool) -> tuple[int, int]:
    """The ruleset of `restrict`, for a process that applies it itself.

    Returns:
        The version, and the descriptor of the ruleset.

    Raises:
        OSError: see `restrict`.
    """
    applied, handled, ruleset = _newest_ruleset(network=network)
    try:
        for path in readable:
            _allow(ruleset, path, _READING & handled)
        for path in writable:
            _allow(ruleset, path, handled & ~_DENIED)
    except BaseException:
        os.close(ruleset)
        raise
    return applied, ruleset


def _newest_ruleset(*, network: bool) -> tuple[int, int, int]:
    """The version, the file rights, and the descriptor of a new ruleset.

    A kernel may report a version that it does not accept, so lower versions are tried, too.
    """
    for wanted in range(min(version(), NEWEST), 0, -1):
        handled = (1 << _RIGHTS[wanted]) - 1
        attributes = [handled]
        if wanted >= _NET_SINCE:
            attributes.append(_BIND_TCP if network else _BIND_TCP | _CONNECT_TCP)
        if wanted >= _SCOPES_SINCE:
            attributes.append(_ALL_SCOPES)
        packed = struct.pack(f"{len(attributes)}Q", *attributes)
        try:
            return wanted, handled, system_call(_CREATE_RULESET, packed, len(packed), 0)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
    raise OSError(errno.EOPNOTSUPP, "there is no Landlock")


def _allow(ruleset: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        # The rights of folders are not valid for a file. The right to execute comes from the rule of its folder.
        rule = struct.pack("=Qi", rights if Path(path).is_dir() else rights & _OF_A_FILE, place)
        system_call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)
