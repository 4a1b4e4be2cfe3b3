"""Encode files and folders: their bytes and a list of names. No archive format, links or permissions are used."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .frames import Encoded
from .plain import Corrupt, TypeMismatch, Unencodable

MAX_ENTRIES = 100_000
MAX_DEPTH = 64
MAX_BYTES = 2**31
_MAX_NAME = 255
_MAX_PATH = 1024
_SEPARATORS = "/\\\0"
_OF_WINDOWS = ':*?"<>|'
"""No name has these there: `C:a.py` is a file in the current folder of a drive, `a:b` a hidden part of the file `a`."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# O_NONBLOCK: opening a FIFO would otherwise block the reader.
_READ = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | getattr(os, "O_BINARY", 0)


class HostFault(Exception):
    """A folder of the host could not be written. Wraps the OSError, which `decode` would else turn into `Corrupt`."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def write_file(value: Any) -> Encoded:
    """Encode the file at a path."""
    path = _as_path(value, "File")
    content = _read_regular(path, MAX_BYTES)
    return _finish("File", _safe_name(path.name), [], [[len(content)]], [content])


def write_dir(value: Any) -> Encoded:
    """Encode a folder with its files and subfolders, also empty ones."""
    root = _as_path(value, "Dir")
    if root.is_symlink() or not root.is_dir():
        raise TypeMismatch("Dir", f"{str(root)!r}, which is not a folder")
    folders: list[list[str]] = []
    files: list[list[Any]] = []
    contents: list[bytes] = []
    left = MAX_BYTES
    for parent, path in _walk(root, []):
        relative = [*parent, path.name]
        if path.is_symlink():
            raise Unencodable("/".join(relative), "is a link", "put the file itself there")
        if path.is_dir():
            folders.append(relative)
            continue
        content = _read_regular(path, left)
        left -= len(content)
        files.append([len(content), *relative])
        contents.append(content)
        if len(files) + len(folders) > MAX_ENTRIES:
            raise Unencodable("the Dir", f"has more than {MAX_ENTRIES} entries", "pass fewer files")
    return _finish("Dir", _safe_name(root.resolve().name), folders, files, contents)


def read_path(header: Mapping[str, Any], payload: memoryview, folder: Path) -> Path:
    """Write a received file or folder into a new subfolder of `folder`, and return its path."""
    entries: Sequence[Sequence[Any]] = header["files"]
    folders: Sequence[Sequence[str]] = header["folders"]
    if len(entries) + len(folders) > MAX_ENTRIES:
        raise Corrupt(f"{len(entries) + len(folders)} files and folders")
    name = _checked_name(header["name"])
    single = header["type"] == "File"
    if single and (len(entries) != 1 or len(entries[0]) != 1 or folders):
        raise Corrupt("more than one file in a File")
    plan = _plan(entries, folders, payload, single)
    try:
        return _write(plan, [_checked_parts(parts) for parts in folders], name, single, folder)
    except OSError as error:
        raise HostFault(error) from error


def _finish(
    type_name: str, name: str, folders: list[list[str]], files: list[list[Any]], contents: list[bytes]
) -> Encoded:
    size = sum(len(content) for content in contents)
    header: dict[str, Any] = {"type": type_name, "size": size, "name": name, "folders": folders, "files": files}
    return Encoded(header, tuple(memoryview(content) for content in contents if content))


def _as_path(value: Any, wanted: str) -> Path:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeMismatch(wanted, type(value).__name__)
    path = Path(os.fspath(value))
    if not os.path.lexists(path):
        raise TypeMismatch(wanted, f"{str(path)!r}, which does not exist")
    return path


def _walk(folder: Path, parts: list[str]) -> Any:
    if len(parts) >= MAX_DEPTH:
        raise Unencodable("/".join(parts), f"is nested deeper than {MAX_DEPTH} folders", "flatten it")
    for path in sorted(folder.iterdir()):
        name = path.name
        if name.encode("utf-8", "replace") != os.fsencode(name):
            raise Unencodable("/".join([*parts, repr(name)]), "has a name that is not valid Unicode", "rename it")
        yield parts, path
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path, [*parts, name])


def _read_regular(path: Path, limit: int) -> bytes:
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        hint = "links are not followed" if error.errno == errno.ELOOP else "make it readable"
        raise Unencodable(path.name, f"cannot be read ({error.strerror})", hint) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise Unencodable(path.name, "is not a regular file", "write a plain file")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > limit:
            raise Unencodable(
                path.name, f"is too large ({status.st_size} bytes)", f"{MAX_BYTES} bytes can cross in all"
            )
        return file.read(limit)


def _safe_name(name: str) -> str:
    cleaned = "".join(c if c.isprintable() and c not in '/\\:*?"<>|' else "_" for c in name).strip(" .")
    return cleaned.encode("utf-8", "replace")[:200].decode("utf-8", "ignore") or "file"


def _checked_name(name: Any) -> str:
    forbidden = f"{_SEPARATORS}{_OF_WINDOWS}" if os.name == "nt" else _SEPARATORS
    allowed = isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set(forbidden)
    if not allowed or len(name.encode("utf-8")) > _MAX_NAME:
        raise Corrupt(f"{str(name)[:80]!r} is not the name of a file")
    return str(name)


def _checked_parts(parts: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(parts, (list, tuple)) or not 0 < len(parts) <= MAX_DEPTH:
        raise Corrupt("a path without parts, or with too many")
    checked = tuple(_checked_name(part) for part in parts)
    if sum(len(part) + 1 for part in checked) > _MAX_PATH:
        raise Corrupt("a path that is too long")
    return checked


def _plan(
    entries: Sequence[Sequence[Any]], folders: Sequence[Sequence[str]], payload: memoryview, single: bool
) -> list[tuple[tuple[str, ...], memoryview]]:
    """The path parts and the bytes of every file. Everything is checked before the first byte is written."""
    plan = []
    taken = {_checked_parts(parts) for parts in folders}
    if len(taken) != len(folders):
        raise Corrupt("one folder twice")
    parents = taken | {()}
    if any(parts[:-1] not in parents for parts in taken):
        raise Corrupt("a folder without its parent")
    start = 0
    for size, *parts in entries:
        place = () if single else _checked_parts(parts)
        if type(size) is not int or size < 0 or start + size > payload.nbytes:
            raise Corrupt("a file that reaches beyond the payload")
        if place in taken or (place and place[:-1] not in parents):
            raise Corrupt("a file in the place of another, or without its folder")
        taken.add(place)
        plan.append((place, payload[start : start + size]))
        start += size
    if start != payload.nbytes:
        raise Corrupt("bytes after the last file")
    return plan


def _write(
    plan: list[tuple[tuple[str, ...], memoryview]],
    folders: list[tuple[str, ...]],
    name: str,
    single: bool,
    folder: Path,
) -> Path:
    root = _new_subfolder(folder) / name
    if not single:
        root.mkdir(mode=0o700)
    for parts in sorted(folders, key=len):
        root.joinpath(*parts).mkdir(mode=0o700)
    for parts, content in plan:
        descriptor = os.open(root.joinpath(*parts), _CREATE, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    return root


def _new_subfolder(folder: Path) -> Path:
    """Create a new subfolder. Each value gets its own, so that two values may have the same name."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    while True:
        subfolder = folder / f"{number:04d}"
        try:
            subfolder.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
            continue
        return subfolder
