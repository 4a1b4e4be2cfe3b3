"""One command of a shell: files in, the command, its words and the files out. All of it in a child that ends with it.

Nothing here is a wall. The command may reach whatever its sandbox allows, this process too; the host believes nothing
of the answer, and the child's whole process group is killed after it.
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
from .command_limits import ALL_BYTES, DEPTH, FILE_BYTES, LONGEST_PATH, MOST_FILES, MOST_LEFT_OUT, OUTPUT_BYTES
from .relay import FLOOD, Capture

_LOOK_SECONDS = 0.05
_KEPT_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "MPLBACKEND")


def answer(header: Mapping[str, Any], payload: memoryview) -> list[Any]:
    """Run the command of a request in a folder that holds its files; the frame that answers.

    The folder lies in the child's own, which is also its home and takes its temporary files: what tools leave there is
    none of the workspace's files.
    """
    root = Path("workspace").resolve()
    root.mkdir()
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _unpack(root, header["files"], payload)
        ended, words = _run(header["command"], root, header["seconds"])
        found = Found()
        found.look_into(folder)
    except OSError as error:
        return [frames.pack({"kind": "error", "error": "Workspace", "message": str(error), "payload": 0})]
    reply = {
        "kind": "command",
        **ended,
        "output": words.replace(f"{root}/", "").replace(str(root), "."),
        "files": [{"path": path, "size": len(content)} for path, content in found.files.items()],
        "left_out": found.left_out,
        "more_left_out": found.more_left_out,
        "payload": sum(map(len, found.files.values())),
    }
    return [frames.pack(reply), *found.files.values()]


def _unpack(root: Path, entries: list[dict[str, Any]], payload: memoryview) -> None:
    position = 0
    for entry in entries:
        target = root / entry["path"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(payload[position : position + entry["size"]])
        position += entry["size"]


def _run(command: str, root: Path, seconds: float) -> tuple[dict[str, Any], str]:
    """How the command ended, and the head and tail of its words, both streams together.

    It has ended when the shell has; what it started in the background may still hold the pipe, and is not waited for.
    """
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    words = Capture(ours, OUTPUT_BYTES)
    shell = shutil.which("bash") or "/bin/sh"
    deadline = time.monotonic() + seconds
    process = subprocess.Popen(
        [shell, "-c", command], cwd=root, env=_variables(), stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    poll = select.poll()
    poll.register(ours, select.POLLIN)
    why = ""
    while process.poll() is None and not why:
        if words.ended:
            time.sleep(_LOOK_SECONDS)
        elif poll.poll(_LOOK_SECONDS * 1000):
            words.step()
        if words.total > FLOOD:
            why = "flooded"
        elif time.monotonic() > deadline:
            why = "timed out"
    if why:
        process.kill()
        process.wait()
    while not words.ended and poll.poll(0) and words.total <= FLOOD:
        words.step()
    return {"exit_code": process.returncode, "stopped": why}, words.text()


def _variables() -> dict[str, str]:
    """All that a command sees of an environment: nothing of the program's, nothing of the image's."""
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
    """Where `python` is the interpreter of the environment; some images know it as `python3` alone."""
    interpreter = Path(sys.executable)
    if interpreter.with_name("python").exists():
        return interpreter.parent
    folder = own / "bin"
    folder.mkdir()
    (folder / "python").symlink_to(interpreter)
    return folder


@dataclass
class Found:
    """The plain files below a folder, and the names of what is not taken, with the reason.

    Folders are opened step by step and no link is followed: what runs in the background may still change them.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    left_out: list[dict[str, str]] = field(default_factory=list)
    more_left_out: int = 0
    _bytes: int = 0

    def look_into(self, folder: int, prefix: str = "") -> None:
        """Take what is in an open folder; `prefix` is its path with a slash behind it."""
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
                pass  # it went while we looked
            except OSError as error:
                self._leave_out(path, f"cannot be read: {error.strerror}")

    def _descend(self, path: str, name: str, parent: int) -> None:
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            self.look_into(inner, f"{path}/")
        finally:
            os.close(inner)

    def _take(self, path: str, name: str, parent: int) -> str:
        """Read a file that is no folder; why it is left out, or ""."""
        kind = stat.S_IFMT(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
        if kind != stat.S_IFREG:
            return _KINDS.get(kind, "no plain file")
        if len(path) > LONGEST_PATH or not path.isprintable():
            return "its name is too long or holds signs that nobody sees"
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


_KINDS = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
