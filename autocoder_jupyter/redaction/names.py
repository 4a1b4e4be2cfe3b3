"""Names of files and folders, which tell persons, projects and cases, as they may leave the notebook."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_PLAIN_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


def suffixes_of(name: str) -> str:
    """The endings of a file's name by which it is read, two at most (`.csv.gz`); not what else stands behind a dot."""
    plain: list[str] = []
    for suffix in reversed(PurePosixPath(name).suffixes[-2:]):
        if not _PLAIN_SUFFIX.fullmatch(suffix) or suffix[1:].isdigit():
            break
        plain.insert(0, suffix.lower())
    known = {".gz", ".bz2", ".xz", ".zip", ".zst"}
    return "".join(plain if len(plain) == 2 and plain[1] in known else plain[-1:])


class FilePlaceholders:
    """Placeholders for the paths of a folder: `folder-1/file-2.csv`, the same one for the same name."""

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
