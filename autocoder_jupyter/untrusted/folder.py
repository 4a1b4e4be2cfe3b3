"""Files in an untrusted folder: no link is followed, and only plain files are read or written.

A cloned repository brings its `.autocode` along, and git keeps links. A journal that is a link to a
shell's start file must not be appended to, one that is a link to a device or a FIFO must not be read. So a path is
walked a folder at a time from a root that the person chose, each step relative to the open folder before it: nobody
can put a link into its way in between. Where the system cannot open relative to a folder, each step is looked at first.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

READ_BYTES = 64 * 2**20
"""Bytes. Our own files are smaller; a larger file is refused without reading it."""

ENTRIES = 10_000
"""Of a folder, so many names are looked at."""

_RELATIVE = {os.open, os.mkdir, os.stat, os.unlink, os.rename} <= os.supports_dir_fd and os.scandir in os.supports_fd
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Without it, opening a FIFO waits for a writer.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)

_JUNCTION = 0xA0000003
"""A junction: the second kind of link on Windows, to folders."""


class Refused(OSError):
    """A file or folder that is not opened: a link, no plain file, too large, outside. `strerror` says which."""

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(errno.EPERM, reason, path)


class Folder:
    """The files below a root. Paths are relative to it, with slashes: `growth/0a1b/journal.jsonl`.

    Each method raises an `OSError`; it is `Refused` when the file or a folder on the way is not what it must be.

    Args:
        root: a folder that the person chose; links on the way to it are theirs, and followed.
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
        """The same as text.

        Raises:
            OSError: it cannot be opened, or is refused.
            UnicodeDecodeError: it is not UTF-8.
        """
        return self.read_bytes(path, limit).decode("utf-8")

    def lines(self, path: str, *, longest: int, total: int) -> Iterator[bytes]:
        """The lines of a file, those above `longest` bytes left out, until `total` bytes are read."""
        with self._parent(path) as (place, name):
            file = os.fdopen(_open_plain(place, name, os.O_RDONLY), "rb")
        with file:
            while total > 0 and (line := file.readline(min(longest, total) + 1)):
                total -= len(line)
                if len(line) <= longest:
                    yield line
                else:
                    total -= _skip_line(file, total, longest)

    def append(self, path: str, content: bytes) -> None:
        """Put a line at the end of a file, on disk when this returns. What a crash cut short is ended first."""
        with self._parent(path, make=True) as (place, name):
            descriptor = _open_plain(place, name, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            with os.fdopen(descriptor, "ab+") as file:
                if os.fstat(descriptor).st_nlink > 1:
                    raise Refused("it has a second name elsewhere (a hard link)", path)
                file.write(b"\n" * _is_cut_short(file) + content)
                file.flush()
                os.fsync(descriptor)

    def write(self, path: str, *pieces: bytes | memoryview) -> None:
        """Put a file in its place in one step; what was there, a link included, is no longer, and was not touched."""
        with self._parent(path, make=True) as (place, name):
            staged = f".{name}.{secrets.token_hex(8)}"
            descriptor = _open(place, staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.writelines(pieces)
                _rename(place, staged, name)
            except BaseException:
                _unlink(place, staged)
                raise

    def set_aside(self, path: str) -> str:
        """Rename what has this name, so that nothing is lost.

        Returns:
            That name.
        """
        with self._parent(path) as (place, name):
            aside = f"{name}.set-aside-{secrets.token_hex(4)}"
            _rename(place, name, aside)
        return aside

    def make_folder(self, path: str) -> Path:
        """A new folder; those on the way to it are made where they are missing. FileExistsError: something is there."""
        with self._parent(path, make=True) as (place, name):
            if isinstance(place, int):
                os.mkdir(name, dir_fd=place)
            else:
                (place / name).mkdir()
        return self.root / path

    def rename(self, path: str, name: str) -> None:
        """Give a file or folder another name in its place.

        FileExistsError: something has that name.
        """
        with self._parent(path) as (place, old):
            new = _checked(name, path)
            with contextlib.suppress(FileNotFoundError):
                _look(place, new)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
            _rename(place, old, new)

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
        """When a file or folder was written last, in seconds since 1970."""
        with self._parent(path) as (place, name):
            return _look(place, name).st_mtime

    def names(self, path: str) -> list[str]:
        """What is in a folder, sorted; [] when there is no such folder, or it is refused."""
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
        """The folder at `path`, open: a descriptor, or where the system has no such, its path."""
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


def _checked(name: str, path: str) -> str:
    if name in ("", ".", "..") or "\0" in name or (os.name == "nt" and set(name) & set('\\:*?"<>|')):
        raise Refused("its path leads outside", path)
    return name


def _step(place: int | Path, name: str, *, make: bool) -> int | Path:
    """Open the next folder of the path."""
    if make:
        with contextlib.suppress(FileExistsError):
            if isinstance(place, int):
                os.mkdir(name, dir_fd=place)
            else:
                (place / name).mkdir()
    status = _look(place, name)
    _require_no_link(status, name)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
    if isinstance(place, int):
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | _NO_FOLLOW, dir_fd=place)
    return place / name


def _open_plain(place: int | Path, name: str, flags: int) -> int:
    """A plain file, opened. It is looked at before, because opening a device can already do something, and after."""
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


def _require_plain(status: os.stat_result, name: str) -> None:
    _require_no_link(status, name)
    if not stat.S_ISREG(status.st_mode):
        raise Refused("it is no plain file", name)


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
    """Whether the last line was cut short by a crash, so that the next would be lost with it."""
    if not file.seek(0, os.SEEK_END):
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _skip_line(file: BinaryIO, most: int, step: int) -> int:
    """Read on to the end of the line, at most so many bytes; returns how many."""
    skipped = 0
    while skipped < most and (piece := file.readline(min(step, most - skipped))):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped
