"""The result of a run of code mode: the answer, the code, and the calls of tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autocoder_jupyter.run.code_run import Block, ToolCall
from autocoder_jupyter.run.events import EndState
from autocoder_jupyter.types import Exchange, Step, Usage


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
        timeline: when each step began and how long it took.
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
    timeline: tuple[Step, ...] = field(default=(), repr=False)

    @property
    def success(self) -> bool:
        """Whether there is a final answer."""
        return self.error is None
