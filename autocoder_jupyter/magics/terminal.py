"""What a terminal shows: text of its width, and the paths of the pictures, which it cannot show."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path


def columns() -> int:
    """The width of the terminal in characters; 0 if the output is not a terminal."""
    return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 0


def saved(pictures: Mapping[str, bytes]) -> str:
    """Write PNG pictures to files for a terminal; the lines with their paths. Nothing if the output is not one."""
    lines = []
    for number, (name, picture) in enumerate(pictures.items() if sys.stdout.isatty() else ()):
        with suppress(OSError):  # a full disk must not end the cell; the text says what the picture shows
            path = Path(tempfile.mkdtemp(dir=_folder().name), f"{number + 1}.png")
            path.write_bytes(picture)
            lines.append(f"  {name}: {path}\n")
    return "".join(lines)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """The folder of this process's pictures. It is removed at the end of the process."""
    return tempfile.TemporaryDirectory(prefix="autocode-")
