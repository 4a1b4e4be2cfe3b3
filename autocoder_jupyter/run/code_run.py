"""The record of a run of code mode, computed from its events."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import singledispatch

from autocoder_jupyter.run import events
from autocoder_jupyter.run.events import Event, ShownArgument
from autocoder_jupyter.run.record import RunRecord
from autocoder_jupyter.types import ToolOutcome
from autocoder_jupyter.types.records import Glimpse

LONGEST_WORDS = 600
"""Characters of a call in a line."""

TAIL_CHARACTERS = 2_000
"""Characters kept of an answer while it is written."""


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool.

    Args:
        turn: the turn of the conversation, from 1.
        line: the line in the block that called it; 0 if unknown.
        outcome: how it ended; None while it runs.
        observed: the beginning of the value, or the error, secrets masked.
        seconds: how long it took; 0 if it was replayed.
        replayed: whether the outcome comes from the record.
        ask, effects: the marks of the tool.
        call: the id of the call in the events.
        waits: whether the user is asked about it now.
        allowed: what the user decided about it; None if the user was not asked.
        recorded: whether the user was asked because the code, or the conversation before it, comes from a record.
        asked: the complete arguments, for the user who decides. They are removed after the decision.
    """

    turn: int
    tool: str
    argument: str
    line: int
    outcome: ToolOutcome | None = None
    observed: str = ""
    seconds: float = 0.0
    replayed: bool = False
    ask: bool = False
    effects: bool = False
    call: str = ""
    waits: bool = False
    allowed: bool | None = None
    recorded: bool = False
    asked: tuple[ShownArgument, ...] = ()

    @property
    def words(self) -> str:
        """`fetch_prices("AAPL")`. Of arguments to decide about that do not fit, the beginning with size and hash."""
        if not self.asked:
            return f"{self.tool}({self.argument})"
        shown = f"{self.tool}({', '.join(argument.line for argument in self.asked)})"
        if len(shown) <= LONGEST_WORDS:
            return shown
        digest = hashlib.sha256("".join(argument.digest for argument in self.asked).encode()).hexdigest()[:16]
        return f"{shown[:LONGEST_WORDS]}… ({len(self.asked)} arguments, SHA-256 {digest}…)"

    @property
    def is_cut(self) -> bool:
        """Whether `words` do not have all of the arguments, or are long."""
        return len(self.words) > LONGEST_WORDS or not all(argument.is_short for argument in self.asked)


@dataclass(frozen=True)
class Block:
    """One block of code that the model wrote.

    Args:
        turn: the turn of the conversation, from 1.
        ok: whether it ran without an error; None while it runs.
        error: type, message and line of the error; None if there was none.
    """

    turn: int
    code: str
    ok: bool | None = None
    printed: str = ""
    observed: str = ""
    error: str | None = None


@dataclass(frozen=True)
class CodeRun(RunRecord):
    """The record of a run of code mode.

    Args:
        continues: the conversation that is continued; "" for a new one.
        turn, of: the number of questions to the model so far, and the limit.
        tail: the end of the answer that is being written; `written` counts all its characters.
        fault: why a request to the model failed that is retried now.
        exchanges: questions to the model; `replayed_exchanges` those that the journal answered.
        value: the first rows or characters of the value of the last block; None if it has no value.
        charts: the charts as text; the module `charts` draws them.
    """

    continues: str = ""
    turn: int = 0
    of: int = 0
    blocks: tuple[Block, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    tail: str = ""
    written: int = 0
    fault: str = ""
    exchanges: int = 0
    replayed_exchanges: int = 0
    summary: str = ""
    value: Glimpse | None = None
    charts: tuple[str, ...] = ()

    questions: tuple[()] = ()
    """A run of code mode asks no questions before it starts."""

    def after(self, event: Event) -> CodeRun:
        """The record after an event at the current time."""
        return _after(event, self)

    @property
    def still(self) -> CodeRun:
        """See `RunRecord.still`."""
        return replace(super().still, tail="", written=min(self.written, 1))

    @property
    def doing(self) -> str:
        """`turn 2 of 10`."""
        return f"turn {self.turn} of {self.of}" if self.turn else "starting"

    @property
    def replayed(self) -> bool:
        """Whether every answer of the model came from the journal."""
        return bool(self.exchanges) and self.exchanges == self.replayed_exchanges

    @property
    def code(self) -> str:
        """The last block that ran without an error; if there is none, the last block; "" if there is no block."""
        good = [block for block in self.blocks if block.ok] or self.blocks
        return good[-1].code if good else ""

    @property
    def progress(self) -> float:
        """An estimate of the progress between 0 and 1: most runs need few of the allowed turns."""
        if self.finished:
            return 1.0
        return min(self.turn / (self.turn + 2), 0.95) if self.turn else 0.0

    @property
    def waiting(self) -> tuple[ToolCall, ...]:
        """The calls that wait for the user, the oldest first."""
        return tuple(call for call in self.calls if call.waits)

    @property
    def approval(self) -> tuple[str, ...]:
        """The same as text."""
        return tuple(call.words for call in self.waiting)

    @property
    def question(self) -> str:
        """The key of the consent that the run waits for; "" if it waits for none."""
        return self.waiting[0].call if self.waiting else ""

    @property
    def consent(self) -> tuple[str, ...]:
        """The words that name it in a typed answer: the tool and the call."""
        return (self.waiting[0].tool, self.waiting[0].call) if self.waiting else ()

    @property
    def asks(self) -> str:
        """The question about it."""
        return f"May it call {self.waiting[0].words}?" if self.waiting else ""

    @property
    def under_way(self) -> tuple[ToolCall, ...]:
        """The calls that are running."""
        return tuple(call for call in self.calls if call.outcome is None and not call.waits)

    @property
    def block(self) -> Block | None:
        """The block that is running."""
        return next((block for block in self.blocks[-1:] if block.ok is None), None)


@singledispatch
def _after(event: Event, state: CodeRun) -> CodeRun:
    return state.of_model(event)


@_after.register
def _(event: events.TurnBegun, state: CodeRun) -> CodeRun:
    return replace(state, turn=event.turn, of=event.of, tail="", written=0, fault="")


@_after.register
def _(event: events.TextStreamed, state: CodeRun) -> CodeRun:
    tail = (state.tail + event.text)[-TAIL_CHARACTERS:]
    return replace(state, tail=tail, written=state.written + len(event.text), fault="")


@_after.register
def _(event: events.Retrying, state: CodeRun) -> CodeRun:
    fault = f"{event.reason}; next try after {max(event.seconds, 1):.0f} s"
    return replace(state, tail="", written=0, fault=fault)


@_after.register
def _(event: events.LoadingClient, state: CodeRun) -> CodeRun:
    return replace(state, loading=not event.done)


@_after.register
def _(event: events.TokensUsed, state: CodeRun) -> CodeRun:
    replayed = state.replayed_exchanges + event.replayed
    return replace(state, usage=event.total, exchanges=state.exchanges + 1, replayed_exchanges=replayed)


@_after.register
def _(event: events.CodeStarted, state: CodeRun) -> CodeRun:
    return replace(state, blocks=(*state.blocks, Block(event.turn, event.code)), tail="", written=0)


@_after.register
def _(event: events.CodeEnded, state: CodeRun) -> CodeRun:
    ended = (
        replace(block, ok=event.ok, printed=event.printed, observed=event.observed, error=event.error)
        if block.turn == event.turn and block.ok is None
        else block
        for block in state.blocks
    )
    return replace(state, blocks=tuple(ended))


@_after.register
def _(event: events.FunctionCalled, state: CodeRun) -> CodeRun:
    called = ToolCall(event.turn, event.tool, event.argument, event.line, call=event.call)
    called = replace(called, ask=event.ask, effects=event.effects)
    return replace(state, calls=(*state.calls, called))


@_after.register
def _(event: events.CallWaits, state: CodeRun) -> CodeRun:
    return _asking(
        replace(
            state, calls=_changed(state.calls, event.call, waits=True, asked=event.arguments, recorded=event.recorded)
        )
    )


@_after.register
def _(event: events.CallAllowed, state: CodeRun) -> CodeRun:
    calls = _changed(state.calls, event.call, waits=False, asked=(), allowed=event.approved)
    return _asking(replace(state, calls=calls))


@_after.register
def _(event: events.ToolEnded, state: CodeRun) -> CodeRun:
    facts = {
        "outcome": event.outcome,
        "observed": event.observed,
        "seconds": event.seconds,
        "replayed": event.replayed,
        "waits": False,
        "asked": (),
    }
    return _asking(replace(state, calls=_changed(state.calls, event.call, **facts)))


@_after.register
def _(event: events.WaitsForRun, state: CodeRun) -> CodeRun:
    return replace(state, waits=event.words)


@_after.register
def _(event: events.Noticed, state: CodeRun) -> CodeRun:
    return state.noticed(event.text)


@_after.register
def _(event: events.Finished, state: CodeRun) -> CodeRun:
    calls = tuple(
        replace(call, outcome="cancelled", waits=False, asked=()) if call.outcome is None else call
        for call in state.calls
    )
    blocks = tuple(replace(block, ok=False) if block.ok is None else block for block in state.blocks)
    state = replace(state, phase=event.state, reason=event.reason, limit=event.limit, calls=calls, blocks=blocks)
    return replace(state, tail="", written=0, fault="", loading=False, waits="", silent=())


def _asking(state: CodeRun) -> CodeRun:
    return replace(state, phase="waiting" if state.waiting else "running")


def _changed(calls: Iterable[ToolCall], which: str, **facts: object) -> tuple[ToolCall, ...]:
    return tuple(replace(call, **facts) if call.call == which else call for call in calls)  # type: ignore[arg-type]
