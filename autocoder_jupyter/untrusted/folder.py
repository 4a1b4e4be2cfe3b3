"""Read and write files in an untrusted folder. No link is followed, and only regular files are opened.

A cloned repository can have an `.autocode` folder with links. A journal that is a link to a shell's start file must not
be written, and a link to a device or a FIFO must not be read. So a path is opened folder by folder, from a root that
the user chose. Each folder is opened relative to the one before, so no link can be inserted in between. On a system
that cannot open relative to a folder, each part of the path is checked first.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

READ_BYTES = 64 * 2**20
"""Bytes. The files of this package are smaller. A larger file is refused before it is read."""

ENTRIES = 10_000
"""Most names that are read from a folder."""

READ_AHEAD = 2**20
"""Bytes that are read at once where a file is read line by line. Each read releases the GIL for some microseconds. With
the usual 8 KiB that happens so often that other threads are woken too late each time, and wait until the file ends.
"""

_RELATIVE = {os.open, os.mkdir, os.stat, os.unlink, os.rename} <= os.supports_dir_fd and os.scandir in os.supports_fd
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Without O_NONBLOCK, opening a FIFO waits for a writer.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)

_STAGED = re.compile(r"[0-9a-f]{16}")

_YOUNG_SECONDS = 60.0
"""A younger staged file may still be written."""

_JUNCTION = 0xA0000003
"""The reparse tag of a junction, a link to a folder on Windows."""


class Refused(OSError):
    """A file or folder was refused: it is a link, not a regular file, too large or outside. `strerror` says which."""

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(errno.EPERM, reason, path)


class Folder:
    """The files below a root. Paths are relative to it, with slashes: `growth/0a1b/journal.jsonl`.

    Methods raise `Refused` if the file or a folder of its path is refused, and another `OSError` if the operation
    fails.

    Args:
        root: a folder that the user chose. Links in its own path are followed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def read_bytes(self, path: str, limit: int = READ_BYTES) -> bytes:
        """The content of a file of at most `limit` bytes."""
        with self._parent(path) as (place, name):
            descriptor = _open_plain(place, name, os.O_RDONLY)
            with os.fdopen(descriptor, "rb") as file:
                size = os.fstat(descriptor).st_size
                content = file.read(size + 1) if size <= limit else None
        if content is None or len(content) > limit:
            raise Refused(f"it is larger than {limit} bytes", path)
        return content

    def read_text(self, path: str, limit: int = READ_BYTES) -> str:
        """The text of a file of at most `limit` bytes.

        Raises:
            OSError: the file cannot be opened, or is refused.
            UnicodeDecodeError: it is not UTF-8.
        """
        return self.read_bytes(path, limit).decode("utf-8")

    def lines(self, path: str, *, longest: int, total: int) -> Iterator[bytes]:
        """The lines of a file, `total` bytes at most. A line of more than `longest` bytes is left out."""
        with self._parent(path) as (place, name):
            file = os.fdopen(_open_plain(place, name, os.O_RDONLY), "rb", buffering=READ_AHEAD)
        with file:
            while total > 0 and (line := file.readline(min(longest, total) + 1)):
                total -= len(line)
                if len(line) <= longest:
                    yield line
                else:
                    total -= _skip_line(file, total, longest)

    def append(self, path: str, content: bytes) -> None:
        """Append a line to a file, and wait until it is on disk, with the name of a new file and its new folders. An
        incomplete last line is terminated first.
        """
        with self._parent(path, make=True) as (place, name):
            descriptor = _open_plain(place, name, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            with os.fdopen(descriptor, "ab+") as file:
                if os.fstat(descriptor).st_nlink > 1:
                    raise Refused("it has a second name elsewhere (a hard link)", path)
                is_new = os.fstat(descriptor).st_size == 0
                file.write(b"\n" * _is_cut_short(file) + content)
                file.flush()
                os.fsync(descriptor)
                if is_new:
                    _sync(place)

    def write(self, path: str, *pieces: bytes | memoryview) -> None:
        """Write a file in one atomic step, and wait until it is on disk. It replaces an earlier file, or a link, whose
        target does not change. After a crash of the machine the path has the old content or the new one, never a part.
        """
        with self._parent(path, make=True) as (place, name):
            staged = f".{name}.{secrets.token_hex(8)}"
            descriptor = _open(place, staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.writelines(pieces)
                    file.flush()
                    os.fsync(descriptor)
                _rename(place, staged, name)
                _sync(place)
                _remove_staged(place, name)
            except BaseException:
                _unlink(place, staged)
                raise

    def write_all(self, files: Mapping[str, bytes]) -> None:
        """Write files, or none of them: all are on disk under other names before the first gets its own. After an
        error, new files and new folders are removed, and those that were replaced stay replaced.
        """
        with contextlib.ExitStack() as opened, contextlib.ExitStack() as undo:
            staged: list[tuple[int | Path, str, str]] = []
            for path, content in files.items():
                for folder in _parents(path):
                    if not self.exists(folder):
                        self.make_folder(folder)
                        undo.callback(self._remove_empty, folder)
                place, name = opened.enter_context(self._parent(path, make=True))
                other = f".{name}.{secrets.token_hex(8)}"
                descriptor = _open(place, other, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                undo.callback(_unlink, place, other)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(descriptor)
                staged.append((place, other, name))
            for place, other, name in staged:
                try:
                    _look(place, name)
                except FileNotFoundError:
                    undo.callback(_unlink, place, name)
                _rename(place, other, name)
            for place, _, name in staged:
                _sync(place)
                _remove_staged(place, name)
            undo.pop_all()

    def _remove_empty(self, path: str) -> None:
        with contextlib.suppress(OSError), self._parent(path) as (place, name):
            if isinstance(place, int):
                os.rmdir(name, dir_fd=place)
            else:
                (place / name).rmdir()

    def set_aside(self, path: str) -> str:
        """Rename a file, so that its content is kept."""
        with self._parent(path) as (place, name):
            aside = f"{name}.set-aside-{secrets.token_hex(4)}"
            _rename(place, name, aside)
        return aside

    def make_folder(self, path: str) -> Path:
        """Create a folder, and missing parents of it.

        Raises:
            FileExistsError: the path exists.
        """
        with self._parent(path, make=True) as (place, name):
            if isinstance(place, int):
                os.mkdir(name, dir_fd=place)
            else:
                (place / name).mkdir()
        return self.root / path

    def rename(self, path: str, name: str) -> None:
        """Rename a file or folder within its parent folder.

        Raises:
            FileExistsError: the name is taken.
        """
        with self._parent(path) as (place, old):
            new = _checked(name, path)
            with contextlib.suppress(FileNotFoundError):
                _look(place, new)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
            _rename(place, old, new)

    def move(self, path: str, to: str) -> None:
        """Move a file or folder to another path below the root. Missing parents are created.

        Raises:
            FileExistsError: something has that path.
        """
        with self._parent(path) as (place, old), self._parent(to, make=True) as (target, new):
            _require_no_link(_look(place, old), path)
            with contextlib.suppress(FileNotFoundError):
                _look(target, new)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), to)
            if isinstance(place, int) or isinstance(target, int):  # then both are descriptors
                assert isinstance(place, int) and isinstance(target, int)
                os.rename(old, new, src_dir_fd=place, dst_dir_fd=target)
            else:
                (place / old).rename(target / new)
            _sync(target)

    def remove(self, path: str) -> None:
        """Remove a file, a link or a folder with all its content. No link in it is followed."""
        with self._parent(path) as (place, name):
            if not stat.S_ISDIR(_look(place, name).st_mode):
                _unlink(place, name)
            elif isinstance(place, int):
                shutil.rmtree(name, dir_fd=place)
            else:
                shutil.rmtree(place / name)

    def exists(self, path: str) -> bool:
        """Whether a file, a folder or a link has this path."""
        try:
            with self._parent(path) as (place, name):
                _look(place, name)
        except OSError:
            return False
        return True

    def is_folder(self, path: str) -> bool:
        """Whether the path is a folder, and not a link to one."""
        try:
            with self._parent(path) as (place, name):
                return stat.S_ISDIR(_look(place, name).st_mode)
        except OSError:
            return False

    def changed(self, path: str) -> float:
        """When a file or folder was last changed, in seconds since 1970."""
        with self._parent(path) as (place, name):
            return _look(place, name).st_mtime

    def names(self, path: str) -> list[str]:
        """The sorted names in a folder; [] if the folder does not exist or is refused."""
        try:
            with self._opened(path, make=False) as place, os.scandir(place) as entries:
                return sorted(entry.name for entry in itertools.islice(entries, ENTRIES))
        except OSError:
            return []

    @contextlib.contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int | Path, str]]:
        folder, _, name = path.rpartition("/")
        with self._opened(folder, make=make) as place:
            yield place, _checked(name, path)

    @contextlib.contextmanager
    def _opened(self, path: str, *, make: bool) -> Iterator[int | Path]:
        """Open the folder at `path`: a descriptor, or its path on a system that cannot open relative to a folder."""
        if make:
            self.root.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as held:
            place: int | Path = self.root
            if _RELATIVE:
                place = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                held.callback(os.close, place)
            for name in path.split("/") if path else ():
                place = _step(place, _checked(name, path), make=make)
                if isinstance(place, int):
                    held.callback(os.close, place)
            yield place


def _parents(path: str) -> list[str]:
    """The folders of a path, the outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]


def _checked(name: str, path: str) -> str:
    if name in ("", ".", "..") or "\0" in name or (os.name == "nt" and set(name) & set('\\:*?"<>|')):
        raise Refused("its path leads outside", path)
    return name


def _step(place: int | Path, name: str, *, make: bool) -> int | Path:
    """Open the folder `name` in the open folder `place`."""
    if make:
        with contextlib.suppress(FileExistsError):
            if isinstance(place, int):
                os.mkdir(name, dir_fd=place)
            else:
                (place / name).mkdir()
            _sync(place)
    status = _look(place, name)
    _require_no_link(status, name)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
    if isinstance(place, int):
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | _NO_FOLLOW, dir_fd=place)
    return place / name


def _open_plain(place: int | Path, name: str, flags: int) -> int:
    """Open a regular file. It is checked before, because opening a device can have effects, and again afterwards."""
    with contextlib.suppress(FileNotFoundError):
        _require_plain(_look(place, name), name)
    descriptor = _open(place, name, flags)
    try:
        _require_plain(os.fstat(descriptor), name)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _open(place: int | Path, name: str, flags: int) -> int:
    flags |= _NO_FOLLOW | _NO_WAIT
    return os.open(name, flags, 0o666, dir_fd=place) if isinstance(place, int) else os.open(place / name, flags, 0o666)


def _look(place: int | Path, name: str) -> os.stat_result:
    return os.stat(name, dir_fd=place, follow_symlinks=False) if isinstance(place, int) else os.lstat(place / name)


def is_staged(name: str) -> bool:
    """Whether a killed process may have left a file of this name, which it was about to write."""
    head, _, tail = name.rpartition(".")
    return head.startswith(".") and len(head) > 1 and _STAGED.fullmatch(tail) is not None


def _remove_staged(place: int | Path, name: str) -> None:
    """Remove what a killed process left of the same file."""
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in itertools.islice(entries, ENTRIES):
            is_staged = entry.name.startswith(f".{name}.") and _STAGED.fullmatch(entry.name.removeprefix(f".{name}."))
            if is_staged and time.time() - entry.stat(follow_symlinks=False).st_mtime > _YOUNG_SECONDS:
                _unlink(place, entry.name)


def _sync(place: int | Path) -> None:
    """Wait until the names in an open folder are on disk. Only a system that can open a folder can do that."""
    if isinstance(place, int):
        os.fsync(place)


def _require_plain(status: os.stat_result, name: str) -> None:
    _require_no_link(status, name)
    if not stat.S_ISREG(status.st_mode):
        raise Refused("it is not a regular file", name)


def _require_no_link(status: os.stat_result, name: str) -> None:
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", None) == _JUNCTION:
        raise Refused("it is a link", name)


def _rename(place: int | Path, name: str, to: str) -> None:
    if isinstance(place, int):
        os.replace(name, to, src_dir_fd=place, dst_dir_fd=place)
    else:
        (place / name).replace(place / to)


def _unlink(place: int | Path, name: str) -> None:
    with contextlib.suppress(OSError):
        if isinstance(place, int):
            os.unlink(name, dir_fd=place)
        else:
            (place / name).unlink()


def _is_cut_short(file: BinaryIO) -> bool:
    """Whether the last line has no line end, because of a crash. The next line must not be joined to it."""
    if not file.seek(0, os.SEEK_END):
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _skip_line(file: BinaryIO, most: int, step: int) -> int:
    """Read to the end of the line, in pieces of `step` bytes and at most `most` bytes. Returns the number read."""
    skipped = 0
    while skipped < most and (piece := file.readline(min(step, most - skipped))):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped
