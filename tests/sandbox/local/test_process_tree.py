"""The resources of a worker's process tree, counted from outside."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from subprocess import DEVNULL

import pytest

import autocoder_jupyter
from autocoder_jupyter.sandbox.local import limits, process_tree

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads Linux's /proc")

MIB = 2**20


def test_a_file_that_two_processes_hold_open_counts_once(tmp_path: Path) -> None:
    with (tmp_path / "gone").open("wb") as file:
        file.write(b"x" * MIB)
        file.flush()
        (tmp_path / "gone").unlink()
        holders = [
            subprocess.Popen(["sleep", "60"], pass_fds=[file.fileno()], stdout=DEVNULL, stderr=DEVNULL)
            for _ in range(2)
        ]
    processes = process_tree.views(holder.pid for holder in holders)
    use = process_tree.disk(tmp_path, processes, process_tree.descriptors(processes), 1000)
    for holder in holders:
        holder.kill()
        holder.wait()
    assert use.bytes == MIB
    assert use.entries == 1


_COUNT = """
import os
if os.getuid() == 0:
    os.setuid(65534)
os.makedirs("closed/in")
open("closed/in/file", "w").close()
print(process_tree.disk(".", [], process_tree.Descriptors(), 1000).hidden, end=" ")
os.chmod("closed", 0o300)
print(process_tree.disk(".", [], process_tree.Descriptors(), 1000).hidden)
"""


def test_a_folder_that_nobody_can_look_into_is_noticed(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    root = str(Path(autocoder_jupyter.__file__).parents[1])
    load = f"import sys\nsys.path.insert(0, {root!r})\nfrom autocoder_jupyter.sandbox.local import process_tree\n"
    said = subprocess.check_output([sys.executable, "-I", "-c", load + _COUNT], cwd=tmp_path, text=True)
    assert said == "False True\n"


_MOVES_AROUND = """
import os
levels, place = [os.open(".", os.O_RDONLY)], "."
for _ in range(8):
    place += "/a"
    os.mkdir(place)
    levels.append(os.open(place, os.O_RDONLY))
with open("file", "wb", opener=lambda name, flags: os.open(name, flags, dir_fd=levels[-1])) as file:
    file.write(b"x" * 2**20)
print("ready", flush=True)
there, here = "a", "b"
while True:
    for level in levels[:-1]:
        os.rename(there, here, src_dir_fd=level, dst_dir_fd=level)
    there, here = here, there
"""


def test_files_that_are_moved_around_are_counted_while_their_processes_stand_still(tmp_path: Path) -> None:
    starts_it = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {_MOVES_AROUND!r}])"
    parent = subprocess.Popen([sys.executable, "-c", starts_it], cwd=tmp_path, stdout=subprocess.PIPE)
    assert parent.stdout and parent.stdout.readline() == b"ready\n"

    def counted() -> process_tree.DiskUse:
        return process_tree.disk(tmp_path, [], process_tree.Descriptors(), 1000)

    for _ in range(50):
        moving = counted()
        assert moving.moved or moving.bytes >= MIB
        with process_tree.stopped(parent.pid):
            still = counted()
        assert not still.moved
        assert still.bytes >= MIB
    assert process_tree.kill_descendants(parent.pid)
    parent.wait()


_MAKES_SHARED_MEMORY = """
import mmap, os, tempfile
kept = []
for _ in range(4):
    descriptor, name = tempfile.mkstemp(dir=".")
    os.unlink(name)
    os.ftruncate(descriptor, 4096)
    kept.append(mmap.mmap(descriptor, 4096))
    os.close(descriptor)
print("ready", flush=True)
input()
"""


def test_files_that_come_while_it_is_counted_break_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Like the locks of `multiprocessing`: made after the descriptors were read, before the mappings are read."""
    command = [sys.executable, "-c", _MAKES_SHARED_MEMORY]
    program = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout and program.stdout.readline() == b"ready\n"
    count, counts = process_tree.descriptors, [process_tree.Descriptors()]
    monkeypatch.setattr(process_tree, "descriptors", lambda processes: counts.pop() if counts else count(processes))
    bounds = limits.WorkerBounds(None, MIB, str(tmp_path))
    assert limits.broken_limit(bounds, program.pid, with_disk=True) is None
    assert not counts
    program.communicate(b"\n")


def test_a_process_whose_first_thread_has_ended_is_seen_and_killed() -> None:
    body = (
        "import ctypes, os, platform, threading, time\n"
        "held = b'x' * (50 << 20)\nthreading.Thread(target=time.sleep, args=(600,)).start()\n"
        "print('ready', flush=True)\n"
        "ctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)"
    )
    starts_it = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {body!r}])"
    parent = subprocess.Popen([sys.executable, "-c", starts_it], stdout=subprocess.PIPE)
    assert parent.stdout and parent.stdout.readline() == b"ready\n"
    (child,) = process_tree.descendants(parent.pid)
    while process_tree._state(child) != b"Z":
        time.sleep(0.001)
    assert process_tree.memory(process_tree.views([child]), 0) > 50 * MIB
    assert not process_tree.is_zombie(child)
    assert process_tree.kill_descendants(parent.pid)
    assert parent.wait(30) == 0


def test_memory_is_also_what_is_swapped_out_and_what_pages_are_listed_in(tmp_path: Path) -> None:
    status = "Name:\tx\nVmRSS:\t  3000 kB\nVmPTE:\t 100 kB\nVmSwap:\t 2000 kB\nHugetlbPages:\t 40 kB\n"
    (tmp_path / "status").write_text(status)
    assert process_tree.memory([str(tmp_path)], 10 * MIB) == 5140 * 1024
    (tmp_path / "smaps_rollup").write_text(
        "Rss: 3000 kB\nPss:  1000 kB\nPss_Anon: 900 kB\nSwap: 9 kB\nSwapPss: 500 kB\n"
    )
    assert process_tree.memory([str(tmp_path)], MIB) == 1640 * 1024
