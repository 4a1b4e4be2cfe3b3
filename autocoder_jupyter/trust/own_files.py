"""The user's own files, which no folder can supply: in the user's configuration, writable only by that user."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.trust.formats import require_known, stamp


def own_folder() -> Path:
    """The folder of these files; it may not exist. On Linux it follows `XDG_CONFIG_HOME`."""
    import platformdirs

    return platformdirs.user_config_path("autocoder-jupyter")


def is_ones_own(status: os.stat_result, others: int = stat.S_IWGRP | stat.S_IWOTH) -> bool:
    """Whether it is a regular file of this user."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & others)


def write_own(path: Path, content: bytes) -> None:
    """Write a file in one atomic step, for this user only."""
    descriptor, staged = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(staged).replace(path)
    except BaseException:
        Path(staged).unlink(missing_ok=True)
        raise


FILE_BYTES = 4 * 2**20
"""A larger record was not written by us and is ignored."""


@dataclass(frozen=True)
class OwnRecord:
    """A small JSON object among these files.

    Args:
        words: what it is, as the subject of an error: `The record of trusted folders`.
    """

    path: Path
    format: int
    words: str

    def read(self) -> Mapping[str, Any]:
        """The fields; none if the file does not exist, is damaged, of another format, or writable by others."""
        found = self._found()
        return found if isinstance(found, Mapping) and found.get("format") == self.format else {}

    def require_known(self) -> None:
        """Raise `InvalidRequest` if a later version of this package wrote it."""
        require_known(self._found(), f"{self.words}, {self.path},", self.format)

    @contextlib.contextmanager
    def changed(self) -> Iterator[dict[str, Any]]:
        """The fields, open for changes; they are written atomically at the end. A file lock serializes kernels.

        Raises:
            InvalidRequest: it cannot be written, or a later version of this package wrote it.
        """
        from filelock import FileLock

        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock"):
                self.require_known()
                record = dict(self.read())
                yield record
                text = json.dumps({**record, **stamp(self.format)}, indent=1, sort_keys=True)
                write_own(self.path, text.encode())
        except OSError as error:
            raise InvalidRequest(
                f"{self.words} cannot be written to {self.path}.", why=f"{error.strerror or error}."
            ) from None

    def _found(self) -> object:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(descriptor, "rb") as file:
                if not is_ones_own(os.fstat(descriptor)):
                    return None
                content = file.read(FILE_BYTES + 1)
            return json.loads(content) if len(content) <= FILE_BYTES else None
        except (OSError, ValueError, RecursionError):
            return None
