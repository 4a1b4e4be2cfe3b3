"""Placeholders for names of files and folders, which can contain names of persons or projects."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_PLAIN_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


def suffixes_of(name: str) -> str:
    """The known suffixes of a file name, at most two (`.csv.gz`). Other text after a dot is not included."""
    plain: list[str] = []
    for suffix in reversed(PurePosixPath(name).suffixes[-2:]):
        if not _PLAIN_SUFFIX.fullmatch(suffix) or suffix[1:].isdigit():
            break
        plain.insert(0, suffix.lower())
    known = {".gz", ".bz2", ".xz", ".zip", ".zst"}
    return "".join(plain if len(plain) == 2 and plain[1] in known else plain[-1:])


class FilePlaceholders:
    """Placeholders for paths, such as `folder-1/file-2.csv`. The same name always gets the same placeholder."""

    def __init__(self) -> None:
        self._folders: dict[str, int] = {}
        self._files: dict[str, int] = {}

    def of(self, path: str) -> str:
        """The placeholder of a relative path."""
        *folders, _ = path.split("/")
        parts = [
            f"folder-{self._folders.setdefault('/'.join(folders[: depth + 1]), len(self._folders) + 1)}"
            for depth in range(len(folders))
        ]
        number = self._files.setdefault(path, len(self._files) + 1)
        return "/".join([*parts, f"file-{number}{suffixes_of(path)}"])
