"""Object storage: an address such as `s3://bucket/sales` as a filesystem of PyArrow and a path in it.

Only the address that the user wrote is contacted, with the credentials that PyArrow or fsspec find.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from autocoder_jupyter.data.table_formats import IS_DESCRIPTION, LOGS, WHY_A_LOG_COUNTS
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.paths import local_path, scheme_of, shown_address
from autocoder_jupyter.untrusted.visible import visible

T = TypeVar("T")

MOST_ENTRIES = 100_000
"""Files and folders that are looked at."""

_LIBRARIES = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs", "memory": "fsspec"}
"""The library with which fsspec opens the addresses of a scheme."""

_OTHER_NAMES = {"s3a": "s3", "gcs": "gs"}

_IS_GLOB = re.compile(r"[*?[]")

_REQUESTS = 16
"""Folders that are listed at once."""


def is_in_storage(given: str | os.PathLike[str]) -> bool:
    """Whether it is an address in object storage; False for a path.

    Raises:
        InvalidRequest: it is another address.
    """
    scheme = scheme_of(given)
    if _OTHER_NAMES.get(scheme, scheme) in _LIBRARIES and isinstance(given, str):
        return True
    local_path(given, f"Download it first. Object storage is read: {', '.join(f'{name}://…' for name in _LIBRARIES)}.")
    return False


@dataclass(frozen=True)
class Stored:
    """A file or folder in object storage.

    Args:
        filesystem: a filesystem of PyArrow.
        path: in it, without a slash at its end.
        shown: the address for messages, without keys.
    """

    filesystem: Any
    path: str
    shown: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    def at(self, path: str) -> Stored:
        """Another path of the same storage."""
        return Stored(self.filesystem, path, self.shown)

    def is_folder(self) -> bool:
        """Whether files are below this path.

        Raises:
            InvalidRequest: there is nothing, or the storage does not answer.
        """
        from pyarrow import fs

        kind = self._tried(lambda: self.filesystem.get_file_info(self.path)).type
        if kind == fs.FileType.NotFound:
            raise InvalidRequest(f"There is no file or folder {self.shown!r}.")
        return bool(kind == fs.FileType.Directory)

    def is_new(self) -> bool:
        """Whether there is nothing at this path."""
        from pyarrow import fs

        found = self._tried(lambda: self.filesystem.get_file_info(self.path))
        return bool(found.type == fs.FileType.NotFound)

    def files(self) -> list[Stored]:
        """The files in a folder and its folders, sorted. Names that begin with `.` or `_` are left out.

        Raises:
            InvalidRequest: they are those of a table with a log, or too many.
        """
        return self._tried(self._files)

    def matching(self) -> list[Stored]:
        """The files whose paths match this one, which has wildcards, sorted.

        Raises:
            InvalidRequest: as `files`.
        """
        parts = PurePosixPath(self.path).parts
        first = next(place for place, part in enumerate(parts) if _IS_GLOB.search(part))
        if first == 0 or "**" in parts:
            raise InvalidRequest(
                f"{self.shown!r} is not supported.",
                why="The name of a bucket must have no wildcard, and `**` is not supported.",
                hint="Name the folder.",
            )
        return self._tried(lambda: self._matching(parts, first))

    def copied(self, folder: Path) -> Path:
        """The file as one on this machine, in this folder."""
        target = folder / (self.name or "file")

        def copy() -> Path:
            with self.filesystem.open_input_stream(self.path, compression=None) as source, target.open("xb") as copied:
                shutil.copyfileobj(source, copied, 2**20)
            return target

        return self._tried(copy)

    def filled(self, folder: Path) -> None:
        """Copy a folder of this machine to this path. After an error nothing of it is left."""
        from pyarrow import fs

        def copy() -> None:
            try:
                fs.copy_files(str(folder), self.path, fs.LocalFileSystem(), self.filesystem)
            except BaseException:
                with suppress(Exception):
                    self.filesystem.delete_dir(self.path)
                raise

        self._tried(copy)

    def _files(self) -> list[Stored]:
        from pyarrow import fs

        self._require_no_log_around()
        found, level, seen = [], [self.path], 0
        with ThreadPoolExecutor(_REQUESTS) as pool:
            while level:
                listed, level = pool.map(self._listed, level), []
                for entries in listed:
                    seen += len(entries)
                    if seen > MOST_ENTRIES:
                        raise InvalidRequest(
                            f"{self.shown} has more than {MOST_ENTRIES:,} files and folders.",
                            hint="Name a part of it, or a dataset of PyArrow that you made.",
                        )
                    self._require_no_log(entries)
                    kept = [entry for entry in entries if not entry.base_name.startswith((".", "_"))]
                    found += [self.at(entry.path) for entry in kept if entry.type == fs.FileType.File]
                    level += [entry.path for entry in kept if entry.type == fs.FileType.Directory]
        return sorted(found, key=lambda file: file.path)

    def _matching(self, parts: tuple[str, ...], first: int) -> list[Stored]:
        from pyarrow import fs

        level = ["/".join(parts[:first]).replace("//", "/")]
        for part in parts[first:]:
            is_last = part is parts[-1]
            wanted = fs.FileType.File if is_last else fs.FileType.Directory
            following = []
            for folder in level:
                self.at(folder)._require_no_log_around()
                entries = self._listed(folder)
                self._require_no_log(entries)
                following += [
                    each.path
                    for each in entries
                    if each.type == wanted
                    and fnmatchcase(each.base_name, part)
                    and not (each.base_name.startswith((".", "_")) and not part.startswith((".", "_")))
                ]
                if len(following) > MOST_ENTRIES:
                    raise InvalidRequest(f"{self.shown} matches more than {MOST_ENTRIES:,} files and folders.")
            level = following
        return [self.at(path) for path in sorted(level)]

    def _listed(self, folder: str) -> list[Any]:
        from pyarrow import fs

        return list(self.filesystem.get_file_info(fs.FileSelector(folder, allow_not_found=True)))

    def _require_no_log(self, entries: Iterable[Any]) -> None:
        from pyarrow import fs

        for entry in entries:
            name = LOGS.get(entry.base_name, "") if entry.type == fs.FileType.Directory else ""
            if name == "Iceberg" and not any(IS_DESCRIPTION(each.base_name) for each in self._listed(entry.path)):
                continue
            if name:
                table = {"Delta": "deltalake.DeltaTable(…)", "Iceberg": "catalog.load_table(…)"}.get(name)
                raise InvalidRequest(
                    f"{self.shown} is, contains or is inside {'an' if name == 'Iceberg' else 'a'} {name} table.",
                    why=WHY_A_LOG_COUNTS,
                    hint=f"Pass the table: {table}." if table else "Read it with its own library, and pass that table.",
                )

    def _require_no_log_around(self) -> None:
        parents = [str(parent) for parent in PurePosixPath(self.path).parents if str(parent) not in (".", "/")]
        for parent in parents:
            with suppress(OSError):  # a folder around may not be allowed to be seen
                self._require_no_log(self.filesystem.get_file_info([f"{parent}/{name}" for name in LOGS]))

    def _tried(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except InvalidRequest:
            raise
        except Exception as error:  # of a storage, or of a library for it
            raise InvalidRequest(
                f"{self.shown} cannot be reached.",
                why=f"{type(error).__name__}: {visible(str(error)[:300])}",
                hint="Check the address and the credentials, which PyArrow or fsspec finds. Or pass a dataset of it.",
            ) from error


def state_of(place: Path | Stored) -> tuple[Any, ...]:
    """What is another one after a file was written anew; () if there is none."""
    if isinstance(place, Stored):
        found = place.filesystem.get_file_info(place.path)
        return found.size, found.mtime_ns
    try:
        described = place.stat()
    except OSError:
        return ()
    return described.st_ino, described.st_size, described.st_mtime_ns


def changed(name: str) -> InvalidRequest:
    """The error for a file whose state is another one than before it was read."""
    return InvalidRequest(
        f"{visible(name)} was changed while it was read.",
        why="Its size or the time of its last change is another one, so its rows could be of two different tables.",
        hint="Call again when nothing writes to it.",
    )


def stored(address: str) -> Stored:
    """What an address names. Nothing is read.

    Raises:
        InvalidRequest: there is no library for it.
    """
    scheme = scheme_of(address)
    scheme, rest = _OTHER_NAMES.get(scheme, scheme), address.strip().partition(":")[2]
    address = f"{scheme}:{rest}"
    shown = shown_address(address)
    try:
        filesystem, path = _opened(address)
    except (ImportError, ValueError, OSError, TypeError, KeyError) as error:
        why = f"{type(error).__name__}: {visible(str(error)[:300])}"
        raise InvalidRequest(
            f"{shown} cannot be opened.",
            why="" if "@" in address else why,  # it may have a key
            hint=f"Install the library of fsspec for it: %pip install {_LIBRARIES[scheme]}."
            if isinstance(error, ImportError)
            else "Check the address; or make a dataset of PyArrow, and pass that.",
        ) from None
    return Stored(filesystem, path.rstrip("/"), shown)


def _opened(address: str) -> tuple[Any, str]:
    """The filesystem, and the path in it: of PyArrow where it has one, as pandas does; else of fsspec."""
    from pyarrow import ArrowInvalid, fs

    try:
        return tuple(fs.FileSystem.from_uri(address))
    except (ArrowInvalid, NotImplementedError) as error:
        if isinstance(error, ArrowInvalid) and address.startswith(("s3:", "gs:")):
            raise  # PyArrow has these; the address is wrong
        try:
            from fsspec.core import url_to_fs

            filesystem, path = url_to_fs(address)
        except ImportError as missing:
            raise missing from error
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), path
