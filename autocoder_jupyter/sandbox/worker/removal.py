"""The files of programs: the folders in which a program can write, and their removal before the next one starts.

Removal also handles paths longer than PATH_MAX, folders without permissions, and links, which are never followed. The
program must have ended, because no process may change the folder meanwhile.
"""

from __future__ import annotations

import itertools
import math
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path


def remove(folder: str | Path, *, seconds: float = math.inf) -> bool:
    """Remove a folder with its content."""
    if not clear(folder, seconds=seconds):
        return False
    with suppress(OSError):
        Path(folder).rmdir()
    return not os.path.lexists(folder)


def discard(path: Path) -> bool:
    """Remove a file, a link or a folder with its content. False if a part could not be removed."""
    try:
        path.unlink(missing_ok=True)
    except (IsADirectoryError, PermissionError):  # some systems raise PermissionError for a folder
        return remove(path)
    except OSError:
        return False
    return True


def clear(folder: str | Path, *, seconds: float = math.inf) -> bool:
    """Remove the content of a folder; see `remove`. False if a part could not be removed."""
    until = time.monotonic() + seconds
    try:
        top = _open(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        return _clear(top, until)
    except OSError:
        return False
    finally:
        os.close(top)


def _clear(top: int, until: float) -> bool:
    """Remove the folders one by one after moving their subfolders to the top. So paths are short, without recursion."""
    mark = os.urandom(8).hex()
    free_names = (f"{mark}-{number}" for number in itertools.count())
    while folders := _unlink_files(top, until):
        if not sum(_flatten(top, name, free_names, until) for name in folders):
            return False
    return not os.listdir(top)


def _flatten(top: int, name: str, free_names: Iterator[str], until: float) -> bool:
    """Remove the folder `name`, after moving its subfolders next to it. Returns whether it was removed."""
    try:
        folder = _open(name, top)
    except OSError:
        return False
    try:
        for inner in _unlink_files(folder, until):
            with suppress(OSError):
                os.close(_open(inner, folder))  # to move a folder, one needs write permission for it
                os.rename(inner, next(free_names), src_dir_fd=folder, dst_dir_fd=top)
        os.rmdir(name, dir_fd=top)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def _unlink_files(folder: int, until: float) -> list[str]:
    """Remove all entries that are not folders. Returns the names of the folders."""
    folders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if time.monotonic() > until:
                raise TimeoutError
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                with suppress(OSError):
                    os.unlink(entry.name, dir_fd=folder)
    return folders


def _open(name: str | Path, parent: int | None = None) -> int:
    """Open a folder so that it can be listed and changed. Missing permissions are added."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    usable = 0o700
    try:
        folder = os.open(name, flags, dir_fd=parent)
    except PermissionError:
        os.chmod(name, usable, dir_fd=parent)
        return os.open(name, flags, dir_fd=parent)
    if os.fstat(folder).st_mode & usable != usable:
        with suppress(OSError):
            os.fchmod(folder, usable)
    return folder


class Workplace:
    """The worker's folder, which has a folder for each program. It has no files of the worker that one could damage.

    Args:
        scratch: further folders of the sandbox in which programs can write. No one else uses them.
    """

    def __init__(self, scratch: Sequence[str]) -> None:
        self.root = Path(tempfile.gettempdir(), f"autocode-{secrets.token_hex(8)}")
        self._scratch = scratch

    def new_folder(self) -> Path:
        """Create an empty folder with a random name."""
        folder = self.root / str(secrets.randbelow(10**16))
        self.root.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        return folder

    def clear(self) -> bool:
        """Remove the files of all programs. No program may be running. False if a part could not be removed."""
        return all([remove(self.root), *(clear(folder) for folder in self._scratch)])
