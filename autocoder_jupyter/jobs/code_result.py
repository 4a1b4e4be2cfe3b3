"""The result of a cell with `--mode tools`: first pending, then the answer with value, charts and calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.engine.events import EndState
from autocoder_jupyter.result.pending import Pending
from autocoder_jupyter.result.waited import Waited
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.codemode.result import AgentResult, Block, ToolCall
    from autocoder_jupyter.types import Usage

LONGEST_SUMMARY = 160
"""Of the summary in a `repr`."""


@dataclass(frozen=True)
class Answered:
    """How a run of code mode ended.

    Args:
        state: one of the final states.
        result: what there is; of a run that raised, little more than the reason.
        exception: what it raised.
    """

    state: EndState
    result: AgentResult
    exception: Exception | None = None


class CodeModeResult(Waited[Answered]):
    """The answer to a cell, and what its code did. The fields are those of `AgentResult`.

    `state`, `done` and `repr` never wait. `wait()` and `await` give the result when the run has ended, with or without
    success; they raise only what the run itself raised (no key, cancelled). Every other field waits too, and can be
    read after any ending.

    Args:
        name: what the user calls it.
        pending: where the outcome will be.
        root: the `.autocode` folder.
    """

    __slots__ = ()

    def __init__(self, name: str, pending: Pending[Answered], root: Path = Path(".autocode")) -> None:
        super().__init__(name, pending, root)

    @property
    def result(self) -> AgentResult:
        """All of it as one record; waits, and does not raise what the run raised."""
        return self._pending.wait().result

    # The fields

    @property
    def value(self) -> Any:
        """What the last good block of code ended with; frames are DataFrames."""
        return self.result.value

    @property
    def summary(self) -> str:
        """The final answer in words; "" when there is none."""
        return self.result.summary

    @property
    def charts(self) -> tuple[str, ...]:
        """What the code gave as charts, as text. It is the code's: show HTML of it only if you trust that."""
        return self.result.charts

    @property
    def code(self) -> str:
        """The last block of code that ran; `blocks` has all of them."""
        return self.result.code

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every block of code, the failed ones too, with what it printed."""
        return self.result.blocks

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every call of a tool, in the order in which they began."""
        return self.result.calls

    @property
    def output(self) -> str:
        """All that the code printed."""
        return self.result.output

    @property
    def error(self) -> str | None:
        """Why there is no final answer; None when there is one."""
        return self.result.error

    @property
    def success(self) -> bool:
        """Whether there is a final answer."""
        return self.result.success

    @property
    def usage(self) -> Usage:
        """Tokens and US dollars."""
        return self.result.usage

    @property
    def attempts(self) -> int:
        """Blocks of code that were run."""
        return self.result.attempts

    @property
    def history(self) -> tuple[dict[str, str], ...]:
        """The whole conversation as messages; `--continue` starts from it."""
        return self.result.history

    @property
    def run_id(self) -> str:
        """Names the record of the run; "" when there is none."""
        return self.result.run_id

    def __repr__(self) -> str:
        if not self.done:
            return f"<autocode {self.name} {self.state}>"
        result = self.result
        said = " ".join((result.summary or result.error or "").split())
        short = said if len(said) <= LONGEST_SUMMARY else f"{said[:LONGEST_SUMMARY]}…"
        calls = f"{len(result.calls)} call{'' if len(result.calls) == 1 else 's'}"
        return visible(f"<autocode {self.name} {self.state.replace('_', ' ')} · {calls} · {short}>")
