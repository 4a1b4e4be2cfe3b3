"""Programs that use memory or disk that a process's size does not include: it is refused, or counted and ended."""

from __future__ import annotations

import textwrap

import pytest

from autocoder_jupyter.errors import SandboxError, SandboxTimeout
from autocoder_jupyter.sandbox.protocol import Sandbox, Worker
from tests.sandbox.sandboxes import say

BEGIN = """
import contextlib, fcntl, platform, select
MIB, PAGE = 2**20, 4096
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
NUMBER = lambda x86_64, aarch64: x86_64 if platform.machine() == "x86_64" else aarch64
holding, tell = os.pipe()
failed = 2**64 - 1
def mapped(address, size, rights, flags, descriptor=-1):
    place = libc.mmap(address, size, rights, flags, descriptor, 0)
    if place == failed:
        raise OSError(ctypes.get_errno(), "mmap")
    return place
def held(processes=1):
    "Wait until so many processes say that they hold what they took, and until the supervisor could have looked."
    for _ in range(processes):
        ready, _, _ = select.select([holding], [], [], 15)
        if not ready or os.read(holding, 1) != b"x":
            return "blocked"
    time.sleep(1.5)
    return "held"
def in_processes(count, take):
    for _ in range(count):
        if not os.fork():
            try:
                kept = take()
                os.write(tell, b"x")
                time.sleep(600)
            except BaseException as error:
                os.write(tell, b"-")
            os._exit(0)
    return held(count)
"""

DEAD_LEADER = """
def take():
    def hold():
        kept = np.ones(900 * MIB // 8)
        os.write(tell, b"x")
        time.sleep(600)
    threading.Thread(target=hold).start()
    libc.syscall(NUMBER(60, 93), 0)  # ends only this thread, the first of its process
return in_processes(1, take)
"""

STOPPED = """
def take():
    kept = np.ones(900 * MIB // 8)
    os.write(tell, b"x")
    os.kill(os.getpid(), signal.SIGSTOP)
return in_processes(1, take)
"""

DEV_ZERO = """
zero = os.open("/dev/zero", os.O_RDWR)  # if opened only for reading, its mapping is private
size = 90 * MIB
for _ in range(10):
    place = mapped(None, size, 3, 1, zero)
    ctypes.memset(place, 1, size)
    libc.madvise(place, size, 4)
time.sleep(1.5)
return "held"
"""

PINNED = """
class Piece(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))
huge = 2 * MIB
def pinned():
    place = mapped(None, 2 * huge, 3, 0x22)
    page = -(-place // huge) * huge
    libc.madvise(page, huge, 14)
    ctypes.memset(page, 1, huge)
    reading, writing = os.pipe()
    if libc.vmsplice(writing, ctypes.byref(Piece(page, PAGE)), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "vmsplice")
    libc.munmap(place, 2 * huge)
    return reading, writing
kept = [pinned() for _ in range(450)]
time.sleep(1.5)
return "held"
"""

SOCKETS = """
def take():
    kept = []
    for _ in range(400):
        pair = socket.socketpair()
        for end in pair:
            end.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    end.send(b"x" * 32768)
        kept.append(pair)
    return kept
return in_processes(7, take)
"""

PAGE_TABLES = """
def take():
    for number in range(64, 40_000):
        with contextlib.suppress(OSError):  # another mapping is there
            ctypes.string_at(mapped(number * 2**30, PAGE, 1, 0x100022), 1)
return in_processes(3, take)
"""

MOVED_AROUND = """
levels, place = [os.open(".", os.O_RDONLY)], "."
for _ in range(8):
    place += "/a"
    os.mkdir(place)
    levels.append(os.open(place, os.O_RDONLY))
def move_around():
    there, here = "a", "b"
    while True:
        for level in levels[:-1]:
            os.rename(there, here, src_dir_fd=level, dst_dir_fd=level)
        there, here = here, there
mover = os.fork()
if not mover:
    move_around()
time.sleep(0.3)
for number in range(8):
    with open(str(number), "wb", opener=lambda name, flags: os.open(name, flags, dir_fd=levels[-1])) as file:
        file.write(b"x" * (20 * MIB))
time.sleep(3)
return "held"
"""

NOT_WRITTEN = """
with open("f", "wb") as file:
    for keep_size in (1, 0):
        for number in range(5):
            if libc.fallocate(file.fileno(), keep_size, ctypes.c_long(number * 40 * MIB), ctypes.c_long(40 * MIB)):
                raise OSError(ctypes.get_errno(), "fallocate")
return "held"
"""

OWN_TABLE = """
stack = ctypes.create_string_buffer(MIB)
top = ctypes.c_void_p(ctypes.addressof(stack) + MIB // 2)
started = libc.syscall(NUMBER(56, 220), 0x10900, top, None, None, None)  # a thread, without the others' descriptors
raise OSError(ctypes.get_errno(), "clone")
"""


def attempt(worker: Worker, body: str) -> str:
    """The program's answer; "blocked" with the error if the system refused something."""
    tried = textwrap.indent(body.strip(), "    ")
    return say(worker, f"{BEGIN}\ntry:\n{tried}\nexcept OSError as error:\n    return f'blocked {{error}}'", seconds=19)


@pytest.mark.parametrize(
    "body",
    [DEAD_LEADER, STOPPED, DEV_ZERO, PINNED, SOCKETS, PAGE_TABLES],
    ids=["dead leader", "stopped", "shared zeros", "pinned by a pipe", "sockets", "page tables"],
)
def test_memory_is_not_held_in(worker: Worker, body: str) -> None:
    try:
        said = attempt(worker, body)
    except SandboxError as error:
        assert not isinstance(error, SandboxTimeout)
    else:
        assert said.startswith("blocked")


@pytest.mark.parametrize("body", [MOVED_AROUND, NOT_WRITTEN], ids=["moved around", "not written"])
def test_disk_is_not_held_by_files_that_are(worker: Worker, body: str) -> None:
    try:
        said = attempt(worker, body)
    except SandboxError as error:
        assert not isinstance(error, SandboxTimeout)
    else:
        assert said.startswith("blocked")


def test_a_thread_has_no_descriptors_of_its_own(sandbox: Sandbox, worker: Worker) -> None:
    """The supervisor reads one table of descriptors for each process; in a container the kernel counts."""
    if sandbox.name == "local":
        assert attempt(worker, OWN_TABLE).startswith("blocked")


def test_what_libraries_ask_for_first_may_be_refused_and_they_take_the_plain_way(worker: Worker) -> None:
    body = """
        import shutil, sqlite3
        Path("one").write_bytes(b"x" * 100_000)
        shutil.copy("one", "two")
        with open("two", "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, 200_000)
        lines = subprocess.run("cat one two | wc -c; cp one three; ls", shell=True, capture_output=True, text=True)
        with sqlite3.connect("base") as base:
            base.execute("create table numbers (number)")
            base.execute("insert into numbers values (1)")
        left, right = socket.socketpair()
        left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
        left.send(b"x")
        return " ".join(lines.stdout.split()) + lines.stderr
    """
    assert say(worker, body) == "300000 one three two"
