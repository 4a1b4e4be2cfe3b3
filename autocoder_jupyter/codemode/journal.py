"""The journal of conversations beside the notebook: the model's answers, and the outcome of every tool call.

    .autocode/<name>/tools-<run>/
        conversation.jsonl  append-only: exchanges with the model, outcomes of tools, blocks that were run
        sent.json           every request to the model's service, as it was sent

The name of a run's folder is made from the content of its question. A repeated run finds the answers and the outcomes,
so no model is asked and no tool is called. A value that looks like a secret is not recorded. Then a tool without
effects is called again; a tool with effects is never called again, and its unknown outcome is an error in the program.

A call with effects begins after its beginning is on disk, and only if this process alone has the run open.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autocoder_jupyter.codemode.values import NotRecordable, decode, encode
from autocoder_jupyter.engine.journal import RunJournal, line_of
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import CachePolicy

PREFIX = "tools-"
MOST_LIVE = 64
"""The maximum number of values in memory. These are values, mainly frames, that cannot be recorded."""

LONGEST_ERROR = 2_000
OUTCOME_BYTES = 2 * 2**20
"""Bytes. A larger value is not recorded."""


@dataclass(frozen=True)
class RecordedOutcome:
    """The outcome of a call.

    Args:
        error: type and message of its exception; the type is the name of a built-in.
        known: False if the call was started and its end or its value is unknown.
    """

    value: Any = None
    error: tuple[str, str] | None = None
    denied: bool = False
    known: bool = True


@dataclass
class Memory:
    """The outcomes of all runs of an agent in one folder, kept in memory even if nothing is recorded."""

    outcomes: dict[str, RecordedOutcome] = field(default_factory=dict)
    live: dict[str, RecordedOutcome] = field(default_factory=dict)
    blocks: set[str] = field(default_factory=set)
    clocks: dict[str, dt.datetime] = field(default_factory=dict)


_known: set[tuple[Path, str, str]] = set()
"""The conversations of this process, by record and key of their messages. Every other history comes from a record."""

_kept: dict[tuple[Path, str, str], RecordedOutcome] = {}
"""The newest outcomes in this process by record and call, so that another agent can continue with its tables."""


class ConversationJournal(RunJournal):
    """The journal of a run of code mode: also the outcomes of calls, and the blocks that were run.

    Args:
        root: the `.autocode` folder.
        policy: `auto` reads and writes the record; `override` only writes; `disable` does neither, except in memory.
        memory: shared by the runs of an agent.
    """

    FILE = "conversation.jsonl"

    def __init__(self, root: Path, name: str, policy: CachePolicy = "auto", memory: Memory | None = None) -> None:
        super().__init__(root, name)
        memory = memory or Memory()
        self._policy = policy
        self._outcomes, self._live = memory.outcomes, memory.live
        self._blocks, self._clocks = memory.blocks, memory.clocks
        self._mine: set[str] = set()
        self._alone = False

    @property
    def records(self) -> bool:
        """Whether anything is written."""
        return self._policy != "disable"

    def begin(self, run_id: str, *, alone: bool) -> None:
        """Open the folder of a run and load what this run and earlier ones recorded."""
        if self.records:
            self._alone = alone
            self._open(run_id)

    def _remember(self, entry: Mapping[str, Any]) -> None:
        super()._remember(entry)
        key = str(entry.get("key"))
        match entry.get("kind"):
            case "begun":
                self._outcomes[key] = RecordedOutcome(known=False)
            case "outcome":
                self._outcomes[key] = _outcome(entry)
            case "block":
                self._blocks.add(key)
            case "dropped":
                self._blocks.discard(key)
            case "clock":
                self._clocks[key] = dt.datetime.fromisoformat(str(entry.get("at"))).astimezone(dt.UTC)

    # Outcomes of tools

    def outcome(self, key: str, *, restoring: bool) -> RecordedOutcome | None:
        """The recorded outcome of a call, if it is known and may be used."""
        if not restoring and self._policy != "auto" and key not in self._mine:
            return None
        found = self._live.get(key)
        if found is None and restoring:
            found = _kept.get((self.root, self.name, key))
        return found or self._outcomes.get(key)

    def add_begun(self, key: str) -> None:
        """Record that a call with effects begins. It is on disk when this returns, unless nothing is to be recorded."""
        if self._run is not None:
            if not self._alone:
                raise AutocodeError(
                    "this run could not be locked against a second one, in another kernel, that does the same.",
                    why="The cache folder cannot be written, or its file system has no locks.",
                )
            with self._lock:
                self._begin_file(self._run)
                self._run.append_or_raise(self.FILE, line_of({"kind": "begun", "key": key}))
        self._mine.add(key)
        self._outcomes[key] = RecordedOutcome(known=False)

    def add_outcome(self, key: str, tool: str, outcome: RecordedOutcome) -> None:
        """Record the outcome of a call. A value that cannot be recorded is kept only in memory."""
        self._mine.add(key)
        self._live[key] = _kept[self.root, self.name, key] = outcome
        for oldest in list(self._live)[:-MOST_LIVE]:
            self._live.pop(oldest, None)
        for old in list(_kept)[:-MOST_LIVE]:
            _kept.pop(old, None)
        record = {"kind": "outcome", "key": key, "tool": tool, "denied": outcome.denied}
        if outcome.error is not None:
            kind, message = outcome.error
            record["error"] = [kind, Masker().mask(message[:LONGEST_ERROR])]
        else:
            try:
                record["value"] = encode(outcome.value)
            except (NotRecordable, RecursionError):
                return
            line = json.dumps(record, ensure_ascii=False)
            if len(line) > OUTCOME_BYTES or Masker().mask(line, secrets_only=True) != line:
                return
        self._outcomes[key] = outcome
        self._append(record)

    # Blocks that were run

    def ran(self, key: str) -> bool:
        """Whether a block was run before, so that it may be run again to define its variables."""
        return key in self._blocks

    def is_known(self, key: str) -> bool:
        """Whether these messages were exchanged in this process, so that they do not only come from a record."""
        return (self.root, self.name, key) in _known

    def add_known(self, key: str) -> None:
        """Remember that messages were exchanged in this process."""
        _known.add((self.root, self.name, key))

    def add_block(self, key: str) -> None:
        """Record that a block is run."""
        if key not in self._blocks:
            self._blocks.add(key)
            self._append({"kind": "block", "key": key})

    def drop_block(self, key: str) -> None:
        """Record that a block ended its sandbox. Its variables are lost, and it must not be run again."""
        self._blocks.discard(key)
        self._append({"kind": "dropped", "key": key})

    def clock(self, key: str) -> dt.datetime:
        """When a conversation began. This is the time that its programs see."""
        if key not in self._clocks:
            self._clocks[key] = dt.datetime.now(dt.UTC)
            self._append({"kind": "clock", "key": key, "at": self._clocks[key].isoformat()})
        return self._clocks[key]


def run_id_of(question: str) -> str:
    """The name of a run's folder."""
    return PREFIX + hashlib.sha256(question.encode()).hexdigest()[:12]


def block_key(messages: list[dict[str, str]]) -> str:
    """The key of a block of code: a hash of all messages up to it and of the block."""
    return _hash(messages)


def call_key(block: str, tool: str, arguments: Any, number: int) -> str:
    """The key of a call: from its block, its tool, its arguments as JSON, and its number among equal calls."""
    return _hash([block, tool, arguments, number])


def _hash(shape: Any) -> str:
    canonical = json.dumps(shape, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _outcome(entry: Mapping[str, Any]) -> RecordedOutcome:
    denied = entry.get("denied") is True
    if (error := entry.get("error")) is not None:
        kind, message = error
        return RecordedOutcome(error=(str(kind), str(message)), denied=denied)
    return RecordedOutcome(value=decode(entry["value"]))
