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
        tool: the name that the program uses.
        argument: the arguments in short, secrets masked.
        line: the line in the block that called it; 0 if unknown.
        outcome: how it ended.
        observed: the beginning of the value, or the error, secrets masked.
        seconds: how long it took; 0 if it was replayed.
        replayed: whether the outcome comes from the record.
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
        code: the code that was run.
        ok: whether it ran without an error.
        printed: its output, of limited length.
        observed: the message to the model.
        error: type, message and line of the error; None if there was none.
    """

    turn: int
    code: str
    ok: bool
    printed: str
    observed: str
    error: str | None = None


@dataclass(frozen=True)
class AgentResult:
    """The result of a run. `code`, `charts`, `summary`, `error` and `attempts` are those of Flyte's `AgentResult`.

    Args:
        code: the last block that ran without an error, else the last block; "" if there was none.
        charts: the program's `charts`: HTML, SVG or Markdown from tools.
        summary: the final answer as text.
        error: why there is no final answer, in a few lines; None if there is one.
        attempts: the number of blocks that were run.
        value: the value of the last good block; frames are pandas frames. Treat it as read-only.
        output: the output of all blocks.
        calls: all tool calls, in the order in which they began.
        blocks: all blocks, also the failed ones.
        usage: tokens and US dollars of this run; replayed answers cost nothing.
        state: `ready`, or how else the run ended.
        turns: how often the model was asked.
        history: the complete conversation as messages; pass it to the next `run` to continue.
        exchanges: the requests to the model and its answers.
        run_id: the id of the record of this run beside the notebook; "" if nothing is recorded.
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
