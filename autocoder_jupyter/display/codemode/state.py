"""The state of the card of code mode, computed from the events of a run. Pure: no clock, no output, no lock."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import singledispatch

from autocoder_jupyter.codemode import events
from autocoder_jupyter.codemode.approval import ShownArgument
from autocoder_jupyter.codemode.events import Event
from autocoder_jupyter.display.run_state import RunState
from autocoder_jupyter.types import ToolOutcome
from autocoder_jupyter.types.overview import Glimpse

LONGEST_WORDS = 600
"""Characters of a call in a line."""

TAIL_CHARACTERS = 2_000
"""Characters kept of an answer while it is written."""


@dataclass(frozen=True)
class CallState:
    """One tool call; `outcome` is None while it runs, `waits` is True while the user is asked.

    `asked` are the complete arguments, for the user who decides. They are removed after the decision. `recorded` is
    True if the code, or the conversation before it, comes from a record.
    """

    call: str
    turn: int
    tool: str
    argument: str
    line: int
    outcome: ToolOutcome | None = None
    observed: str = ""
    seconds: float = 0.0
    replayed: bool = False
    effects: bool = False
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
class BlockState:
    """One block of code.

    `ok` is None while it runs, `observed` is the output sent to the model, `error` the error message.
    """

    turn: int
    code: str
    ok: bool | None = None
    observed: str = ""
    error: str = ""


@dataclass(frozen=True)
class CodeState(RunState[Event]):
    """The state of the card and of the strip below it.

    Args:
        continues: the conversation that is continued; "" for a new one.
        turn, of: the number of questions to the model so far, and the limit.
        tail: the end of the answer that is being written; `written` counts all its characters.
        fault: why a request to the model failed that is retried now.
        exchanges: questions to the model; `replayed_exchanges` those that the journal answered.
        summary: the final answer.
        value: the first rows or characters of the value of the last block; None if it has no value.
        charts: the charts as text; the module `charts` draws them.
    """

    continues: str = ""
    turn: int = 0
    of: int = 0
    blocks: tuple[BlockState, ...] = ()
    calls: tuple[CallState, ...] = ()
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

    def after(self, event: Event) -> CodeState:
        """The state after an event at the current time."""
        return _after(event, self)

    @property
    def still(self) -> CodeState:
        """See `RunState.still`."""
        seconds = self.seconds if self.finished else 0.0
        return replace(self, seconds=seconds, last_event=0.0, tail="", written=min(self.written, 1))

    @property
    def replayed(self) -> bool:
        """Whether every answer of the model came from the journal."""
        return bool(self.exchanges) and self.exchanges == self.replayed_exchanges

    @property
    def progress(self) -> float:
        """An estimate of the progress between 0 and 1: most runs need few of the allowed turns."""
        if self.finished:
            return 1.0
        return min(self.turn / (self.turn + 2), 0.95) if self.turn else 0.0

    @property
    def waiting(self) -> tuple[CallState, ...]:
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
    def asks(self) -> str:
        """The question about it."""
        return f"May it call {self.waiting[0].words}?" if self.waiting else ""

    @property
    def under_way(self) -> tuple[CallState, ...]:
        """The calls that are running."""
        return tuple(call for call in self.calls if call.outcome is None and not call.waits)

    @property
    def block(self) -> BlockState | None:
        """The block that is running."""
        return next((block for block in self.blocks[-1:] if block.ok is None), None)


@singledispatch
def _after(event: Event, state: CodeState) -> CodeState:
    return state


@_after.register
def _(event: events.TurnBegun, state: CodeState) -> CodeState:
    return replace(state, turn=event.turn, of=event.of, tail="", written=0, fault="")


@_after.register
def _(event: events.TextStreamed, state: CodeState) -> CodeState:
    tail = (state.tail + event.text)[-TAIL_CHARACTERS:]
    return replace(state, tail=tail, written=state.written + len(event.text), fault="")


@_after.register
def _(event: events.Retrying, state: CodeState) -> CodeState:
    fault = f"{event.reason}; next try after {max(event.seconds, 1):.0f} s"
    return replace(state, tail="", written=0, fault=fault)


@_after.register
def _(event: events.LoadingClient, state: CodeState) -> CodeState:
    return replace(state, loading=not event.done)


@_after.register
def _(event: events.TokensUsed, state: CodeState) -> CodeState:
    replayed = state.replayed_exchanges + event.replayed
    return replace(state, usage=event.total, exchanges=state.exchanges + 1, replayed_exchanges=replayed)


@_after.register
def _(event: events.CodeStarted, state: CodeState) -> CodeState:
    return replace(state, blocks=(*state.blocks, BlockState(event.turn, event.code)), tail="", written=0)


@_after.register
def _(event: events.CodeEnded, state: CodeState) -> CodeState:
    ended = (
        replace(block, ok=event.ok, observed=event.observed, error=event.error)
        if block.turn == event.turn and block.ok is None
        else block
        for block in state.blocks
    )
    return replace(state, blocks=tuple(ended))


@_after.register
def _(event: events.FunctionCalled, state: CodeState) -> CodeState:
    called = CallState(event.call, event.turn, event.tool, event.argument, event.line, effects=event.effects)
    return replace(state, calls=(*state.calls, called))


@_after.register
def _(event: events.CallWaits, state: CodeState) -> CodeState:
    return _asking(
        replace(
            state, calls=_changed(state.calls, event.call, waits=True, asked=event.arguments, recorded=event.recorded)
        )
    )


@_after.register
def _(event: events.CallAllowed, state: CodeState) -> CodeState:
    calls = _changed(state.calls, event.call, waits=False, asked=(), allowed=event.approved)
    return _asking(replace(state, calls=calls))


@_after.register
def _(event: events.ToolEnded, state: CodeState) -> CodeState:
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
def _(event: events.Noticed, state: CodeState) -> CodeState:
    return state.noticed(event.text)


@_after.register
def _(event: events.Finished, state: CodeState) -> CodeState:
    calls = tuple(
        replace(call, outcome="cancelled", waits=False, asked=()) if call.outcome is None else call
        for call in state.calls
    )
    blocks = tuple(replace(block, ok=False) if block.ok is None else block for block in state.blocks)
    state = replace(state, phase=event.state, reason=event.reason, limit=event.limit, calls=calls, blocks=blocks)
    return replace(state, tail="", written=0, fault="", loading=False)


def _asking(state: CodeState) -> CodeState:
    return replace(state, phase="waiting" if state.waiting else "running")


def _changed(calls: Iterable[CallState], which: str, **facts: object) -> tuple[CallState, ...]:
    return tuple(replace(call, **facts) if call.call == which else call for call in calls)  # type: ignore[arg-type]
