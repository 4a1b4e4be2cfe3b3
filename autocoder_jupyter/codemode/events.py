"""The events of a run of code mode: plain frozen records for a listener.

Events that are the same as in a generation use the same records. Those that have a turn instead of a stage are here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autocoder_jupyter.codemode.approval import ShownArgument
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
    """A transient fault of the model's service; the next try starts in `seconds`."""

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
    """A block of the model's code starts."""

    turn: int
    code: str


@dataclass(frozen=True)
class ToolCalled:
    """The program calls a tool. `call` identifies the call until `ToolEnded`; `argument` is the arguments in short."""

    call: str
    turn: int
    tool: str
    argument: str
    line: int
    ask: bool = False
    effects: bool = False


@dataclass(frozen=True)
class ApprovalNeeded:
    """The call waits for the user's approval.

    `arguments` are complete and unmasked, for the user who decides; `recorded` as in `ApprovalRequest`.
    """

    call: str
    tool: str
    argument: str
    arguments: tuple[ShownArgument, ...] = ()
    recorded: bool = False


@dataclass(frozen=True)
class ApprovalGiven:
    """The user decided, now or earlier in this session."""

    call: str
    approved: bool


@dataclass(frozen=True)
class ToolEnded:
    """A call ended; `observed` is the beginning of its value or error, `replayed` whether the outcome was recorded."""

    call: str
    outcome: ToolOutcome
    observed: str = ""
    seconds: float = 0.0
    replayed: bool = False


@dataclass(frozen=True)
class CodeEnded:
    """A block ended; `observed` is the message to the model about it, `error` its error."""

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
