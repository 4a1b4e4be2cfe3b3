"""The result of a run of code mode: the answer, the code, and the calls of tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autocoder_jupyter.codemode.events import EndState
from autocoder_jupyter.types import Exchange, ToolOutcome, Usage


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool.

    Args:
        turn: the turn of the conversation, from 1.
        tool: as the program calls it.
        argument: the arguments in little, secrets masked.
        line: the line of the block that called it; 0 when that is not known.
        outcome: how it ended.
        observed: the beginning of the value, or the error, secrets masked.
        seconds: how long it took; 0 when it was not repeated.
        replayed: whether the outcome was recorded before.
        ask, effects: the marks of the tool.
    """

    turn: int
    tool: str
    argument: str
    line: int
    outcome: ToolOutcome
    observed: str = ""
    seconds: float = 0.0
    replayed: bool = False
    ask: bool = False
    effects: bool = False


@dataclass(frozen=True)
class Block:
    """One block of code that the model wrote.

    Args:
        turn: the turn of the conversation, from 1.
        code: as it was run.
        ok: whether it ran to its end.
        printed: all that it printed, bounded.
        observed: what the model was told.
        error: type, message and line of what went wrong; None when nothing did.
    """

    turn: int
    code: str
    ok: bool
    printed: str
    observed: str
    error: str | None = None


@dataclass(frozen=True)
class AgentResult:
    """The end of a run. `code`, `charts`, `summary`, `error` and `attempts` are those of Flyte's `AgentResult`.

    Args:
        code: the last block that ran to its end, or else the last one; "" when there was none.
        charts: what the program gave as `charts`: HTML, SVG or Markdown, as the tools made it.
        summary: the final answer in words.
        error: why there is no final answer, in a few lines; None when there is one.
        attempts: blocks of code that were run.
        value: what the last good block ended with; frames are real frames of pandas. Treat it as read-only.
        output: all that the blocks printed.
        calls: every call of a tool, in the order in which they began.
        blocks: every block, the failed ones too.
        usage: tokens and US dollars of this run; what was replayed costs nothing.
        state: `ready`, or how else it ended.
        turns: how often the model was asked.
        history: the whole conversation, as messages; give it to the next `run` to go on.
        exchanges: the requests to the model and its answers.
        run_id: names the record of this run beside the notebook; "" when nothing is recorded.
        seconds: wall clock of the run.
        notes: sentences for the user, such as a file that could not be written.
    """

    code: str = ""
    charts: tuple[str, ...] = ()
    summary: str = ""
    error: str | None = None
    attempts: int = 0
    value: Any = field(default=None, repr=False)
    output: str = field(default="", repr=False)
    calls: tuple[ToolCall, ...] = field(default=(), repr=False)
    blocks: tuple[Block, ...] = field(default=(), repr=False)
    usage: Usage = Usage()
    state: EndState = "ready"
    turns: int = 0
    history: tuple[dict[str, str], ...] = field(default=(), repr=False)
    exchanges: tuple[Exchange, ...] = field(default=(), repr=False)
    run_id: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        """Whether there is a final answer."""
        return self.error is None
