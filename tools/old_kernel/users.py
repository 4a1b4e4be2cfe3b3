"""Runs commands or tests as several users of the guest, at the same time.

    python users.py TRIES     (as the guest's root; TRIES is a JSON list with the fields of `guest.Try`)

Each user's process is forked from one that has imported what the tests need: an emulated machine needs a quarter of a
minute for that.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import shutil
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn

GROUPS = Path("/sys/fs/cgroup")
LIBRARIES = ("pandas", "pytest", "tests.sandbox.sandboxes")

_NEW_MOUNTS, _PRIVATE, _DUMPABLE = 0x20000, 0x4000 | 0x40000, 4
"""CLONE_NEWNS, MS_REC with MS_PRIVATE, and PR_SET_DUMPABLE."""

_libc = ctypes.CDLL(None, use_errno=True)


def main(tries: list[dict[str, Any]]) -> None:
    """Run all of them. Each line of their output begins with the user, and so does the line with the exit code."""
    if any(one["tests"] for one in tries):
        for library in LIBRARIES:
            importlib.import_module(library)
        gc.freeze()  # a collection in a child would copy the memory that it shares
    running = []
    for one in tries:
        ours, theirs = os.pipe()
        if (process := os.fork()) == 0:
            _run(theirs, **one)
        os.close(theirs)
        running.append((process, ours, f"as {one['user']}{' in a group' * one['in_group']}: "))
    printing = [threading.Thread(target=_print, args=each) for each in running]
    for thread in printing:
        thread.start()
    for thread in printing:
        thread.join()


def _print(process: int, output: int, name: str) -> None:
    with open(output, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            print(name + line.rstrip("\n"), flush=True)
    print(f"{name}exit code {os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])}", flush=True)


def _run(output: int, user: str, command: list[str], in_group: bool, tests: bool) -> NoReturn:
    """Become the user, and run the tests or the program. This is a forked process, which ends here."""
    code: int = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream in (1, 2):
            os.dup2(output, stream)
        _become(user, in_group)
        if not tests:
            os.execvp(command[0], command)
        import pytest

        code = int(pytest.main(command))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _become(user: str, in_group: bool) -> None:
    """Take the user's rights and environment. In a group that belongs to the user, or without control groups."""
    number = 0 if user == "root" else int(user)
    home = Path(f"/run/home-{user}")
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    (home / "private").write_text("private\n")
    _give(home, number)
    if in_group:  # as in a systemd session
        group = GROUPS / f"user-{user}"
        (group / "session").mkdir(parents=True)
        for place in (GROUPS, group):
            (place / "cgroup.subtree_control").write_text("+memory +pids")
        _give(group, number)
        (group / "session/cgroup.procs").write_text(str(os.getpid()))
        os.environ["AUTOCODE_TEST_CONTROL_GROUP"] = "1"
    else:
        _checked(_libc.unshare(_NEW_MOUNTS))
        _checked(_libc.mount(None, b"/", None, ctypes.c_ulong(_PRIVATE), None))
        _libc.umount2(os.fsencode(GROUPS), 0)  # an old kernel may have none
    if number:
        os.setgroups([])
        os.setresgid(number, number, number)
        os.setresuid(number, number, number)
        _checked(_libc.prctl(_DUMPABLE, 1, 0, 0, 0))  # a program that is started anew can read its own /proc, too
    os.environ |= {"HOME": str(home), "TMPDIR": str(home / "tmp")}
    tempfile.tempdir = None


def _give(folder: Path, number: int) -> None:
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, number, number)


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
