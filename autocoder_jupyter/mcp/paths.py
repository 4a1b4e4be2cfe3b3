"""Files that an agent names: only below the folders that the person named, and none whose path has a hidden part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.data.dialects import DELIMITED_SUFFIXES
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.untrusted.visible import visible

MOST_BYTES = 2**28
"""A larger table is not read into memory for a description or a request, unless it is Parquet."""

MOST_FILES = 200
_MOST_ENTRIES = 10_000
_TABLES = (*DELIMITED_SUFFIXES, ".parquet", ".feather", ".xlsx", ".json", ".jsonl")
_LEFT_OUT = ("node_modules", "__pycache__", "site-packages")


@dataclass(frozen=True)
class NamedFolders:
    """The folders that the person named.

    Args:
        roots: their real paths. A relative path is one below the first.
    """

    roots: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Sequence[str]) -> NamedFolders:
        """From paths; by default the current folder."""
        return cls(tuple(Path(folder).expanduser().resolve() for folder in (folders or ["."])))

    def path(self, text: str) -> Path:
        """The real path of a file or folder below one of them. What is outside is refused, whether it exists or not.

        Raises:
            InvalidRequest: it is outside, hidden or not there.
        """
        given = local_path(text)
        try:
            real = (self.roots[0] / given).resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, a null character
            real = None
        place = self._place(real) if real is not None else None
        if real is None or place is None or any(part.startswith(".") for part in place.parts):
            raise InvalidRequest(
                f"{visible(text[:200])!r} cannot be used.",
                why="Only files below the folders that the person named are, and none that is hidden.",
                hint=f"The folders: {', '.join(visible(root) for root in self.roots)}. list names their tables.",
            )
        if not (real.is_file() or real.is_dir()):
            raise InvalidRequest(f"There is no file {visible(text[:200])!r}.", hint="list names the tables.")
        return real

    def folder(self, text: str) -> Path:
        """The path of a folder that a function gets whole.

        Raises:
            InvalidRequest: see `path`; or something in it is hidden.
        """
        path = self.path(text)
        if any(name.startswith(".") for _, folders, names in os.walk(path) for name in (*folders, *names)):
            raise InvalidRequest(
                f"{visible(text[:200])!r} cannot be used.",
                why="The function would get all of the folder, and there are hidden files or folders in it.",
                hint="Name a folder without them.",
            )
        return path

    def table(self, text: str) -> Path:
        """The path of a table that is small enough to be read.

        Raises:
            InvalidRequest: see `path`; or it is too large.
        """
        path = self.path(text)
        if path.is_file() and path.suffix != ".parquet" and path.stat().st_size > MOST_BYTES:
            raise InvalidRequest(
                f"{visible(text[:200])} has more than {MOST_BYTES // 2**20} MiB.",
                why="It would be read into memory.",
                hint="Name a Parquet file, of which a sample is drawn.",
            )
        return path

    def tables(self) -> Iterator[tuple[str, int]]:
        """The tables in these folders, with their sizes in bytes; at most 200. No link is followed."""
        seen = found = 0
        for root in self.roots:
            for place, folders, names in os.walk(root):
                folders[:] = sorted(name for name in folders if name[0] not in "._" and name not in _LEFT_OUT)
                for name in sorted(names):
                    path = Path(place, name)
                    if name[0] == "." or path.suffix.lower() not in _TABLES or path.is_symlink():
                        continue
                    shown = os.fspath(path.relative_to(root) if root == self.roots[0] else path)
                    if visible(shown) != shown or not path.is_file():  # also a name that is not UTF-8
                        continue
                    if found == MOST_FILES:
                        return
                    found += 1
                    yield shown, path.stat().st_size
                seen += len(names)
                if seen > _MOST_ENTRIES:
                    return

    def _place(self, real: Path) -> Path | None:
        """The part of a path below a folder; None if it is below none."""
        return next((real.relative_to(root) for root in self.roots if real.is_relative_to(root)), None)
