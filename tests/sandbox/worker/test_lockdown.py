from __future__ import annotations

import platform
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.sandbox.host.channel import ChannelWorker
from autocoder_jupyter.sandbox.worker import lockdown
from tests.sandbox.conftest import MakeProgram, StartPlain

filtered = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in lockdown.MACHINES, reason="no seccomp filter for this machine"
)


def test_the_worker_says_which_of_its_locks_hold(worker: ChannelWorker) -> None:
    if sys.platform == "linux":
        assert worker.facts["lockdown"]["no_new_privileges"] and worker.facts["lockdown"]["adopts_orphans"]
    assert isinstance(worker.facts["lockdown"]["system_calls"], bool)


_CALL = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in args))
    return "done" if answer >= 0 else errno.errorcode[ctypes.get_errno()]
"""


@filtered
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ptrace", (0, 0, 0, 0)),
        ("io_uring_setup", (1, 0)),
        ("bpf", (0, 0, 0)),
        ("perf_event_open", (0, 0, 0, 0, 0)),
        ("userfaultfd", (0,)),
        ("keyctl", (0, 0)),
        ("unshare", (0x10000000,)),
        ("setns", (0, 0)),
        ("mount", (0, 0, 0, 0, 0)),
        ("chroot", (0,)),
        ("process_vm_readv", (1, 0, 0, 0, 0, 0)),
        ("socket", (2, 1, 0)),
        ("socket", (1, 1, 0)),
        ("socket", (38, 5, 0)),
        ("socket", (40, 1, 0)),
        ("socketpair", (2, 1, 0, 0)),
        ("clone", (0x10000000, 0, 0, 0, 0)),
        ("setsid", ()),
        ("setpgid", (0, 0)),
        ("prlimit64", (1, 7, 0, 0)),
        ("shmget", (0, 4096, 0o1600)),
        ("shmat", (0, 0, 0)),
        ("mq_unlink", (0,)),
        ("pidfd_send_signal", (0, 19, 0, 0)),
        ("ioctl", (0, 0x5412, 0)),
    ],
)
def test_a_forbidden_call_is_refused(
    worker: ChannelWorker, program: MakeProgram, name: str, arguments: tuple[Any, ...] | tuple[int, ...]
) -> None:
    number = lockdown._NUMBERS[name][list(lockdown.MACHINES).index(platform.machine())]
    code = f"{_CALL}\ndef run(): return call({number}, *{arguments})"
    assert worker.call(program(code, "", "answer: str"), {}).values == {"answer": "EPERM"}


@filtered
def test_a_call_that_is_newer_than_the_list_does_not_exist(worker: ChannelWorker, program: MakeProgram) -> None:
    code = f"{_CALL}\ndef run(): return call(463, 0, 0, 0, 0, 0, 0) + call(470, 0)"
    assert worker.call(program(code, "", "answer: str"), {}).values == {"answer": "ENOSYS" * 2}


@filtered
def test_a_new_session_cannot_hide_a_process(worker: ChannelWorker, program: MakeProgram) -> None:
    code = "import subprocess\ndef run(): subprocess.run(['true'], start_new_session=True); return 1"
    with pytest.raises(Exception, match=r"PermissionError|SubprocessError"):
        worker.call(program(code), {})


@filtered
def test_internet_sockets_exist_only_when_the_network_is_allowed(start_plain: StartPlain, program: MakeProgram) -> None:
    code = "import socket\ndef run(family): socket.socket(family).close(); return 1"
    networked = start_plain(network=True)
    assert networked.call(program(code, "family: int"), {"family": 2}).values == {"result": 1}
    with pytest.raises(Exception, match="PermissionError"):
        networked.call(program(code, "family: int"), {"family": 1})


def test_honest_file_work_goes_on(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import os, shutil, stat\nfrom pathlib import Path\n"
        "def run():\n"
        "    Path('new').touch(); Path('new').touch(); Path('new').write_text('x')\n"
        "    shutil.copy('new', 'a'); shutil.copy2('new', 'b'); shutil.copytree('.', 'tree')\n"
        "    os.rename('a', 'c'); os.symlink('c', 'd')\n"
        "    return sorted(os.listdir('.')) + sorted(os.listdir('tree'))\n"
    )
    names = worker.call(program(code, "", "names: list"), {}).values["names"]
    assert names == ["b", "c", "d", "new", "tree", "a", "b", "new"]


@filtered
def test_the_modes_and_times_of_files_outside_stay_as_they_are(
    worker: ChannelWorker, program: MakeProgram, tmp_path: Path
) -> None:
    target = tmp_path / "host.txt"
    target.write_text("x")
    target.chmod(0o640)
    before = target.stat()
    code = (
        "import ctypes, mmap, os, pathlib\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
        "def run(path):\n"
        "    os.chmod(path, 0o777); os.utime(path, (1, 1)); pathlib.Path(path).touch()\n"
        "    with open(path) as opened: os.utime(opened.fileno())\n"
        "    # Times at an address whose lower half is zero: a filter sees halves.\n"
        "    times = libc.mmap(ctypes.c_void_p(2**32), ctypes.c_size_t(4096), 3, 0x32, -1, 0)\n"
        "    libc.utimensat(-100, path.encode(), ctypes.c_void_p(times), 0)\n"
        "    return 1\n"
    )
    worker.call(program(code, "path: str"), {"path": str(target)})
    assert (target.stat().st_mode, target.stat().st_mtime) == (before.st_mode, before.st_mtime)


def test_limits_cannot_be_raised(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import resource as r\n"
        "def run():\n"
        "    try: r.setrlimit(r.RLIMIT_CORE, (1, 1))\n"
        "    except (ValueError, OSError): pass\n"
        "    return [r.getrlimit(r.RLIMIT_CORE)[0], r.getrlimit(r.RLIMIT_NOFILE)[1]]\n"
    )
    core, files = worker.call(program(code, "", "limits: list"), {}).values["limits"]
    assert core == 0 and files <= 1024


def test_a_program_holds_no_descriptor_but_its_own_pipes(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import os\n"
        "def run():\n"
        "    return [os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in os.listdir('/proc/self/fd')"
        " if os.path.exists(f'/proc/self/fd/{n}') or os.path.islink(f'/proc/self/fd/{n}')]\n"
    )
    kinds = worker.call(program(code, "", "kinds: list"), {}).values["kinds"]
    assert kinds.count("pipe") == 5 and set(kinds) <= {"pipe", "/dev/null"} | {k for k in kinds if "fd" in k}


def test_threads_of_numerical_libraries_follow_the_cores(worker: ChannelWorker, program: MakeProgram) -> None:
    code = "import os\ndef run(): return os.environ['OMP_NUM_THREADS'] + os.environ['MPLBACKEND']"
    assert worker.call(program(code, "", "v: str"), {}).values == {"v": "1Agg"}


@pytest.mark.parametrize("machine", list(lockdown.MACHINES))
def test_filters_for_every_machine_are_whole(machine: Any) -> None:
    for rules in (
        lockdown.worker_rules(network=False),
        lockdown.worker_rules(network=True),
        lockdown.child_rules(zygote=7, group=7),
    ):
        code = lockdown.compile_filter(rules, machine)
        instructions = list(struct.iter_unpack("=HBBI", code))
        assert len(instructions) < 4096
        for place, (_, true, false, _) in enumerate(instructions):
            assert place + 1 + max(true, false) < len(instructions) or (true, false) == (0, 0)
        assert instructions[-1][3] == lockdown._ALLOW
