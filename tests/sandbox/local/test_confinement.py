"""The confinement of a local worker, for each tier: attacks by a program that uses only the standard library.

The suites in `any_sandbox` run on the strongest tier that works here; these attacks run on each. They import no
libraries, so they can run on another kernel in an emulator (`tools/old_kernel`).
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.local import trial
from autocoder_jupyter.sandbox.local.confinement import kernel_features
from autocoder_jupyter.sandbox.local.confinement.process import TIERS, ConfinementTier
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox, _start_trial
from autocoder_jupyter.sandbox.local.trial import read_all
from autocoder_jupyter.sandbox.protocol import Environment, WorkerLimits, WorkerSpec
from autocoder_jupyter.sandbox.worker.lockdown import number_of

pytestmark = [
    pytest.mark.local_sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox is Linux's"),
]

MACHINE = os.uname().machine

FILES = {
    "read a file": "open(canary).read()",
    "read it through a link": "os.symlink(canary, 'link'); open('link').read()",
    "read it through the root of a process": "open('/proc/self/root' + canary).read()",
    "read it from the folder above": "os.open(os.path.basename(beside), os.O_RDONLY, dir_fd=os.open('..', os.O_PATH))",
    "give it another name": "os.link(canary, 'mine')",
    "move it here": "os.rename(canary, 'mine')",
    "append to a file": "open(canary, 'a').write('x')",
    "write beside it": "open(beside + '-new', 'w')",
    "make a folder": "os.mkdir(beside + '-folder')",
    "remove a file": "os.unlink(canary)",
    "empty a file": "os.truncate(canary, 0)",
    "empty it by opening": "os.open(canary, os.O_RDONLY | os.O_TRUNC)",
    "open it with no right at all": "os.open(canary, 3)",
    "list a home": "os.listdir(os.path.dirname(canary))",
    "read the environment of the notebook": "open(f'/proc/{notebook}/environ').read()",
    "read the memory of the notebook": "open(f'/proc/{notebook}/mem', 'rb').read(1)",
    "change a setting of the kernel": "open('/proc/sys/kernel/core_pattern', 'w').write('x')",
    "open a device": "open('/dev/mem', 'rb')",
    "read the kernel's log": "open('/dev/kmsg')",
    "make a device": "os.mknod('device', 0o60600, os.makedev(8, 0))",
    "write to the system": "open('/usr/autocode-canary', 'w')",
    "read an attribute of a file": "os.getxattr(canary, 'user.origin')",
    "write an attribute of a file": "os.setxattr(canary, 'user.x', b'x')",
    "write an attribute by a later call": "call(463, -100, os.fsencode(canary), 0, b'user.x', attribute(b'x'), 16)",
    "change flags by a later call": "call(469, -100, os.fsencode(canary), struct.pack('QQQ', 64, 0, 0), 24, 0)",
    "change flags of a file that it may read": "fcntl.ioctl(open(os.__file__), 0x40086602, struct.pack('q', 64))",
    "hold up who writes a file that it may read": "fcntl.fcntl(open(os.__file__), 1024, fcntl.F_RDLCK)",
    "list what is mounted": "call(458, struct.pack('IIQQQ', 24, 0, 2**64 - 1, 0, 0), bytes(800), 100, 0)",
}

PROCESSES = {
    "signal the notebook": "os.kill(notebook, 0)",
    "signal a thread of it": "call('tgkill', notebook, notebook, 0)",
    "signal its group": "os.killpg(group, 0)",
    "have the kernel signal it": "fcntl.fcntl(pair[0].fileno(), 8, notebook)",
    "slow it down": "os.setpriority(os.PRIO_PROCESS, notebook, 19)",
    "slow its group down": "os.setpriority(os.PRIO_PGRP, group, 19)",
    "slow its user down": "os.setpriority(os.PRIO_USER, os.getuid(), os.getpriority(os.PRIO_USER, os.getuid()))",
    "move it to another core": "os.sched_setaffinity(notebook, [0])",
    "change its scheduling": "os.sched_setscheduler(notebook, os.SCHED_BATCH, os.sched_param(0))",
    "change its limits": "resource.prlimit(notebook, resource.RLIMIT_NOFILE, (64, 64))",
    "hold a handle of it": "os.pidfd_open(notebook)",
    "trace it": "call('ptrace', 16, notebook, 0, 0)",
    "read its memory": "call('process_vm_readv', notebook, 0, 0, 0, 0, 0)",
    "attach the memory that it shares": "call('shmat', segment, 0, 0)",
    "remove the memory that it shares": "call('shmctl', segment, 0, 0)",
    "read its messages": "call('msgrcv', queue, bytes(64), 50, 0, 0o4000)",
    "change its semaphores": "call('semctl', semaphore, 0, 16, 7)",
}

SOCKETS = {
    "connect to a port": "socket.socket().connect(('127.0.0.1', port))",
    "send a datagram": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', port))",
    "connect to a socket in a folder": "socket.socket(socket.AF_UNIX).connect(path_socket)",
    "connect to a socket without a file": "socket.socket(socket.AF_UNIX).connect('\\0' + path_socket)",
    "write to a name from a pair": "socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', path_socket)",
    "reconnect a pair": "pair[0].connect(path_socket)",
    "listen": "socket.create_server(('127.0.0.1', 0))",
    "speak to the kernel": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "speak to the machine around": "socket.socket(socket.AF_VSOCK)",
}

KERNEL = {
    "make namespaces": "call('unshare', 0x10000000)",
    "make namespaces with a process": "call('clone', 0x10000011, 0, 0, 0, 0)",
    "mount": "call('mount', 0, 0, 0, 0, 0)",
    "change the root": "call('chroot', b'/\\0')",
    "load a program into the kernel": "call('bpf', 0, 0, 0)",
    "count events": "call('perf_event_open', 0, 0, 0, 0, 0)",
    "use a ring": "call('io_uring_setup', 1, b'\\0' * 120)",
    "handle page faults": "call('userfaultfd', 1)",
    "use its key ring": "call('keyctl', 0, -3, 1)",
    "watch files": "call('inotify_init1', 0)",
    "hold a file in memory": "os.memfd_create('x')",
    "share memory": "call('shmget', 0, 4096, 0o1600)",
    "type into a terminal": "call('ioctl', 0, 0x5412, b'x')",
    "gain a privilege": "call('capset', b'\\x22\\x05\\x08\\x20' + bytes(4), b'\\xff' * 24)",
}

ALLOWED = {
    "write its folder": "open('file', 'w').write('x')",
    "move within its folder": "open('a', 'w'); os.rename('a', 'b')",
    "empty its own file": "open('c', 'w').write('x'); os.truncate('c', 0) if own_truncate else open('c', 'w')",
    "run a program": "subprocess.run(['/bin/true'], check=True)",
    "end a program that it started": "p = sleeper(); p.kill(); p.wait()",
    "end a group that it started": "p = sleeper(); os.killpg(p.pid, 9); p.wait()",
    "slow down what it started": "p = sleeper(); os.setpriority(os.PRIO_PROCESS, p.pid, 19); p.kill(); p.wait()",
    "choose its cores": "os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "signal its own thread": "signal.pthread_kill(threading.get_ident(), 0)",
    "have a pair of sockets": "pair[0].send(b'x'); assert pair[1].recv(1) == b'x'",
    "start threads": "t = threading.Thread(target=int); t.start(); t.join()",
    "draw random numbers": "os.urandom(8)",
}

ATTACKS = FILES | PROCESSES | SOCKETS | KERNEL
SEEN = {
    "see whether a file exists": "os.stat(canary)",
    "see whether a process exists": "os.getpgid(notebook)",
    "see the processor time of a process": "time.clock_gettime((~notebook << 3) | 2)",
}
EVERYBODY = {"signal everybody": "os.kill(-1, signal.SIGUSR1)"}
"""If signals are scoped, the call succeeds but reaches no other process; the bystander checks that."""

CALLED = (
    *("tgkill", "ptrace", "process_vm_readv", "unshare", "clone", "mount", "chroot", "bpf", "perf_event_open"),
    *("io_uring_setup", "userfaultfd", "keyctl", "inotify_init1", "shmget", "ioctl", "capset"),
    *("shmat", "shmctl", "msgrcv", "semctl"),
)

PROGRAM = """
import ctypes, fcntl, json, os, resource, signal, socket, struct, subprocess, sys, threading, time
given = json.loads(sys.argv[1])
numbers, tries = given.pop("numbers"), given.pop("tries")
globals().update(given)
libc = ctypes.CDLL(None, use_errno=True)
pair = socket.socketpair()
def sleeper():
    return subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)
def attribute(value, kept=[]):
    kept.append(ctypes.create_string_buffer(value))
    return struct.pack("QII", ctypes.addressof(kept[-1]), len(value), 0)
def call(name, *arguments):
    words = (ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)
    answer = libc.syscall(ctypes.c_long(numbers.get(name, name)), *words)
    if answer == -1:
        raise OSError(ctypes.get_errno(), str(name))
    if name == "clone" and answer == 0:
        os._exit(0)
said = {}
for name, source in tries.items():
    try:
        exec(source)
        said[name] = "done"
    except BaseException as error:
        said[name] = f"{type(error).__name__}: {error}"
print(json.dumps(said), flush=True)
"""


MUST_HOLD = os.environ.get("AUTOCODE_TEST_TIERS", "").split(",")
"""Tiers that must work on this kernel; a skipped test of one of them is a failure."""


@pytest.fixture(scope="module", autouse=True)
def patience() -> Iterator[None]:
    """A busy emulated machine needs more time for the trial than a user would wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "_SECONDS", 600.0)
        yield


@pytest.fixture(scope="module")
def said_by_tier() -> dict[str, dict[str, str] | str]:
    return {}


# Namespaces alone do not confine root.
@pytest.fixture(params=[tier for tier in TIERS if tier.landlock or os.geteuid()], ids=lambda tier: tier.name)
def said(
    request: pytest.FixtureRequest,
    said_by_tier: dict[str, dict[str, str] | str],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, str]:
    """The result of each attempt in a worker of one tier; all run once, in one worker."""
    tier: ConfinementTier = request.param
    if tier.name not in said_by_tier:
        refusal = trial._beforehand(tier, kernel_features.landlock_version()) or trial._refusal(_start_trial, tier)
        with ExitStack() as stack:
            outside = tmp_path_factory.mktemp("outside")
            said_by_tier[tier.name] = refusal or _tried(stack, tier, outside)
    said = said_by_tier[tier.name]
    if isinstance(said, str):
        assert tier.name not in MUST_HOLD, said
        pytest.skip(f"{tier.name} does not hold here: {said}")
    return said


def _tried(stack: ExitStack, tier: ConfinementTier, outside: Path) -> dict[str, str]:
    canary, beside, path_socket = outside / "canary", outside / "beside", f"/tmp/autocode-{os.getpid()}"
    for file in (canary, beside):
        file.write_text("nobody may read this", "utf-8")
    for address in (path_socket, f"\0{path_socket}"):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
            if kind == socket.SOCK_STREAM:
                listener.bind(address)
                listener.listen()
    stack.callback(os.unlink, path_socket)
    with suppress(OSError):  # a file system without attributes
        os.setxattr(canary, "user.origin", b"https://name:password@host")
    before = metadata(canary), flags_of(os.__file__)
    segment, queue, semaphore = shared_by_number(stack)
    bystander = stack.enter_context(subprocess.Popen(["sleep", "600"], start_new_session=True))
    stack.callback(bystander.kill)
    given = {
        "canary": str(canary),
        "beside": str(beside),
        "path_socket": path_socket,
        "port": stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1],
        "notebook": bystander.pid,
        "group": bystander.pid,
        "segment": segment,
        "queue": queue,
        "semaphore": semaphore,
        "own_truncate": tier.namespaces or kernel_features.landlock_version() >= 3,
        "numbers": {name: number_of(name, MACHINE) for name in CALLED},
        "tries": ATTACKS | SEEN | ALLOWED | EVERYBODY,
    }
    process = _start_trial(tier, ["-I", "-S", "-B", "-c", PROGRAM, json.dumps(given)])
    try:
        printed, complaint = (read_all(end.fileno()) for end in (process.data, process.control))
    finally:
        process.kill()
    assert printed, complaint.decode()
    assert canary.read_text("utf-8") == "nobody may read this"
    assert (metadata(canary), flags_of(os.__file__)) == before
    assert sorted(path.name for path in outside.iterdir()) == ["beside", "canary"]
    assert bystander.poll() is None
    assert os.getpriority(os.PRIO_PROCESS, bystander.pid) == os.getpriority(os.PRIO_PROCESS, 0)
    said: dict[str, str] = json.loads(printed)
    return said


def metadata(file: Path) -> tuple[int, ...]:
    """Mode, owner and times of a file, except of its last reading."""
    found = file.stat()
    return found.st_mode, found.st_uid, found.st_mtime_ns, found.st_ctime_ns


def flags_of(file: str) -> bytes | None:
    """The flags that `chattr` shows. None if the file system has none."""
    with Path(file).open() as opened, suppress(OSError):
        return fcntl.ioctl(opened, 0x80086601, bytes(8))
    return None


def shared_by_number(stack: ExitStack) -> tuple[int, int, int]:
    """The numbers of a shared segment, of a queue with a message and of a semaphore of this user."""
    libc = ctypes.CDLL(None)
    numbers = libc.shmget(0, 4096, 0o1600), libc.msgget(0, 0o1600), libc.semget(0, 1, 0o1600)
    assert min(numbers) >= 0
    libc.msgsnd(numbers[1], b"\1" + bytes(7) + b"for the user only", 17, 0)
    stack.callback(libc.shmctl, numbers[0], 0, None)
    stack.callback(libc.msgctl, numbers[1], 0, None)
    stack.callback(libc.semctl, numbers[2], 0, 0)
    return numbers


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_fails(said: dict[str, str], attack: str) -> None:
    assert said[attack] != "done"
    assert not said[attack].startswith(("NameError", "SyntaxError", "TypeError", "AttributeError"))


@pytest.mark.parametrize("action", ALLOWED)
def test_an_honest_program_works(said: dict[str, str], action: str) -> None:
    assert said[action] == "done"


@pytest.mark.parametrize("what", SEEN)
def test_namespaces_hide_whether_a_file_or_a_process_exists(
    said: dict[str, str], what: str, request: pytest.FixtureRequest
) -> None:
    tier: ConfinementTier = request.node.callspec.params["said"]
    assert (said[what] == "done") != tier.namespaces


@pytest.mark.skipif(
    os.geteuid() != 0 or kernel_features.landlock_version() > 0, reason="for root, on a kernel without Landlock"
)
def test_root_runs_nothing_where_there_is_no_landlock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trial, "_answer", None)
    probe = LocalSandbox().probe()
    assert not probe.available
    assert "a user other than root" in probe.reason
    with pytest.raises(SandboxUnavailable):
        LocalSandbox().start(WorkerSpec(Environment("k", str(tmp_path), (), sys.version_info[:2]), WorkerLimits()))


def test_what_a_version_of_landlock_lacks_is_in_the_filter() -> None:
    def refused(version: int) -> set[str]:
        return {rule.call for rule in kernel_features.filter_rules(network=False, landlock=version, namespaces=False)}

    assert {"truncate"} <= refused(2) - refused(3)
    assert {"kill", "tgkill"} <= refused(5) - refused(6)
    assert {"socket", "connect", "socketpair", "ptrace"} <= refused(6)
