"""The workspace of an agent: its files, and the tools with which it reads, writes and runs them.

The files are kept in the memory of the notebook process and never written to a disk of this machine. A command runs in
a fresh child of a worker with a copy of the files, and the files that it leaves replace those in the workspace. So no
state stays in the worker, and a crashed run can continue with the recorded files alone.
"""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from autocoder_jupyter.errors import EngineGone, PackageError, SandboxError, SandboxUnavailable
from autocoder_jupyter.sandbox.protocol import CommandOutcome
from autocoder_jupyter.sandbox.workspace import file_text
from autocoder_jupyter.sandbox.workspace.confined import NotConfined, confined, require_room
from autocoder_jupyter.untrusted.parsing import visible, visible_block

Run = Callable[[str, Mapping[str, bytes], float], Awaitable[CommandOutcome]]
"""Runs a command: its text, the files, the time limit in seconds; see `protocol.Worker.command`. Can be cancelled."""

DEFAULT_SECONDS = 60.0
LONGEST_OBSERVATION = 30_000
"""Characters of the text that an agent gets for one call."""

LONGEST_COMMAND = 20_000


@dataclass(frozen=True)
class Observation:
    """The text that an agent gets for a call. It is limited in length, and hidden characters are escaped.

    Args:
        text: for the agent.
        ok: whether the call succeeded.
    """

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

        Args:
            command: the text for the shell.
            seconds: its time limit; 60 by default.

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

    async def read(self, path: str, offset: int = 1, limit: int = file_text.MOST_LINES) -> Observation:
        """Show at most `limit` lines of a file, from line `offset` on, with their numbers."""
        async with self._turn:
            try:
                content = self._existing(confined(path))
                return _told(file_text.numbered(path, content, offset, limit))
            except (NotConfined, file_text.FileToolError) as error:
                return _refusal(str(error))

    async def write(self, path: str, content: str) -> Observation:
        """Create a file, or overwrite it."""
        async with self._turn:
            try:
                place = self._own(path)
                there = place in self._files
                self._hold({**self._files, place: _encoded(content)})
            except (NotConfined, file_text.FileToolError) as error:
                return _refusal(str(error))
        return _told(f"{'Wrote over' if there else 'Made'} {place}: {file_text.count_lines(content)}.")

    async def edit(self, path: str, old: str, new: str, replace_all: bool = False) -> Observation:
        """Replace the only occurrence of `old` in a file by `new`, or all of them with `replace_all`."""
        async with self._turn:
            try:
                place = self._own(path)
                change = file_text.replaced(place, self._existing(place), old, new, everywhere=replace_all)
                self._hold({**self._files, place: _encoded(change.text)})
            except (NotConfined, file_text.FileToolError) as error:
                return _refusal(str(error))
        return _told(f"Changed {place}. It reads now:\n{change.around}")

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
    told = [outcome.output.rstrip("\n") or "(no output)", *(f"[{line}]" for line in (how, *notes) if line)]
    return Observation(_bounded("\n".join(told)), ok=not how)


def _told(text: str) -> Observation:
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
