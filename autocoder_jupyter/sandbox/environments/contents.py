"""Compare the folder of an environment with its list of files, and with the records of its packages.

The list is written after the installation. A file that is truncated in place is also truncated in uv's cache, because
both are hard links to one file. So the distribution of a damaged file must be found and removed from the cache.
"""

from __future__ import annotations

import csv
import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LIST = "files.json"
"""The name of the list in the folder of an environment: a JSON object with the size of each file by its path."""


@dataclass(frozen=True)
class Departures:
    """The files that differ from the list, as paths relative to the folder, with slashes."""

    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def in_words(self) -> str:
        """The difference as a part of a sentence; "" if there is none."""
        count = len(self.missing) + len(self.changed)
        if not count:
            return ""
        first = Path((*self.changed, *self.missing)[0]).name
        kind = "have another size" if self.changed else "are missing"
        return f"{count} of its files {kind}, {first} first" if count > 1 else f"its file {first} is damaged"


def write_list(folder: Path) -> None:
    """Write the list of the present files of a folder."""
    (folder / LIST).write_text(json.dumps(_sizes(folder)), "utf-8")


def departures(folder: Path) -> Departures:
    """The differences between a folder and its list. There are none if it has no list."""
    expected = read_list(folder)
    now = _sizes(folder)
    return Departures(
        missing=tuple(path for path in expected if path not in now),
        changed=tuple(path for path, size in expected.items() if now.get(path, size) != size),
    )


def read_list(folder: Path) -> Mapping[str, int]:
    """The list of a folder: the size of each file by its path; {} if it cannot be read."""
    try:
        found = json.loads((folder / LIST).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def owners(site_packages: Path, paths: Collection[Path]) -> list[str]:
    """The distributions to which these files belong."""
    wanted = set(paths)
    found = set()
    for information, files in _recorded(site_packages):
        if wanted & {site_packages / path for path, _ in files} or any(information in path.parents for path in wanted):
            found.add(_distribution(information))
    return sorted(found)


def misfits(site_packages: Path) -> list[str]:
    """The distributions with a file whose size differs from the size in the record of their wheel."""
    return sorted(
        {
            _distribution(information)
            for information, files in _recorded(site_packages)
            if any(size is not None and _size(site_packages / path) != size for path, size in files)
        }
    )


def _recorded(site_packages: Path) -> Iterator[tuple[Path, list[tuple[str, int | None]]]]:
    """For each distribution its `.dist-info` folder, and its files with their sizes (None if not recorded)."""
    for information in site_packages.glob("*.dist-info"):
        try:
            rows = list(csv.reader((information / "RECORD").read_text("utf-8").splitlines()))
        except (OSError, ValueError, csv.Error):
            rows = []
        yield (
            information,
            [
                (row[0], int(row[2]) if row[2].isdecimal() and len(row[2]) < 16 else None)
                for row in rows
                if len(row) == 3 and not _leads_outside(row[0]) and "__pycache__" not in row[0]
            ],
        )


def _leads_outside(path: str) -> bool:
    return Path(path).is_absolute() or ".." in Path(path).parts


def _distribution(information: Path) -> str:
    return information.name.partition("-")[0]


def _sizes(folder: Path) -> dict[str, int]:
    """The size of each file below a folder, by its path. Paths are strings, because there are thousands of files."""
    sizes = {}
    root = str(folder)
    for parent, _, files in os.walk(root):
        below = parent[len(root) :].replace(os.sep, "/").strip("/")
        prefix = f"{below}/" if below else ""
        for name in files:
            relative = prefix + name
            if relative != LIST and (size := _size(f"{parent}{os.sep}{name}")) is not None:
                sizes[relative] = size
    return sizes


def _size(path: str | Path) -> int | None:
    """The size of a regular file; None if it is missing or of another kind."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
