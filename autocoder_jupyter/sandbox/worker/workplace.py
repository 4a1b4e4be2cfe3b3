"""The folders in which a program can write. They are emptied before the next program starts.

The worker has no own files in them, so a program cannot damage the worker by changing them.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import removal


class Workplace:
    """The worker's folder, which has a folder for each program.

    Args:
        scratch: further folders of the sandbox in which programs can write. No one else uses them.
    """

    def __init__(self, scratch: Sequence[str]) -> None:
        self.root = Path(tempfile.gettempdir(), f"autocode-{secrets.token_hex(8)}")
        self._scratch = scratch

    def new_folder(self) -> Path:
        """Create an empty folder with a random name."""
        folder = self.root / str(secrets.randbelow(10**16))
        self.root.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        return folder

    def clear(self) -> bool:
        """Remove the files of all programs. No program may be running. False if a part could not be removed."""
        return all([removal.remove(self.root), *(removal.clear(folder) for folder in self._scratch)])
