"""The folders in which a program can write. They are emptied before the next program starts.

The worker keeps nothing of its own in there, so whatever a program removed, renamed or filled does not matter.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import removal


class Workplace:
    """The worker's folder with a folder for each program in it.

    Args:
        scratch: folders of the sandbox that programs can write and that only they use.
    """

    def __init__(self, scratch: Sequence[str]) -> None:
        self.root = Path(tempfile.gettempdir(), f"autocode-{secrets.token_hex(8)}")
        self._scratch = scratch

    def new_folder(self) -> Path:
        """An empty folder with an unguessable name."""
        folder = self.root / str(secrets.randbelow(10**16))
        self.root.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        return folder

    def clear(self) -> bool:
        """Remove whatever programs left. Only while there is none; False when something stays."""
        return all([removal.remove(self.root), *(removal.clear(folder) for folder in self._scratch)])
