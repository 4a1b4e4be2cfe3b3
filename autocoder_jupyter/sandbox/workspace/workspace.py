"""The workspace of an agent that writes on its own: files held here, commands run in a sandbox, tools that stay inside.

The files are bytes by path in the memory of the notebook, never files on a disk of this machine. A command gets a copy
of them in a fresh child of a worker, and what lies there afterwards takes their place; so a call leaves nothing in the
worker, and the files after a call are all that a crashed run needs to go on.
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
from autocoder_jupyter.untrusted.visible import visible, visible_block

Run = Callable[[str, Mapping[str, bytes], float], Awaitable[CommandOutcome]]
"""Runs a command on files for so many seconds at most; see `protocol.Worker.command`. It may be cancelled."""

DEFAULT_SECONDS = 60.0
LONGEST_OBSERVATION = 30_000
"""Characters that an agent is told of one call."""

LONGEST_COMMAND = 20_000


@dataclass(frozen=True)
class Observation:
    """What an agent is told of a call, and whether the call did what was asked. The text is bounded and visible."""

    text: str
    ok: bool = True


class Workspace:
    """Files, and the four tools that an agent has for them. Calls wait for each other.

    Args:
        run: runs a command, in a sandbox without network.
        files: what is there at first.
        given: files to read, such as samples; each command finds them as they are here, and none of the tools changes
            them. They are no part of `files`.
        most_seconds: for one command.

    Raises:
        NotConfined: such files cannot be held.
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
        """The agent's files by path, as they are now; the next change makes another mapping."""
        return MappingProxyType(self._files)

    def text(self, path: str) -> str | None:
        """A file of the agent's as text, what is no UTF-8 replaced; None when there is no such file."""
        content = self._files.get(path)
        return None if content is None else content.decode("utf-8", "replace")

    def snapshot(self) -> dict[str, str]:
        """The files as JSON values, for the journal."""
        return {path: base64.b64encode(content).decode() for path, content in sorted(self._files.items())}

    def restore(self, snapshot: object) -> bool:
        """Replace the files by those of an untrusted snapshot. False, without a change, when it is not valid."""
        try:
            self._hold({confined(path): base64.b64decode(text, validate=True) for path, text in _items(snapshot)})
        except (NotConfined, TypeError, ValueError):
            return False
        return True

    async def bash(self, command: str, seconds: float | None = None) -> Observation:
        """Run a command of a shell, for `seconds` at most.

        Raises:
            SandboxError: the sandbox failed (`EngineGone`, `SandboxUnavailable`, `PackageError`), and not the command.
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
        """Lines of a file with their numbers, from line `offset` on, `limit` of them at most."""
        async with self._turn:
            try:
                content = self._existing(confined(path))
                return _told(file_text.numbered(path, content, offset, limit))
            except (NotConfined, file_text.Unsuitable) as error:
                return _refusal(str(error))

    async def write(self, path: str, content: str) -> Observation:
        """Make a file, or write over it."""
        async with self._turn:
            try:
                place = self._own(path)
                there = place in self._files
                self._hold({**self._files, place: _encoded(content)})
            except (NotConfined, file_text.Unsuitable) as error:
                return _refusal(str(error))
        return _told(f"{'Wrote over' if there else 'Made'} {place}: {file_text.count_lines(content)}.")

    async def edit(self, path: str, old: str, new: str, replace_all: bool = False) -> Observation:
        """Put `new` in the place of the one occurrence of `old` in a file, or of all of them."""
        async with self._turn:
            try:
                place = self._own(path)
                change = file_text.replaced(place, self._existing(place), old, new, everywhere=replace_all)
                self._hold({**self._files, place: _encoded(change.text)})
            except (NotConfined, file_text.Unsuitable) as error:
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
        """Hold what a command left, but for what was given; what to tell of it."""
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
