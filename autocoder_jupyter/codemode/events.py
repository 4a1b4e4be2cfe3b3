"""The events of a run of code mode: plain frozen records for a listener.

What a generation tells alike is the same record; what belongs to a turn in place of a stage is another one here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autocoder_jupyter.engine.events import EndState, Finished, LoadingClient, Noticed, TurnBegun
from autocoder_jupyter.types import ToolOutcome, Usage

__all__ = [
    "ApprovalGiven",
    "ApprovalNeeded",
    "CodeEnded",
    "CodeStarted",
    "Emit",
    "EndState",
    "Event",
    "Finished",
    "LoadingClient",
    "Noticed",
    "Retrying",
    "TextStreamed",
    "TokensUsed",
    "ToolCalled",
    "ToolEnded",
    "TurnBegun",
]


@dataclass(frozen=True)
class TextStreamed:
    """A piece of the model's answer arrived."""

    turn: int
    text: str


@dataclass(frozen=True)
class Retrying:
    """A passing fault of the model's service; the next try comes in `seconds`."""

    turn: int
    reason: str
    seconds: float


@dataclass(frozen=True)
class TokensUsed:
    """An exchange with the model ended; `total` is the sum so far, `seconds` the latency of the call."""

    turn: int
    usage: Usage
    total: Usage
    seconds: float = 0.0
    replayed: bool = False


@dataclass(frozen=True)
class CodeStarted:
    """A block of the model's code begins to run."""

    turn: int
    code: str


@dataclass(frozen=True)
class ToolCalled:
    """The program calls a tool. `call` names the call until `ToolEnded`; `argument` is the arguments in little."""

    call: str
    turn: int
    tool: str
    argument: str
    line: int
    ask: bool = False
    effects: bool = False


@dataclass(frozen=True)
class ApprovalNeeded:
    """The call waits for the user."""

    call: str
    tool: str
    argument: str


@dataclass(frozen=True)
class ApprovalGiven:
    """The user decided, or it is known from an earlier decision of this session."""

    call: str
    approved: bool


@dataclass(frozen=True)
class ToolEnded:
    """That call has ended; `observed` is the beginning of its value or error, `replayed` whether it was recorded."""

    call: str
    outcome: ToolOutcome
    observed: str = ""
    seconds: float = 0.0
    replayed: bool = False


@dataclass(frozen=True)
class CodeEnded:
    """The block has ended; `observed` is what the model is told of it, `error` what went wrong."""

    turn: int
    ok: bool
    observed: str
    error: str = ""


Event = (
    TurnBegun
    | TextStreamed
    | Retrying
    | LoadingClient
    | TokensUsed
    | CodeStarted
    | ToolCalled
    | ApprovalNeeded
    | ApprovalGiven
    | ToolEnded
    | CodeEnded
    | Noticed
    | Finished
)

Emit = Callable[[Event], None]
"""A listener; must return at once and must not raise. It is called on the thread that runs the conversation."""
