"""The lines of a lock: an exact version and the SHA-256 of each of its files, in the format of uv.

    pandas==3.1.1 --hash=sha256:0a1b… --hash=sha256:2c3d…

A line has the hashes of all files of a version, so a lock works on every platform. uv takes the wheel that fits, and
refuses a file with another hash. A lock may be untrusted, so a line must have nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from autocoder_jupyter.errors import PackageError, PackageRefused

_PIN = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?==[A-Za-z0-9][A-Za-z0-9.!+_-]*"
_HASH = r"--hash=sha256:[0-9a-f]{64}"
_LINE = re.compile(rf"{_PIN}(?: {_HASH})*")
_HASHED_LINE = re.compile(rf"{_PIN}(?: {_HASH})+")

MAX_LINES = 2_000
MAX_CHARACTERS = 200_000
"""Most characters of a line. A version with many wheels has a hundred hashes of 80 characters."""


def pin_of(line: str) -> str:
    """The name and version of a line: `pandas==3.1.1`."""
    return line.partition(" ")[0]


def name_of(line: str) -> str:
    """The name of the package of a line: `pandas`."""
    return line.partition("==")[0]


def is_lock(lines: object) -> bool:
    """Whether this is a list of valid lines of a lock, each with hashes."""
    return (
        isinstance(lines, list | tuple)
        and len(lines) <= MAX_LINES
        and all(isinstance(line, str) and len(line) <= MAX_CHARACTERS for line in lines)
        and all(_HASHED_LINE.fullmatch(line) for line in lines)
    )


def check_pins(lines: Iterable[str]) -> None:
    """Check that each line is an exact version, with or without hashes.

    Raises:
        PackageRefused: a line is not.
    """
    for line in lines:
        if len(line) > MAX_CHARACTERS or not _LINE.fullmatch(line):
            raise PackageRefused(
                f"{line[:80]!r} is not an exact requirement.",
                hint="A lock holds lines such as pandas==3.0.1, with the hashes of its files behind.",
                package=line[:80],
            )


def read_lock(printed: str) -> tuple[str, ...]:
    """The lines of a lock from the output of `uv pip compile --generate-hashes`.

    Raises:
        PackageError: the index has no hash for a file.
    """
    lines = []
    for text in printed.replace("\\\n", " ").splitlines():
        pin, *words = text.split() or [""]
        line = " ".join([pin, *(word for word in words if re.fullmatch(_HASH, word))])
        if _HASHED_LINE.fullmatch(line):
            lines.append(line)
        elif re.fullmatch(_PIN, pin):
            raise PackageError(
                f"The package index names no SHA-256 for the files of {pin}.",
                why="Without one, nobody can tell whether what is installed is what was tested.",
                hint="Use another index, or ask its version_manager.",
                package=name_of(pin),
            )
    return tuple(lines)
