"""Compare an environment's folder with the list of files made after its installation, and with its packages' records.

A file that is cut short in place is cut short in uv's cache too, because both are one file with two names; so whoever
finds one must know its distribution.
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
"""In an environment's folder: the size of each file by its path."""


@dataclass(frozen=True)
class Departures:
    """How a folder differs from its list; paths relative to it, with slashes."""

    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def in_words(self) -> str:
        """A part of a sentence; "" when nothing differs."""
        count = len(self.missing) + len(self.changed)
        if not count:
            return ""
        first = Path((*self.changed, *self.missing)[0]).name
        kind = "have another size" if self.changed else "are missing"
        return f"{count} of its files {kind}, {first} first" if count > 1 else f"its file {first} is damaged"


def write_list(folder: Path) -> None:
    """Write the list of what the folder holds now."""
    (folder / LIST).write_text(json.dumps(_sizes(folder)), "utf-8")


def departures(folder: Path) -> Departures:
    """How the folder differs from its list; not at all when it has none."""
    expected = read_list(folder)
    now = _sizes(folder)
    return Departures(
        missing=tuple(path for path in expected if path not in now),
        changed=tuple(path for path, size in expected.items() if now.get(path, size) != size),
    )


def read_list(folder: Path) -> Mapping[str, int]:
    """The size of each file by its path, when the folder was whole; empty when there is no such list."""
    try:
        found = json.loads((folder / LIST).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def owners(site_packages: Path, paths: Collection[Path]) -> list[str]:
    """The distributions that these files belong to."""
    wanted = set(paths)
    found = set()
    for information, files in _recorded(site_packages):
        if wanted & {site_packages / path for path, _ in files} or any(information in path.parents for path in wanted):
            found.add(_distribution(information))
    return sorted(found)


def misfits(site_packages: Path) -> list[str]:
    """The distributions with a file that has not the size that their wheel gives."""
    return sorted(
        {
            _distribution(information)
            for information, files in _recorded(site_packages)
            if any(size is not None and _size(site_packages / path) != size for path, size in files)
        }
    )


def _recorded(site_packages: Path) -> Iterator[tuple[Path, list[tuple[str, int | None]]]]:
    """Each distribution's folder of information, with its files below `site_packages` and their sizes where it says."""
    for information in site_packages.glob("*.dist-info"):
        try:
            rows = list(csv.reader((information / "RECORD").read_text("utf-8").splitlines()))
        except (OSError, ValueError, csv.Error):
            rows = []
        yield (
            information,
            [
                (row[0], int(row[2]) if row[2].isdecimal() else None)
                for row in rows
                if len(row) == 3 and not _leads_outside(row[0]) and "__pycache__" not in row[0]
            ],
        )


def _leads_outside(path: str) -> bool:
    return Path(path).is_absolute() or ".." in Path(path).parts


def _distribution(information: Path) -> str:
    return information.name.partition("-")[0]


def _sizes(folder: Path) -> dict[str, int]:
    sizes = {}
    for parent, _, files in os.walk(folder):
        for name in files:
            path = Path(parent, name)
            relative = path.relative_to(folder).as_posix()
            if relative != LIST and (size := _size(path)) is not None:
                sizes[relative] = size
    return sizes


def _size(path: Path) -> int | None:
    """The size of a plain file; None when there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
