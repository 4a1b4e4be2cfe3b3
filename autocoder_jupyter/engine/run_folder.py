"""The files of one run beside the notebook: written atomically, and repaired if they are damaged.

If something else is in the place of a file (a folder, half a file, a merge conflict), it is renamed, so that nothing of
the user is lost, and `notes` gets a sentence about it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.folder import Folder, Refused
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.versions.store import file_path, home_of, run_path


@dataclass
class _Unwritten:
    """What the disk refused, by the name of the file; `is_noted` once there is a note for the user."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    is_noted: bool = False


_unwritten: dict[tuple[Path, str], _Unwritten] = {}
"""By the folder of a run. It is kept until it is written or this process ends, because answers were paid for."""


class RunFolder:
    """The folder of a run. It is created by the first write.

    Args:
        root: the `.autocode` folder.
        is_version: whether it is a version of a function, whose place `versions.store` knows.
    """

    def __init__(self, root: Path, name: str, run_id: str, *, is_version: bool = False) -> None:
        self._root = root
        self._name = name
        self._run_id = run_id
        self._is_version = is_version
        self._files = Folder(root.parent)
        self.notes: list[str] = []
        """Sentences for the user about files that were repaired or could not be written."""

    def write(self, name: str, text: str) -> bytes:
        """Write a file, unless it already has this text. Returns its content."""
        content, path = (text.rstrip("\n") + "\n").encode(), self._path(name)
        with contextlib.suppress(OSError):
            if self._files.read_bytes(self._stored(name)) == content:
                return content
        with self._writable():
            if self._is_damaged(name):
                aside = self._files.set_aside(path)
                self.notes.append(f"{name} of {self._name} was damaged. It is written again; the old file is {aside}.")
            self._files.write(path, content)
        return content

    def append(self, name: str, line: str) -> None:
        """Append a line to a file. It is on disk when this returns. If the disk refuses it, it is kept in memory and
        written later, because its answer was paid for; a note says so.
        """
        self._waiting.lines.setdefault(name, []).append(line)
        self.write_waiting()

    def replace(self, name: str, text: str) -> None:
        """Write a file. If the disk refuses it, the text is kept in memory as by `append`."""
        self._waiting.texts[name] = text
        self.write_waiting()

    def waiting_lines(self, name: str) -> tuple[str, ...]:
        """The lines of a file that the disk refused, in this run or in an earlier one of this process."""
        waiting = _unwritten.get(self._key)
        return tuple(waiting.lines.get(name, ())) if waiting else ()

    def write_waiting(self) -> None:
        """Write what the disk refused, if there is anything."""
        waiting = _unwritten.get(self._key)
        if waiting is None:
            return
        try:
            for name, lines in list(waiting.lines.items()):
                with self._writable():
                    self._files.append(self._path(name), "".join(lines).encode())
                del waiting.lines[name]
            for name, text in list(waiting.texts.items()):
                self.write(name, text)
                del waiting.texts[name]
        except AutocodeError as error:
            if isinstance(error.__cause__, Refused):
                del _unwritten[self._key]
                raise
            if not waiting.is_noted:
                self.notes.append(
                    f"Nothing of {self._name} is recorded since then: {error.why.rstrip('.')}. The answers are kept "
                    "until this kernel ends. They are written, and not paid for again, if you free space and run the "
                    "cell again before that."
                )
            waiting.is_noted = True
        else:
            if waiting.is_noted:
                self.notes.append(f"The journal of {self._name} is complete again.")
            del _unwritten[self._key]

    @property
    def _waiting(self) -> _Unwritten:
        return _unwritten.setdefault(self._key, _Unwritten())

    @property
    def _key(self) -> tuple[Path, str]:
        return self._root, f"{self._name}/{self._run_id}"

    @property
    def _home(self) -> str:
        """Its folder now. Another kernel can move a version of an earlier layout at any time."""
        home = home_of(self._root.name, self._name)
        return run_path(self._files, home, self._run_id) if self._is_version else f"{home}/{self._run_id}"

    def append_or_raise(self, name: str, line: str) -> None:
        """Append a line to a file, after the lines that the disk refused before. It is on disk when this returns."""
        self.write_waiting()
        if self._key in _unwritten:
            raise AutocodeError(f"The journal of {self._name} cannot be written.", why="The disk refuses it.")
        with self._writable():
            self._files.append(self._path(name), line.encode())

    def holds(self, name: str) -> bool:
        """Whether anything has that name: a file, a folder or a link."""
        return self._files.exists(self._stored(name))

    def holds_json(self, name: str) -> bool:
        """Whether the file exists and contains a JSON object."""
        with contextlib.suppress(OSError, ValueError):
            return isinstance(parse(self._files.read_bytes(self._stored(name))), dict)
        return False

    def holds_report(self) -> bool:
        """Whether there is a readable report."""
        with contextlib.suppress(OSError, ValueError, OverflowError):
            return bool(Report.model_validate(parse(self._files.read_bytes(self._path("report.json")))).name)
        return False

    def lacks_source(self, name: str) -> bool:
        """Whether a module is missing or damaged. A module that the user edited is neither."""
        return not self.holds(name) or self._is_damaged(name)

    def _is_damaged(self, name: str) -> bool:
        """Whether the content was written neither by a run nor by the user. A link is simply replaced."""
        if self._files.is_folder(self._path(name)):
            return True
        try:
            content = self._files.read_bytes(self._path(name))
        except OSError:
            return False
        return not self.holds_json(name) if name.endswith(".json") else _is_merge_conflict(content)

    def _stored(self, name: str) -> str:
        """The path from which a file is read: another version may have the same one."""
        home = home_of(self._root.name, self._name)
        return file_path(self._files, home, self._run_id, name) if self._is_version else self._path(name)

    def _path(self, name: str) -> str:
        return f"{self._home}/{name}"

    @contextlib.contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            raise AutocodeError(
                f"The journal is not written: {self._root.parent / error.filename}, {error.strerror}.",
                why="Through such a path the author of the folder could overwrite another file of yours.",
                hint="Look at that path and remove it, or name another folder with journal_root=….",
            ) from error
        except OSError as error:
            raise AutocodeError(
                f"The journal cannot be written in {self._root}.",
                why=f"{error.strerror or error}.",
                hint="Work in a folder with write permission, or name another folder with journal_root=….",
            ) from error


def _is_merge_conflict(content: bytes) -> bool:
    lines = content.split(b"\n")
    return all(any(line.startswith(mark) for line in lines) for mark in (b"<<<<<<< ", b">>>>>>> "))
