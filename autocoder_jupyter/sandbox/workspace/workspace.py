"""The workspace of an agent: its files, and the tools with which it reads, writes and runs them.

The files are kept in the memory of the notebook process and never written to a disk of this machine. A command runs in
a fresh child of a worker with a copy of the files, and the files that it leaves replace those in the workspace. So no
state stays in the worker, and a crashed run can continue with the recorded files alone.
"""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, TypeVar

from autocoder_jupyter.errors import EngineGone, PackageError, SandboxError, SandboxUnavailable
from autocoder_jupyter.sandbox.host.messages import clean, without_paths
from autocoder_jupyter.sandbox.host.replies import CallAnswer, refused
from autocoder_jupyter.sandbox.protocol import CommandOutcome
from autocoder_jupyter.sandbox.worker.commands import (
    ALL_BYTES,
    DEPTH,
    FILE_BYTES,
    LONGEST_PATH,
    MOST_FILES,
    MOST_LEFT_OUT,
    OUTPUT_BYTES,
)
from autocoder_jupyter.sandbox.worker.frames import pack
from autocoder_jupyter.untrusted.visible import visible, visible_block

# Allowed files


class NotConfined(Exception):
    """A path or a set of files that is not allowed in a workspace. The text of the error says why."""


def confined(path: object) -> str:
    """Check the path of a file in a workspace, and normalize it (`./a//b.py` becomes `a/b.py`).

    Raises:
        NotConfined: the path is not text, is empty, absolute or too long, has `..` or has hidden characters.
    """
    if not isinstance(path, str) or not path.strip():
        raise NotConfined("The path is missing; give one such as solution.py.")
    shown = visible(path[:LONGEST_PATH])
    if not path.isprintable():
        raise NotConfined(f"The path {shown!r} holds control or invisible characters.")
    parts = PurePosixPath(path).parts
    if path.startswith(("/", "~")):
        raise NotConfined(f"{shown} is not in the workspace; paths are relative to it, such as solution.py.")
    if ".." in parts:
        raise NotConfined(f"{shown} may lead out of the workspace: '..' is not allowed.")
    if not parts:
        raise NotConfined(f"{shown} is the workspace itself, not a file.")
    if len(parts) > DEPTH or len(path) > LONGEST_PATH:
        raise NotConfined(f"{shown} is too long: {LONGEST_PATH} characters and {DEPTH} parts are allowed.")
    return "/".join(parts)


def require_room(files: Mapping[str, bytes]) -> None:
    """Check the number, the sizes and the paths of the files of a workspace."""
    if len(files) > MOST_FILES:
        raise NotConfined(f"A workspace holds {MOST_FILES} files at most.")
    for path, content in files.items():
        if len(content) > FILE_BYTES:
            raise NotConfined(f"{path} is larger than {FILE_BYTES >> 20} MiB.")
        if above := _file_above(path, files):
            raise NotConfined(f"{path} cannot be a file: {above} is one, and no folder.")
    if sum(map(len, files.values())) > ALL_BYTES:
        raise NotConfined(f"The files of a workspace have {ALL_BYTES >> 20} MiB in all at most.")


def _file_above(path: str, files: Collection[str]) -> str:
    return next((str(parent) for parent in PurePosixPath(path).parents if str(parent) in files), "")


# Requests and answers of a command
#
# The answer comes from the sandbox, and is not trusted.

_T = TypeVar("_T")

GRACE_SECONDS = 10.0
"""Added to the time limit of a command, for writing its files before it and reading them after it."""

_LONGEST_REASON = 100


def command_request(command: str, files: Mapping[str, bytes], seconds: float) -> list[Any]:
    """The pieces of a request, to be sent one after the other."""
    entries = [{"path": path, "size": len(content)} for path, content in files.items()]
    size = sum(map(len, files.values()))
    head = {"kind": "command", "command": command, "seconds": seconds, "files": entries, "payload": size}
    return [pack(head), *files.values()]


def command_outcome(answer: CallAnswer) -> CommandOutcome:
    """Decode the answer to a command."""
    header = answer.header
    if header["kind"] == "error" and header.get("error") == "Workspace":
        why = visible(str(header.get("message"))[:500])
        raise SandboxError("The workspace could not be written to the sandbox, or not be read from it.", why=why)
    if header["kind"] != "command":
        raise refused("an answer that is not a command's")
    try:
        return CommandOutcome(
            exit_code=_typed(int, header.get("exit_code")),
            output=without_paths(clean(_typed(str, header.get("output")), 2 * OUTPUT_BYTES), answer.folder),
            files=_files(header.get("files"), answer.payload),
            left_out=_left_out(header.get("left_out"), header.get("more_left_out")),
            stopped=clean(_typed(str, header.get("stopped")), _LONGEST_REASON),
        )
    except (TypeError, NotConfined) as error:
        raise refused(str(error)) from None


def _files(entries: object, payload: memoryview) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    position = 0
    for entry in _typed(list, entries):
        path, size = _typed(str, _typed(dict, entry).get("path")), _typed(int, entry.get("size"))
        if confined(path) != path or path in files or not 0 <= size <= len(payload) - position:
            raise TypeError("a file that a workspace cannot hold")
        files[path] = bytes(payload[position : position + size])
        position += size
    require_room(files)
    return files


def _left_out(entries: object, more: object) -> tuple[str, ...]:
    named = tuple(
        f"{visible(_typed(str, _typed(dict, entry).get('path'))[:LONGEST_PATH])} "
        f"({visible(_typed(str, entry.get('reason'))[:_LONGEST_REASON])})"
        for entry in _typed(list, entries)[:MOST_LEFT_OUT]
    )
    return (*named, f"{more} more") if _typed(int, more) > 0 else named


def _typed(kind: type[_T], value: object) -> _T:
    if type(value) is not kind:
        raise TypeError("a command's answer without its parts")
    return value


# Text of files

MOST_LINES = 2_000
LONGEST_LINE = 2_000
_LINES_AROUND = 4


class FileToolError(Exception):
    """A file cannot be read or edited as requested. The text of the error says why; the agent reads it."""


@dataclass(frozen=True)
class EditedText:
    """The text of a file after an edit, and numbered lines of it around the first replacement."""

    text: str
    around: str


def numbered(path: str, content: bytes, offset: int, limit: int) -> str:
    """Lines of a file with their numbers, in the format of `cat -n`."""
    text = _text(path, content)
    if not text:
        return f"{path} is empty."
    lines = _lines(text)
    first = max(offset, 1)
    if first > len(lines):
        raise FileToolError(f"{path} has {len(lines)} lines; there is no line {first}.")
    last = min(first - 1 + max(min(limit, MOST_LINES), 1), len(lines))
    shown = _with_numbers(lines, first, last)
    return shown if last == len(lines) else f"{shown}\n[{len(lines) - last} more lines; read on with offset {last + 1}]"


def replaced(path: str, content: bytes, old: str, new: str, *, everywhere: bool) -> EditedText:
    r"""Replace `old` by `new` in the text of a file. Line ends of Windows (`\r\n`) become `\n`.

    Args:
        path: the name of the file in messages.
        content: the bytes of the file.
        old: the text to replace.
        new: its replacement.
        everywhere: replace all occurrences. Otherwise there must be exactly one.

    Raises:
        FileToolError: the file is not text, `old` is empty or equal to `new`, it does not occur, or occurs more than
            once without `everywhere`.
    """
    text = _text(path, content).replace("\r\n", "\n")
    if not old:
        raise FileToolError("The old text is empty; use Write for a new file.")
    if old == new:
        raise FileToolError("The old and the new text are the same.")
    count = text.count(old)
    if not count:
        raise FileToolError(
            f"The old text does not stand in {path}, to the letter. Read the file and copy it from there."
        )
    if count > 1 and not everywhere:
        raise FileToolError(f"The old text stands {count} times in {path}. Take in more around it, or replace all.")
    changed = text.replace(old, new)
    if not changed:
        return EditedText("", f"{path} is empty.")
    lines = _lines(changed)
    first = text[: text.index(old)].count("\n") + 1
    last = first + new.count("\n")
    return EditedText(
        changed, _with_numbers(lines, max(first - _LINES_AROUND, 1), min(last + _LINES_AROUND, len(lines)))
    )


def count_lines(text: str) -> str:
    """The number of lines of a text, for a message: `3 lines`."""
    count = len(_lines(text)) if text else 0
    return f"{count} line" if count == 1 else f"{count} lines"


def _text(path: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise FileToolError(f"{path} is no text; it has {len(content):,} bytes. Look at it with a command.")
    return text


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _with_numbers(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{number:>6}\t{_cut(lines[number - 1])}" for number in range(first, last + 1))


def _cut(line: str) -> str:
    left = len(line) - LONGEST_LINE
    return line if left <= 0 else f"{line[:LONGEST_LINE]}… (+{left} characters)"


# The workspace and its tools

Run = Callable[[str, Mapping[str, bytes], float], Awaitable[CommandOutcome]]
"""Runs a command: its text, the files, the time limit in seconds; see `protocol.Worker.command`. Can be cancelled."""

DEFAULT_SECONDS = 60.0
LONGEST_OBSERVATION = 30_000
"""Characters of the text that an agent gets for one call."""

LONGEST_COMMAND = 20_000


@dataclass(frozen=True)
class Observation:
    """The text that an agent gets for a call. It is limited in length, and hidden characters are escaped."""

    text: str
    ok: bool = True


class Workspace:
    """The files of an agent and its four tools. Calls run one after the other.

    Args:
        run: runs a command in a sandbox without network.
        files: the files at the beginning, by path.
        given: read-only files such as samples. Each command gets them unchanged; no tool can change them. They are
            not part of `files`.
        most_seconds: the longest time limit of a command.

    Raises:
        NotConfined: a path or a size is not allowed.
    """

    def __init__(
        self,
        run: Run,
        files: Mapping[str, bytes] | None = None,
        *,
        given: Mapping[str, bytes] | None = None,
        most_seconds: float = 120.0,
    ) -> None:
        self._run = run
        self._given = {confined(path): content for path, content in (given or {}).items()}
        self._most_seconds = most_seconds
        self._turn = asyncio.Lock()
        self._files: Mapping[str, bytes] = {}
        self._hold({confined(path): content for path, content in (files or {}).items()})

    @property
    def files(self) -> Mapping[str, bytes]:
        """The agent's files by path. The mapping does not change; a later change creates a new one."""
        return MappingProxyType(self._files)

    def text(self, path: str) -> str | None:
        """The text of an agent's file, with invalid UTF-8 replaced; None if there is no such file."""
        content = self._files.get(path)
        return None if content is None else content.decode("utf-8", "replace")

    def snapshot(self) -> dict[str, str]:
        """The files as JSON values for the journal: base64 text by path."""
        return {path: base64.b64encode(content).decode() for path, content in sorted(self._files.items())}

    def restore(self, snapshot: object) -> bool:
        """Replace the files by those of a snapshot, which is not trusted. Returns False if it is invalid."""
        try:
            self._hold({confined(path): base64.b64decode(text, validate=True) for path, text in _items(snapshot)})
        except (NotConfined, TypeError, ValueError):
            return False
        return True

    async def bash(self, command: str, seconds: float | None = None) -> Observation:
        """Run a shell command.

        Raises:
            EngineGone, SandboxUnavailable, PackageError: the sandbox failed. A failure of the command is in the text.
        """
        wanted = seconds if seconds and math.isfinite(seconds) else DEFAULT_SECONDS
        allowed = min(max(wanted, 1.0), self._most_seconds)
        if not command.strip() or "\0" in command or len(command) > LONGEST_COMMAND:
            return _refusal(f"The command is empty, holds a NUL, or is longer than {LONGEST_COMMAND:,} characters.")
        async with self._turn:
            try:
                outcome = await self._run(command, self._given | dict(self._files), allowed)
            except (EngineGone, SandboxUnavailable, PackageError):
                raise
            except SandboxError as error:
                return _refusal(f"{error}\nThe files of the workspace are as they were before this command.")
            notes = self._take(outcome)
        return _observation(outcome, notes, allowed)

    async def read(self, path: str, offset: int = 1, limit: int = MOST_LINES) -> Observation:
        """Show at most `limit` lines of a file, from line `offset` on, with their numbers."""
        async with self._turn:
            try:
                content = self._existing(confined(path))
                return _success(numbered(path, content, offset, limit))
            except (NotConfined, FileToolError) as error:
                return _refusal(str(error))

    async def write(self, path: str, content: str) -> Observation:
        """Create a file, or overwrite it."""
        async with self._turn:
            try:
                place = self._own(path)
                there = place in self._files
                self._hold({**self._files, place: _encoded(content)})
            except (NotConfined, FileToolError) as error:
                return _refusal(str(error))
        return _success(f"{'Wrote over' if there else 'Made'} {place}: {count_lines(content)}.")

    async def edit(self, path: str, old: str, new: str, replace_all: bool = False) -> Observation:
        """Replace the only occurrence of `old` in a file by `new`, or all of them with `replace_all`."""
        async with self._turn:
            try:
                place = self._own(path)
                change = replaced(place, self._existing(place), old, new, everywhere=replace_all)
                self._hold({**self._files, place: _encoded(change.text)})
            except (NotConfined, FileToolError) as error:
                return _refusal(str(error))
        return _success(f"Changed {place}. It reads now:\n{change.around}")

    def _own(self, path: str) -> str:
        place = confined(path)
        if place in self._given:
            raise NotConfined(f"{place} is given and stays as it is; write to another file.")
        return place

    def _existing(self, place: str) -> bytes:
        content = self._given.get(place, self._files.get(place))
        if content is None:
            there = ", ".join(sorted([*self._given, *self._files])[:20]) or "no file"
            raise NotConfined(f"There is no {place} in the workspace; there is {there}.")
        return content

    def _hold(self, files: dict[str, bytes]) -> None:
        require_room(self._given | files)
        self._files = files

    def _take(self, outcome: CommandOutcome) -> list[str]:
        """Replace the agent's files by those that a command left. Returns notes for the agent."""
        notes = [f"left out: {entry}" for entry in outcome.left_out]
        changed = [path for path, content in self._given.items() if outcome.files.get(path) != content]
        if changed:
            notes.append(f"given, and as before again: {', '.join(changed)}")
        try:
            self._hold({path: content for path, content in outcome.files.items() if path not in self._given})
        except NotConfined as error:
            notes.append(f"The files are as they were before this command. {error}")
        return notes


def _observation(outcome: CommandOutcome, notes: list[str], seconds: float) -> Observation:
    stopped = {"timed out": f"stopped after {seconds:g} s", "flooded": "stopped: it printed more than 16 MiB"}
    how = stopped.get(outcome.stopped, f"exit code {outcome.exit_code}" if outcome.exit_code else "")
    lines = [outcome.output.rstrip("\n") or "(no output)", *(f"[{line}]" for line in (how, *notes) if line)]
    return Observation(_bounded("\n".join(lines)), ok=not how)


def _success(text: str) -> Observation:
    return Observation(_bounded(visible_block(text)))


def _refusal(text: str) -> Observation:
    return Observation(_bounded(visible_block(text)), ok=False)


def _bounded(text: str) -> str:
    missing = len(text) - LONGEST_OBSERVATION
    if missing <= 0:
        return text
    half = LONGEST_OBSERVATION // 2
    return f"{text[:half]}\n[... {missing:,} characters left out ...]\n{text[-half:]}"


def _items(snapshot: object) -> Iterable[tuple[object, str]]:
    if not isinstance(snapshot, dict):
        raise TypeError
    return snapshot.items()


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise NotConfined(f"The text cannot be written as UTF-8: {visible(str(error))}.") from None
