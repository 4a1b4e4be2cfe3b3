"""Run one shell command: write the files, run it, and return its output and the files.

This module is not a security boundary. The command can reach everything that the sandbox allows, this process included.
So the host does not trust the answer, and the process group of the child is killed afterwards.
"""

from __future__ import annotations

import os
import select
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import frames
from .relay import FLOOD, Capture

MOST_FILES = 200
FILE_BYTES = 2**20
ALL_BYTES = 4 * 2**20
DEPTH = 8
"""Most parts of a path, including the name of the file."""

LONGEST_PATH = 200
MOST_LEFT_OUT = 20
"""Most files that are named when they are left out. Further ones are only counted."""

OUTPUT_BYTES = 30_000
"""Bytes that are kept of the output of a command, head and tail together."""


_POLL_SECONDS = 0.05
_NOT_REGULAR = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
_KEPT_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "MPLBACKEND")


def answer(header: Mapping[str, Any], payload: memoryview) -> list[Any]:
    """Run the command of a request in a folder with its files, and return the frame of the answer.

    The folder is inside the child's own folder, which is its home and temporary folder. So files that tools write there
    are not part of the workspace.
    """
    root = Path("workspace").resolve()
    root.mkdir()
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _unpack(root, header["files"], payload)
        ended, output = _run(header["command"], root, header["seconds"])
        collected = CollectedFiles()
        collected.collect(folder)
    except OSError as error:
        return [frames.pack({"kind": "error", "error": "Workspace", "message": str(error), "payload": 0})]
    reply = {
        "kind": "command",
        **ended,
        "output": output.replace(f"{root}/", "").replace(str(root), "."),
        "files": [{"path": path, "size": len(content)} for path, content in collected.files.items()],
        "left_out": collected.left_out,
        "more_left_out": collected.more_left_out,
        "payload": sum(map(len, collected.files.values())),
    }
    return [frames.pack(reply), *collected.files.values()]


def _unpack(root: Path, entries: list[dict[str, Any]], payload: memoryview) -> None:
    position = 0
    for entry in entries:
        target = root / entry["path"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(payload[position : position + entry["size"]])
        position += entry["size"]


def _run(command: str, root: Path, seconds: float) -> tuple[dict[str, Any], str]:
    """Run the command. Returns how it ended, and the head and tail of its output and error stream in one text.

    It has ended when the shell has. Background processes may keep the pipe open; they are not waited for.
    """
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    output = Capture(reading, OUTPUT_BYTES)
    shell = shutil.which("bash") or "/bin/sh"
    deadline = time.monotonic() + seconds
    process = subprocess.Popen(
        [shell, "-c", command], cwd=root, env=_variables(), stdin=subprocess.DEVNULL, stdout=writing, stderr=writing
    )
    os.close(writing)
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    stopped = ""
    while process.poll() is None and not stopped:
        if output.ended:
            time.sleep(_POLL_SECONDS)
        elif poll.poll(_POLL_SECONDS * 1000):
            output.step()
        if output.total > FLOOD:
            stopped = "flooded"
        elif time.monotonic() > deadline:
            stopped = "timed out"
    if stopped:
        process.kill()
        process.wait()
    while not output.ended and poll.poll(0) and output.total <= FLOOD:
        output.step()
    return {"exit_code": process.returncode, "stopped": stopped}, output.text()


def _variables() -> dict[str, str]:
    """The environment variables of a command. Those of programs and of the image are not among them."""
    own = Path.cwd()
    return {
        "PATH": f"{_python_folder(own)}:/usr/local/bin:/usr/bin:/bin",
        **dict.fromkeys(("HOME", "TMPDIR", "MPLCONFIGDIR"), str(own)),
        **dict.fromkeys(("LANG", "LC_ALL"), "C.UTF-8"),
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
    }


def _python_folder(own: Path) -> Path:
    """A folder in which `python` is the interpreter of the environment. Some images only have `python3`."""
    interpreter = Path(sys.executable)
    if interpreter.with_name("python").exists():
        return interpreter.parent
    folder = own / "bin"
    folder.mkdir()
    (folder / "python").symlink_to(interpreter)
    return folder


@dataclass
class CollectedFiles:
    """The regular files below a folder, and the entries that are left out, each with a reason.

    Folders are opened one by one and no link is followed, because background processes may still change them.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    left_out: list[dict[str, str]] = field(default_factory=list)
    more_left_out: int = 0
    _bytes: int = 0

    def collect(self, folder: int, prefix: str = "") -> None:
        """Read the files below an open folder. `prefix` is its path, with a slash at the end."""
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            path = f"{prefix}{entry.name}"
            try:
                if not entry.is_dir(follow_symlinks=False):
                    if reason := self._take(path, entry.name, folder):
                        self._leave_out(path, reason)
                elif prefix.count("/") == DEPTH - 1:
                    self._leave_out(path, f"deeper than {DEPTH} folders")
                elif entry.name != "__pycache__":
                    self._descend(path, entry.name, folder)
            except FileNotFoundError:
                pass  # it was removed meanwhile
            except OSError as error:
                self._leave_out(path, f"cannot be read: {error.strerror}")

    def _descend(self, path: str, name: str, parent: int) -> None:
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            self.collect(inner, f"{path}/")
        finally:
            os.close(inner)

    def _take(self, path: str, name: str, parent: int) -> str:
        """Read an entry that is not a folder. Returns the reason if it is left out, else ""."""
        kind = stat.S_IFMT(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
        if kind != stat.S_IFREG:
            return _NOT_REGULAR.get(kind, "no plain file")
        if len(path) > LONGEST_PATH or not path.isprintable() or not path.strip() or path.startswith("~"):
            return "its name is too long, starts with ~ or holds signs that nobody sees"  # `confined` refuses it
        if len(self.files) == MOST_FILES:
            return f"more than {MOST_FILES} files"
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
        with os.fdopen(opened, "rb") as file:
            content = file.read(FILE_BYTES + 1)
        if len(content) > FILE_BYTES:
            return f"larger than {FILE_BYTES >> 20} MiB"
        if self._bytes + len(content) > ALL_BYTES:
            return f"more than {ALL_BYTES >> 20} MiB in all"
        self.files[path] = content
        self._bytes += len(content)
        return ""

    def _leave_out(self, path: str, reason: str) -> None:
        if len(self.left_out) < MOST_LEFT_OUT:
            self.left_out.append({"path": path[:LONGEST_PATH], "reason": reason})
        else:
            self.more_left_out += 1
