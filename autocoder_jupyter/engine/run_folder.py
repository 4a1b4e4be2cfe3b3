"""The files of one run beside the notebook: written atomically, and repaired where they are damaged.

What is in the way of a file (a folder, half a file, what git leaves of two versions) gets another name beside it, so
that nothing of the user's is lost; `notes` says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.folder import Folder, Refused
from autocoder_jupyter.untrusted.plain_json import parse


class RunFolder:
    """The folder of a run; it is made when something is written.

    Args:
        root: the `.autocode` folder.
        name: the name of the result.
        run_id: the id of the run.
    """

    def __init__(self, root: Path, name: str, run_id: str) -> None:
        self._root = root
        self._name = name
        self._files = Folder(root.parent)
        self._home = f"{root.name}/{name}/{run_id}"
        self.notes: list[str] = []
        """What was damaged and put right, or could not be written; a sentence each, for the user."""

    def write(self, name: str, text: str) -> None:
        """Put a file in its place, unless just that is there.

        Raises:
            AutocodeError: it cannot be written.
        """
        content, path = (text.rstrip("\n") + "\n").encode(), self._path(name)
        with contextlib.suppress(OSError):
            if self._files.read_bytes(path) == content:
                return
        with self._writable():
            if self._is_damaged(name):
                aside = self._files.set_aside(path)
                self.notes.append(f"{name} of {self._name} was damaged and is written anew; what was there is {aside}.")
            self._files.write(path, content)

    def append(self, name: str, line: str) -> None:
        """Put a line at the end of a file, on disk when this returns. That there is no room for it is only noted: what
        it says is in memory, and was paid for.

        Raises:
            AutocodeError: what is there is no plain file.
        """
        try:
            with self._writable():
                self._files.append(self._path(name), line.encode())
        except AutocodeError as error:
            if isinstance(error.__cause__, Refused):
                raise
            self.notes.append(f"The journal of {self._name} lacks a step: {error.why}")

    def holds(self, name: str) -> bool:
        """Whether there is something under that name, whatever it is."""
        return self._files.exists(self._path(name))

    def holds_json(self, name: str) -> bool:
        """Whether the file is there and holds a JSON object."""
        with contextlib.suppress(OSError, ValueError):
            return isinstance(parse(self._files.read_bytes(self._path(name))), dict)
        return False

    def holds_report(self) -> bool:
        """Whether there is a report that can be read."""
        with contextlib.suppress(OSError, ValueError, OverflowError):
            return bool(Report.model_validate(parse(self._files.read_bytes(self._path("report.json")))).name)
        return False

    def lacks_source(self, name: str) -> bool:
        """Whether a module is missing or damaged; one that the user edited is neither."""
        return not self.holds(name) or self._is_damaged(name)

    def _is_damaged(self, name: str) -> bool:
        """Whether what is there is nothing that a run or the user would have written. A link just gives way."""
        if self._files.is_folder(self._path(name)):
            return True
        try:
            content = self._files.read_bytes(self._path(name))
        except OSError:
            return False
        return not self.holds_json(name) if name.endswith(".json") else _is_merge_conflict(content)

    def _path(self, name: str) -> str:
        return f"{self._home}/{name}"

    @contextlib.contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            raise AutocodeError(
                f"The journal is not written: {self._root.parent / error.filename}, {error.strerror}.",
                why="Whoever made the folder could so choose which file of yours is written to.",
                hint="Look at what is there and remove it, or name another folder with journal_root=….",
            ) from error
        except OSError as error:
            raise AutocodeError(
                f"The journal cannot be written in {self._root}.",
                why=f"{error.strerror or error}.",
                hint="Work in a folder that you may write to, or name another one with journal_root=….",
            ) from error


def _is_merge_conflict(content: bytes) -> bool:
    lines = content.split(b"\n")
    return all(any(line.startswith(mark) for line in lines) for mark in (b"<<<<<<< ", b">>>>>>> "))
