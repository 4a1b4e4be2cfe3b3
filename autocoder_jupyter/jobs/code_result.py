"""The result of a cell with `--mode tools`: first pending, then the answer with value, charts and calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.result.pending import Pending, Waited
from autocoder_jupyter.run.events import EndState
from autocoder_jupyter.untrusted.parsing import visible

if TYPE_CHECKING:
    from autocoder_jupyter.codemode.result import AgentResult
    from autocoder_jupyter.run.code_run import Block, ToolCall
    from autocoder_jupyter.types import Usage

LONGEST_SUMMARY = 160
"""The maximum number of characters of the summary in a `repr`."""


@dataclass(frozen=True)
class Answered:
    """How a run of code mode ended.

    Args:
        state: one of the final states.
        result: its result; of a run that raised an exception, little more than the reason.
        exception: the exception that it raised, if any.
    """

    state: EndState
    result: AgentResult
    exception: Exception | None = None


class CodeModeResult(Waited[Answered]):
    """The answer to a cell, and the record of its code. The fields are those of `AgentResult`.

    `state`, `done` and `repr` never wait. `wait()` and `await` return the result when the run has ended, with or
    without success; they raise only the exception of the run itself (no key, cancelled). Every other field waits too,
    and can be read after any end.

    Args:
        name: the name of the cell.
        pending: the pending outcome.
        root: the `.autocode` folder.
        asked: see `asked`.
    """

    __slots__ = ("_asked",)

    def __init__(
        self,
        name: str,
        pending: Pending[Answered],
        root: Path = Path(".autocode"),
        asked: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        super().__init__(name, pending, root)
        self._asked = asked

    @property
    def asked(self) -> Mapping[str, Any]:
        """The complete arguments of the call that waits for your consent, by name; empty if none waits. Never waits."""
        return self._asked()

    @property
    def result(self) -> AgentResult:
        """The complete result as one record. Waits, but does not raise the exception of the run."""
        return self._pending.wait().result

    # The fields

    @property
    def value(self) -> Any:
        """The value of the last good block of code; frames are DataFrames."""
        return self.result.value

    @property
    def summary(self) -> str:
        """The final answer as text; "" if there is none."""
        return self.result.summary

    @property
    def charts(self) -> tuple[str, ...]:
        """The charts of the code, as text. Show their HTML only if you trust the code."""
        return self.result.charts

    @property
    def code(self) -> str:
        """The last block of code that ran; `blocks` has all of them."""
        return self.result.code

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks of code, also the failed ones, with their output."""
        return self.result.blocks

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All tool calls, in the order in which they began."""
        return self.result.calls

    @property
    def output(self) -> str:
        """The output of the code."""
        return self.result.output

    @property
    def error(self) -> str | None:
        """Why there is no final answer; None if there is one."""
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
        """The number of blocks of code that were run."""
        return self.result.attempts

    @property
    def history(self) -> tuple[dict[str, str], ...]:
        """The complete conversation as messages; `--continue` continues it."""
        return self.result.history

    @property
    def run_id(self) -> str:
        """The id of the record of the run; "" if there is none."""
        return self.result.run_id

    def __repr__(self) -> str:
        if not self.done:
            return f"<autocode {self.name} {self.state}>"
        result = self.result
        said = " ".join((result.summary or result.error or "").split())
        short = said if len(said) <= LONGEST_SUMMARY else f"{said[:LONGEST_SUMMARY]}…"
        calls = f"{len(result.calls)} call{'' if len(result.calls) == 1 else 's'}"
        return visible(f"<autocode {self.name} {self.state.replace('_', ' ')} · {calls} · {short}>")
