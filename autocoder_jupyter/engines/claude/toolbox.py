"""The agent's four tools. Each call is classified, emitted, run in the workspace or by our runner, and recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from autocoder_jupyter.engine.generation import GenerationSetup
from autocoder_jupyter.engines.claude.classify import OTHERS_NOT_RUN, classify
from autocoder_jupyter.engines.claude.session import AgentTool
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.run.events import ToolCalled, ToolEnded
from autocoder_jupyter.sandbox.workspace.workspace import DEFAULT_SECONDS, LONGEST_OBSERVATION, Observation, Workspace
from autocoder_jupyter.types import ToolOutcome, ToolUse
from autocoder_jupyter.untrusted.visible import visible, visible_block
from autocoder_jupyter.versions.request_fields import content_key

STEP = "agent tool"
"""The journal's name for a call."""

LONGEST_ARGUMENT = 200
"""The number of characters of an argument that are shown."""

MOST_RECORDED = 32 * 2**20
"""The maximum bytes of results and files in the journal per session. Later calls are run again when it is resumed."""

MOST_CALLS = 1_000
"""The maximum number of calls of a session. One answer may ask for any number of them, and each may take minutes."""

_LARGEST = 1e9
"""The largest number that is an argument: a line, or seconds."""

LONGEST_OBSERVED = 2_000
"""The number of characters of an observation that are shown and kept in the report."""

_SANDBOX_FAILED = Observation("The sandbox failed; this is not the fault of the command.", ok=False)

_PATH = {"type": "string", "description": "path in the workspace, such as solution.py"}
_SCHEMAS: Mapping[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "Bash": (
        "Run a command of a shell in the workspace.",
        {
            "command": {"type": "string"},
            "timeout": {"type": "number", "description": f"seconds, {DEFAULT_SECONDS:g} by default"},
        },
        ("command",),
    ),
    "Read": (
        "Read lines of a file, with their numbers.",
        {"file_path": _PATH, "offset": {"type": "integer", "description": "first line"}, "limit": {"type": "integer"}},
        ("file_path",),
    ),
    "Write": (
        "Make a file, or write over it.",
        {"file_path": _PATH, "content": {"type": "string"}},
        ("file_path", "content"),
    ),
    "Edit": (
        "Put new text in the place of the one occurrence of a text in a file, or of all of them.",
        {
            "file_path": _PATH,
            "old_string": {"type": "string"},
            "new_string": {"type": "string"},
            "replace_all": {"type": "boolean"},
        },
        ("file_path", "old_string", "new_string"),
    ),
}


@dataclass(frozen=True)
class ToolCallbacks:
    """The functions outside the workspace that a call needs.

    Args:
        ready: builds the environment before a command; returns why that failed, or "".
        test: runs the agent's tests with the same runner as an attempt.
        changed: called after each call that may have changed files.
        failed: called with an error because of which further calls are useless.
    """

    ready: Callable[[], Awaitable[str]]
    test: Callable[[], Awaitable[Observation]]
    changed: Callable[[], None]
    failed: Callable[[AutocodeError], None]


class Toolbox:
    """The tools of one session.

    Args:
        session: a key from the beginning of the session. Recorded calls of other sessions are not used.
        turn: returns the number of the current turn.
    """

    def __init__(
        self,
        setup: GenerationSetup,
        workspace: Workspace,
        callbacks: ToolCallbacks,
        session: str,
        turn: Callable[[], int],
    ) -> None:
        self._setup = setup
        self._workspace = workspace
        self._callbacks = callbacks
        self._session = session
        self._turn = turn
        self._one_at_a_time = asyncio.Lock()
        self._room = MOST_RECORDED
        self.calls: list[ToolUse] = []

    @property
    def tools(self) -> tuple[AgentTool, ...]:
        """The tools for the session."""
        return tuple(self._tool(name) for name in _SCHEMAS)

    def _tool(self, name: str) -> AgentTool:
        description, properties, required = _SCHEMAS[name]
        schema = {"type": "object", "properties": properties, "required": list(required)}

        async def call(arguments: Mapping[str, Any]) -> tuple[str, bool]:
            async with self._one_at_a_time:
                if len(self.calls) >= MOST_CALLS:
                    return f"Not run: this session has made its {MOST_CALLS:,} calls of tools.", False
                observation = await self._called(name, {key: _plain(value) for key, value in arguments.items()})
            return observation.text, observation.ok

        return AgentTool(name, description, schema, call)

    async def _called(self, tool: str, arguments: Mapping[str, Any]) -> Observation:
        judgement = classify(tool, arguments, self._workspace.files)
        number, began = len(self.calls), time.monotonic()
        use = ToolUse(
            turn=self._turn(),
            tool=tool,
            argument=_shown(arguments),
            kind=judgement.kind,
            reason=judgement.reason,
            outcome="cancelled",
        )
        self.calls.append(use)
        call = f"{self._session}-{number}"
        self._setup.emit(ToolCalled(call, use.turn, tool, use.argument, use.kind, use.reason))
        outcome: ToolOutcome = "cancelled"
        observation, replayed = Observation("", ok=False), False
        try:
            before = self._workspace.snapshot()
            key = content_key(self._session, number, tool, dict(arguments), before)
            recorded = self._recorded(key)
            replayed = recorded is not None
            observation = recorded or await self._done(tool, arguments, use)
            outcome = "denied" if use.kind == "denied" else ("ok" if observation.ok else "failed")
            if not replayed:
                self._record(key, observation, before)
            self._callbacks.changed()
        finally:
            observed = visible_block(observation.text)[:LONGEST_OBSERVED]
            seconds = time.monotonic() - began
            ended = {"outcome": outcome, "observed": observed, "seconds": seconds, "replayed": replayed}
            self.calls[number] = use.model_copy(update=ended)
            self._setup.emit(ToolEnded(call, outcome, observed, seconds, replayed))
        return observation

    async def _done(self, tool: str, arguments: Mapping[str, Any], use: ToolUse) -> Observation:
        """Run a call. The agent gets its failure; a failure that no further call can fix ends the session."""
        if use.kind == "denied":
            return Observation(f"Denied: {use.reason}.", ok=False)
        try:
            if tool == "Bash" and (problem := await self._callbacks.ready()):
                return Observation(problem, ok=False)
            if use.kind == "intercepted":
                return _with_note(await self._callbacks.test(), use)
            return await self._in_workspace(tool, arguments)
        except AutocodeError as error:
            self._callbacks.failed(error)
            return _SANDBOX_FAILED

    async def _in_workspace(self, tool: str, arguments: Mapping[str, Any]) -> Observation:
        workspace, path = self._workspace, str(arguments.get("file_path") or "")
        match tool:
            case "Bash":
                return await workspace.bash(str(arguments.get("command") or ""), _number(arguments.get("timeout")))
            case "Read":
                offset, limit = _number(arguments.get("offset")), _number(arguments.get("limit"))
                given = {"offset": offset, "limit": limit}
                return await workspace.read(path, **{name: int(value) for name, value in given.items() if value})
            case "Write":
                return await workspace.write(path, str(arguments.get("content") or ""))
            case _:
                old, new = str(arguments.get("old_string") or ""), str(arguments.get("new_string") or "")
                return await workspace.edit(path, old, new, arguments.get("replace_all") is True)

    def _recorded(self, key: str) -> Observation | None:
        """The recorded result of this call from an interrupted run. It restores the files after the call."""
        if self._setup.config.cache != "auto":
            return None
        found = self._setup.services.journal.find_step(STEP, key)
        if found is None or not isinstance(found.get("observed"), str):
            return None
        if "files" in found and not self._workspace.restore(found["files"]):
            return None
        return Observation(visible_block(found["observed"][:LONGEST_OBSERVATION]), found.get("ok") is True)

    def _record(self, key: str, observation: Observation, before: Mapping[str, str]) -> None:
        """Record the result of a call, with the files if it changed any."""
        files = self._workspace.snapshot()
        changed = {} if files == before else {"files": files}
        self._room -= len(observation.text) + (sum(map(len, files.values())) if changed else 0)
        if self._setup.config.cache == "disable" or observation is _SANDBOX_FAILED or self._room < 0:
            return
        outcome = {"observed": observation.text, "ok": observation.ok, **changed}
        self._setup.services.journal.add_step(STEP, key, outcome)


def _with_note(tested: Observation, use: ToolUse) -> Observation:
    """The result of the tests, with a note if other commands on the same line were not run."""
    if OTHERS_NOT_RUN not in use.reason:
        return tested
    return Observation(f"{tested.text}\n[{OTHERS_NOT_RUN}: call them without pytest]", tested.ok)


def _shown(arguments: Mapping[str, Any]) -> str:
    text = str(arguments.get("command") or arguments.get("file_path") or "")
    return visible(" ".join(text.split()))[:LONGEST_ARGUMENT]


def _plain(value: Any) -> Any:
    """An argument as a call takes it: a text is valid Unicode, and a number that no call can mean is none."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, int | float):
        return value if -_LARGEST < value < _LARGEST else None
    return value


def _number(value: object) -> float | None:
    return float(cast(float, value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
