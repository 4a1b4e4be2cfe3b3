"""What the kernel offers to confine a worker: the filter of system calls, Landlock, and namespaces."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from autocoder_jupyter.sandbox.worker import lockdown
from autocoder_jupyter.sandbox.worker.lockdown import ASK, Rule, compile_filter, worker_rules
from autocoder_jupyter.sandbox.worker.start import APART

# System calls
#
# Those that Python has no function for, by ctypes.

PR_SET_NO_NEW_PRIVS = 38
_PR_CAPBSET_DROP = 24
_LAST_CAPABILITY = 63
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char]) -> int:
    """Make a system call."""
    words = (ctypes.c_long(value) if isinstance(value, int) else value for value in arguments)
    answer = int(_libc.syscall(ctypes.c_long(number), *words))
    if answer < 0:
        raise _last_error()
    return answer


def call_number(name: str) -> int:
    """The number of a system call on this machine."""
    machine = os.uname().machine
    number = lockdown.number_of(name, machine) if machine in lockdown.MACHINES else None
    if number is None:
        raise OSError(f"the system call {name} is not known on {machine}")
    return number


def set_process_option(option: int, value: int) -> None:
    """Call `prctl` with one argument."""
    number = ctypes.c_ulong
    if _libc.prctl(option, number(value), number(0), number(0), number(0)):
        raise _last_error()


def unshare(flags: int) -> None:
    """Move this process, and with `CLONE_NEWPID` its future children, into new namespaces."""
    if _libc.unshare(ctypes.c_int(flags)):
        raise _last_error()


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Attach a file system or a part of one, or change how it is attached, like the system call of this name."""
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


# The filter of system calls (seccomp)
#
# It denies what Landlock and namespaces do not prevent on this machine. The worker installs its own filter before a
# program runs (`worker/lockdown`). This one is installed earlier, before any package is imported.

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

_TRUNCATE_SINCE, _NET_SINCE, _SCOPES_SINCE, NEWEST = 3, 4, 6, 6
"""Versions of Landlock: the first that limits truncation, connections, and signals; the newest one known here."""

_SET_FILTER = 1
_NEW_LISTENER, _WAIT_UNLESS_KILLED = 8, 32


def filter_rules(
    *, network: bool, landlock: int, namespaces: bool, siblings: bool = False, counted: bool = False
) -> tuple[Rule, ...]:
    """The rules for a worker."""
    alone = namespaces and not siblings
    return (
        # A loading process forks workers that have a PID namespace of their own.
        *((Rule("clone", ASK, argument=0, all_bits=APART),) if siblings and namespaces else ()),
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


def install_filter(wanted: tuple[Rule, ...]) -> int:
    """Install the filter permanently for this process and its children."""
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


# Landlock
#
# It limits the files that a process and its children can reach. Every version works, from Linux 5.13 on. What an older
# version cannot prevent is denied by the filter of system calls.

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
_ALL_SCOPES = 3  # abstract Unix sockets, signals


def landlock_version() -> int:
    """The Landlock version of the kernel; 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(int(libc.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_long(0), ctypes.c_long(_VERSION))), 0)


def restrict_files(readable: Iterable[str], writable: Iterable[str], *, network: bool) -> int:
    """Restrict this process and its children to these files and folders. `no_new_privs` must be set before."""
    applied, ruleset = landlock_ruleset(readable, writable, network=network)
    system_call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return applied


def landlock_has_room(layers: int) -> bool:
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


def landlock_ruleset(readable: Iterable[str], writable: Iterable[str], *, network: bool) -> tuple[int, int]:
    """The ruleset of `restrict_files`, for a process that applies it itself."""
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
    for wanted in range(min(landlock_version(), NEWEST), 0, -1):
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


# Namespaces
#
# The worker gets its own file tree, processes, network and IPC, if the user may create namespaces. The file tree has
# only the paths of the policy, so the worker cannot even see the size of another file. It has no /proc, because root
# could write the settings of the machine there.

_NEW_MOUNTS, _NEW_UTS, _NEW_IPC = 0x00020000, 0x04000000, 0x08000000
_NEW_USER, _NEW_PIDS, _NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000

_READ_ONLY, _NO_SUID, _NO_DEVICES, _REMOUNT = 1, 2, 4, 32
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_KEPT_FLAGS = 0xF  # read-only, no setuid, no devices, no exec: a remount by a user must repeat them
_DETACH = 2


def enter_namespaces(readable: Sequence[str], writable: Sequence[str], folder: str, *, network: bool) -> None:
    """Move this process into new namespaces. The next process that it forks is the first one of a new PID namespace."""
    user, group = os.geteuid(), os.getegid()
    network_too = 0 if network else _NEW_NETWORK
    unshare(_NEW_USER | _NEW_MOUNTS | _NEW_PIDS | _NEW_IPC | _NEW_UTS | network_too)
    _map_user(user, group)
    _enter_tree(readable, [folder, *writable], folder)


def _map_user(user: int, group: int) -> None:
    """Map user and group to themselves, so that the owners of files do not change."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path(f"/proc/self/{name}").write_text(text, "ascii")


def _enter_tree(readable: Sequence[str], writable: Sequence[str], folder: str) -> None:
    mount("none", "/", "", _RECURSIVE | _PRIVATE)
    own = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    mount("tmpfs", folder, "tmpfs", _NO_SUID | _NO_DEVICES, "size=1m,mode=755")
    reals = {os.path.realpath(path): path in writable for path in (*readable, *writable)}
    placed: list[str] = []
    for real in sorted(reals, key=lambda path: path.count("/")):  # folders before their content
        if not _is_below(real, placed):
            if real == os.path.realpath(folder):
                # The new tree covers this folder now, so it is reached by its descriptor, and bound without the tree.
                _place(folder, real, f"/proc/self/fd/{own}", _BIND, read_only=False)
            else:
                _place(folder, real, real, _BIND | _RECURSIVE, read_only=not reals[real])
            placed.append(real)
    for path in (*readable, *writable):
        _link(folder, path)
    for path in writable:  # the parent folder cannot be listed, so a process must know the name of a writable path
        Path(folder + os.path.realpath(path)).parent.chmod(0o111)
    _pivot(folder)


def _link(root: str, path: str) -> None:
    """If a path contains symbolic links, create a link in the new tree that leads to the same file."""
    link, real = Path(root + path), os.path.realpath(path)
    if path != real and not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(real)


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _place(root: str, real: str, source: str, flags: int, *, read_only: bool) -> None:
    target = Path(root + real)
    if Path(source).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    mount(source, str(target), "", flags)
    if read_only:
        for place in _mounts_below(str(target)):
            kept = os.statvfs(place).f_flag & _KEPT_FLAGS
            mount("", place, "", _BIND | _REMOUNT | _READ_ONLY | kept)


def _mounts_below(target: str) -> list[str]:
    """The mount points at and below a path. In mountinfo, blanks in names are written as octal escapes."""
    lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    points = (line.split()[4].encode("utf-8", "surrogateescape").decode("unicode_escape") for line in lines)
    return [point for point in points if _is_below(point, [target])]


def _pivot(root: str) -> None:
    old = f"{root}/old"
    Path(old).mkdir()
    system_call(call_number("pivot_root"), root.encode() + b"\0", old.encode() + b"\0")
    os.chdir("/")
    system_call(call_number("umount2"), b"/old\0", _DETACH)
    Path("/old").rmdir()
    mount("", "/", "", _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | _NO_DEVICES)
