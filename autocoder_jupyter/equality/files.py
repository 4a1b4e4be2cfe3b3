"""Files, folders and pictures: whether their content is equal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

_PIECE = 1 << 20

MOST_TEXT = 1_000_000
"""The number of characters of a file that are compared line by line."""


@runtime_checkable
class RenderedFigure(Protocol):
    """A figure that was rendered."""

    png: bytes
    spec: Mapping[str, Any]


def same_content(one: Path, other: Path) -> bool:
    """Whether two files have the same bytes.

    Raises:
        OSError: a file cannot be read.
    """
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as left, other.open("rb") as right:
        while piece := left.read(_PIECE):
            if piece != right.read(_PIECE):
                return False
    return True


def lines_of(path: Path) -> tuple[list[str], bool] | None:
    """The lines of a text file, and whether these are all; None if it is no text."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_TEXT + 1)
    except (OSError, UnicodeDecodeError):
        return None
    return text[:MOST_TEXT].splitlines(), len(text) <= MOST_TEXT


def files_of(folder: Path) -> dict[str, Path]:
    """The files of a folder by their relative path, sorted."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
