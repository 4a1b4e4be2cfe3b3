"""The lines of a lock: an exact version and the SHA-256 of each file of it, as uv writes and reads them.

    pandas==3.1.1 --hash=sha256:0a1b… --hash=sha256:2c3d…

All files of a version are named, so a lock holds for every platform; uv takes the wheel that fits and refuses another
content. A lock may be untrusted, so a line holds nothing but this.
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
"""In a line; a version with many wheels has a hundred, of 80 characters each."""


def pin_of(line: str) -> str:
    """`pandas==3.1.1` of a line."""
    return line.partition(" ")[0]


def name_of(line: str) -> str:
    """`pandas` of a line."""
    return line.partition("==")[0]


def is_lock(lines: object) -> bool:
    """Whether these are lines of a lock, each with hashes."""
    return (
        isinstance(lines, list | tuple)
        and len(lines) <= MAX_LINES
        and all(isinstance(line, str) and len(line) <= MAX_CHARACTERS for line in lines)
        and all(_HASHED_LINE.fullmatch(line) for line in lines)
    )


def check_pins(lines: Iterable[str]) -> None:
    """Refuse what is no exact version, with hashes or without.

    Raises:
        PackageRefused: there is such a line.
    """
    for line in lines:
        if len(line) > MAX_CHARACTERS or not _LINE.fullmatch(line):
            raise PackageRefused(
                f"{line[:80]!r} is not an exact requirement.",
                hint="A lock holds lines such as pandas==3.0.1, with the hashes of its files behind.",
                package=line[:80],
            )


def read_lock(printed: str) -> tuple[str, ...]:
    """The lines of what `uv pip compile --generate-hashes` prints.

    Raises:
        PackageError: the index does not say how a file must look.
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
