"""Restrict a worker from inside, in addition to the sandbox: privileges, limits, and system calls.

The default filters of container engines have allowed dangerous calls for years, and Landlock alone allows datagram
sockets and changes of file modes. So the worker installs its own seccomp filter, with ctypes and without compiled code.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys
from dataclasses import dataclass

# System calls

_EPERM = 1
_EINVAL = 22
_ENOSYS = 38
_EOPNOTSUPP = 95
_FAKE_SUCCESS = 0  # the call returns 0 and does nothing
ASK = -1
"""Used instead of an errno: the kernel asks the process that listens to the filter."""
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_IOCTL_KIND = 0xFF00
_OF_TERMINALS_AND_PIPES, _OF_SOCKETS = 0x5400, 0x8900
_PR_SET_DUMPABLE = 4
_SHARED_ANONYMOUS = 0x21  # MAP_SHARED | MAP_ANONYMOUS
_CLONE_FILES, _CLONE_THREAD = 0x400, 0x10000
_SO_SNDBUF = 7
_OFD_LOCKS = (37, 38)  # F_OFD_SETLK and F_OFD_SETLKW
_NEW_NAMESPACES = 0x7E020000  # all CLONE_NEW* flags of clone

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""For each machine name, the number of its architecture in seccomp."""

_X32 = 0x40000000
_FIRST_LATER_CALL = 457  # statmount, of Linux 6.8; such numbers are the same on all machines

_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    # name: (x86_64, aarch64)
    "accept": (43, 202),
    "accept4": (288, 242),
    "acct": (163, 89),
    "add_key": (248, 217),
    "bind": (49, 200),
    "bpf": (321, 280),
    "capset": (126, 91),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "connect": (42, 203),
    "delete_module": (176, 106),
    "fallocate": (285, 47),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "fcntl": (72, 25),
    "fgetxattr": (193, 10),
    "finit_module": (313, 273),
    "flistxattr": (196, 13),
    "fork": (57, None),
    "fremovexattr": (199, 16),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "getxattr": (191, 8),
    "init_module": (175, 105),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "ioprio_set": (251, 30),
    "iopl": (172, None),
    "kill": (62, 129),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "landlock_create_ruleset": (444, 444),
    "lchown": (94, None),
    "lgetxattr": (192, 9),
    "listen": (50, 201),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "mmap": (9, 222),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "name_to_handle_at": (303, 264),
    "open": (2, None),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "removexattr": (197, 14),
    "request_key": (249, 218),
    "semctl": (66, 191),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "sendfile": (40, 71),
    "sendmmsg": (307, 269),
    "sendmsg": (46, 211),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "seccomp": (317, 277),
    "semget": (64, 190),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "setpgid": (109, 154),
    "setsid": (112, 157),
    "setsockopt": (54, 208),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "splice": (275, 76),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "tee": (276, 77),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vfork": (58, None),
    "vhangup": (153, 58),
    "vmsplice": (278, 75),
}

# Rules
#
# All calls up to Linux 6.7 are allowed except the denied ones, because the sandbox itself limits files, processes and
# memory. The denied calls use risky parts of the kernel, reach other processes, create sockets, or read or change
# metadata of files, which Landlock does not check. A later call does not exist here, because a later kernel can have a
# new way to do the same.

_DENIED = (
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "process_mrelease",
    "pidfd_getfd",
    "pidfd_send_signal",
    "kcmp",
    "move_pages",
    "migrate_pages",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "memfd_secret",
    "add_key",
    "request_key",
    "keyctl",
    "mount",
    "umount2",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "pivot_root",
    "chroot",
    "setns",
    "unshare",
    "name_to_handle_at",
    "open_by_handle_at",
    "fanotify_init",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "acct",
    "swapon",
    "swapoff",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "syslog",
    "settimeofday",
    "clock_settime",
    "sethostname",
    "setdomainname",
    "vhangup",
    "iopl",
    "ioperm",
    "modify_ldt",
    "personality",
    # Segments and queues of the user's programs can be used by their numbers, without a `get` before.
    *("shmget", "shmat", "shmctl"),
    *("semget", "semop", "semtimedop", "semctl"),
    *("msgget", "msgsnd", "msgrcv", "msgctl"),
    *("mq_open", "mq_unlink"),
    "mknod",
    "mknodat",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
)

_ATTRIBUTES = ("getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr")

_INIT = 1
_PROCESS_CALLS = (
    *("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"),
    *("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
)
_PRIORITY_CALLS = {"setpriority": (1, 2), "ioprio_set": (2, 3)}
"""Calls that change a process, a group or all processes of a user, with the values that mean a group or a user."""

# `link` is allowed, because named semaphores, and so process pools, need it.

# `shutil.copy` sets modes and times. An error would break programs, a real change could reach the host's files.
_CHMOD_CALLS = ("chmod", "fchmod", "fchmodat", "fchmodat2")
_UTIME_CALLS = (("utime", 0, 1), ("utimes", 0, 1), ("futimesat", 1, 2), ("utimensat", 1, 2))
"""Each with the index of the argument for the path and for the times."""


@dataclass(frozen=True)
class Rule:
    """A system call and the answer to it. With `argument`, it applies only if the low 32 bits of that argument match.

    Args:
        answer: errno to return, 0 for success without an effect, or `ASK`.
        any_bit: the rule applies if one of these bits is set.
        all_bits: the rule applies if all of these bits are set.
        values: the rule applies if the argument is one of these.
        others: the rule applies if the argument is none of these.
        mask: the bits of the argument that are compared with `values` and `others`.
    """

    call: str
    answer: int = _EPERM
    argument: int | None = None
    any_bit: int = 0
    all_bits: int = 0
    values: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    mask: int = 0xFFFFFFFF


def worker_rules(*, network: bool) -> tuple[Rule, ...]:
    """Rules for the zygote and all programs."""
    return (
        *(Rule(call) for call in _DENIED),
        Rule("clone3", _ENOSYS),  # a filter cannot read its flags, which are in memory; libc falls back to clone
        Rule("clone", argument=0, any_bit=_NEW_NAMESPACES),
        Rule("ioctl", argument=1, values=(_TIOCSTI, _TIOCLINUX)),
        # Others change flags of a file, or a file system, through a descriptor that is open for reading.
        Rule("ioctl", _EOPNOTSUPP, argument=1, mask=_IOCTL_KIND, others=(_OF_TERMINALS_AND_PIPES, _OF_SOCKETS)),
        *(Rule(call, _EOPNOTSUPP) for call in _ATTRIBUTES),  # as if the file system had none
        Rule("prlimit64", argument=0, others=(0,)),  # a process may change its own limits only
        Rule("socketpair", argument=0, others=(_AF_UNIX,)),  # event loops need a pair of Unix sockets
        Rule("socket", argument=0, others=(_AF_INET, _AF_INET6)) if network else Rule("socket"),
    )


def child_rules(*, zygote: int, group: int) -> tuple[Rule, ...]:
    """Further rules for programs.

    A program must not leave its process group, because it is killed by the group. It must not change modes and times of
    files, or stop, slow down or kill the zygote, which runs the next program.

    The zygote itself may change modes, because it must remove folders that a program has closed.
    """
    protected = (zygote, 2**32 - group, 2**32 - 1, _INIT)  # 2**32 - 1 is -1: all processes
    return (
        Rule("setsid"),
        Rule("setpgid"),
        # A pipe that refers to a page also keeps the huge page around it, which uses more memory than is counted.
        # The zygote may splice, so that the data which it forwards is never in its memory.
        *(Rule(call, _EINVAL) for call in ("vmsplice", "splice", "tee", "sendfile")),
        Rule("tkill"),  # it takes the id of a thread alone; libraries use tgkill
        *(Rule(call, argument=0, values=protected) for call in _PROCESS_CALLS),
        *(Rule(call, argument=0, values=_PRIORITY_CALLS[call]) for call in _PRIORITY_CALLS),
        *(Rule(call, argument=1, values=protected) for call in _PRIORITY_CALLS),
        *(Rule(call, _FAKE_SUCCESS) for call in _CHMOD_CALLS),
        # None of these calls is made. Without times, it fails for a path, because `Path.touch` takes success as a sign
        # that the file exists. For a descriptor the path is null.
        *(Rule(call, _FAKE_SUCCESS, argument=times, others=(0,)) for call, _, times in _UTIME_CALLS),
        *(Rule(call, argument=path, others=(0,)) for call, path, _ in _UTIME_CALLS),
        *(Rule(call, _FAKE_SUCCESS) for call, _, _ in _UTIME_CALLS),
    )


def watched_rules(*, network: bool) -> tuple[Rule, ...]:
    """Further rules where a supervisor counts memory and disk from outside: they deny what it cannot count.

    Shared memory without a file belongs to no process after its pages are unmapped. A removed file that is sent through
    a socket belongs to no process meanwhile. A process that is not dumpable cannot be inspected. The errors are those
    after which libraries use a fallback.
    """
    return (
        Rule("mmap", argument=3, all_bits=_SHARED_ANONYMOUS),
        Rule("prctl", argument=0, values=(_PR_SET_DUMPABLE,)),
        *(() if network else (Rule("sendmsg"), Rule("sendmmsg"))),
        # Descriptors are counted once per process, so its threads must share one table of them.
        Rule("clone", argument=0, mask=_CLONE_THREAD | _CLONE_FILES, values=(_CLONE_THREAD,)),
        # A socket is counted with its default buffer size.
        Rule("setsockopt", _FAKE_SUCCESS, argument=2, values=(_SO_SNDBUF,)),
        # It takes blocks of the disk without writing, faster than the supervisor can count them.
        Rule("fallocate", _EOPNOTSUPP),
        # The number of these kernel objects is not limited.
        Rule("landlock_create_ruleset", _ENOSYS),
        Rule("fcntl", _EINVAL, argument=1, values=_OFD_LOCKS),
    )


# Filters
#
# Rules become a classic BPF program for seccomp.

_LOAD = 0x20
_AND = 0x54
_JUMP = 0x05
_JUMP_EQUAL = 0x15
_JUMP_GREATER_EQUAL = 0x35
_JUMP_ANY_BIT = 0x45
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_NOTIFY = 0x7FC00000
_KILL_PROCESS = 0x80000000
_NUMBER_OFFSET, _MACHINE_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16  # in struct seccomp_data


def number_of(call: str, machine: str) -> int | None:
    """The number of a system call; None if the machine does not have it."""
    return _NUMBERS[call][list(MACHINES).index(machine)]


def compile_filter(rules: tuple[Rule, ...], machine: str) -> bytes:
    """Compile rules to a BPF program with eight bytes per instruction.

    A system call of another architecture, x32 included, kills the process. A call that is newer than this list fails
    with ENOSYS, as on an older kernel.
    """
    column = list(MACHINES).index(machine)
    program = [
        _instruction(_LOAD, _MACHINE_OFFSET),
        _instruction(_JUMP_EQUAL, MACHINES[machine], true=1),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _NUMBER_OFFSET),
    ]
    if machine == "x86_64":
        program += [_instruction(_JUMP_GREATER_EQUAL, _X32, false=1), _instruction(_RETURN, _KILL_PROCESS)]
    program += [_instruction(_JUMP_GREATER_EQUAL, _FIRST_LATER_CALL, false=1), _instruction(_RETURN, _ERRNO | _ENOSYS)]
    for rule in rules:
        number = _NUMBERS[rule.call][column]
        if number is not None:
            body = _body(rule)
            program += [_instruction(_JUMP_EQUAL, number, false=len(body)), *body]
    program.append(_instruction(_RETURN, _ALLOW))
    return b"".join(program)


def _body(rule: Rule) -> list[bytes]:
    """The instructions after the number of the call has matched. If the rule does not apply, they load it again."""
    answer = _instruction(_RETURN, _NOTIFY if rule.answer == ASK else _ERRNO | rule.answer)
    if rule.argument is None:
        return [answer]
    load = _instruction(_LOAD, _ARGUMENTS_OFFSET + 8 * rule.argument)
    reload = _instruction(_LOAD, _NUMBER_OFFSET)
    if rule.any_bit:
        return [load, _instruction(_JUMP_ANY_BIT, rule.any_bit, false=1), answer, reload]
    if rule.all_bits:
        masked = _instruction(_AND, rule.all_bits)
        return [load, masked, _instruction(_JUMP_EQUAL, rule.all_bits, false=1), answer, reload]
    masked = _instruction(_AND, rule.mask)
    if rule.others:
        return [load, masked, *_jumps(rule.others, beyond=1), answer, reload]
    return [load, masked, *_jumps(rule.values, beyond=2), reload, _instruction(_JUMP, 1), answer]


def _jumps(values: tuple[int, ...], *, beyond: int) -> list[bytes]:
    """One conditional jump per value. The target is `beyond` instructions after the last jump."""
    last = len(values) - 1
    return [_instruction(_JUMP_EQUAL, value, true=last - place + beyond) for place, value in enumerate(values)]


def _instruction(code: int, value: int, *, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, true, false, value)


# The lockdown of a process
#
# If a part is not possible, the others are still applied, and `Lockdown` records it.

_PR_SET_PDEATHSIG = 1
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
        hidden_memory: the /proc entries of the zygote cannot be read.
        adopts_orphans: the zygote becomes the parent of orphaned processes, so it can reap them.
    """

    no_new_privileges: bool
    system_calls: bool
    hidden_memory: bool
    adopts_orphans: bool


def lock_worker(*, network: bool, file_bytes: int, address_space: int | None, hide_memory: bool) -> Lockdown:
    """Restrict the zygote and all processes that it will fork."""
    _set_limits(file_bytes, address_space)
    no_new_privileges = _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    rules = worker_rules(network=network)
    if not hide_memory:
        rules += watched_rules(network=network)
    return Lockdown(
        no_new_privileges=no_new_privileges,
        adopts_orphans=_prctl(_PR_SET_CHILD_SUBREAPER, 1),
        hidden_memory=hide_memory and _prctl(_PR_SET_DUMPABLE, 0),
        system_calls=no_new_privileges and _filter(_compiled(rules)),
    )


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def child_filter() -> bytes:
    """The filter for children of this process, to be made once for all of them; b"" if the machine has none."""
    return _compiled(child_rules(zygote=os.getpid(), group=os.getpgrp()))


def lock_child(its_filter: bytes) -> bool:
    """Restrict a forked child. It cannot leave its process group and ends with its parent: one signal kills all."""
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


def _compiled(rules: tuple[Rule, ...]) -> bytes:
    """A seccomp filter; b"" if the machine does not support it."""
    if not sys.platform.startswith("linux") or (machine := os.uname().machine) not in MACHINES:
        return b""
    return compile_filter(rules, machine)


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
