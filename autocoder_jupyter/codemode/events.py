"""The events of a run of code mode: plain frozen records for a listener.

Most are those of a generation. The blocks of code and the calls of the user's functions are here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autocoder_jupyter.codemode.approval import ShownArgument
from autocoder_jupyter.engine.events import (
    EndState,
    Finished,
    LoadingClient,
    Noticed,
    Retrying,
    TextStreamed,
    TokensUsed,
    ToolEnded,
    TurnBegun,
)

__all__ = [
    "CallAllowed",
    "CallWaits",
    "CodeEnded",
    "CodeStarted",
    "Emit",
    "EndState",
    "Event",
    "Finished",
    "FunctionCalled",
    "LoadingClient",
    "Noticed",
    "Retrying",
    "TextStreamed",
    "TokensUsed",
    "ToolEnded",
    "TurnBegun",
]


@dataclass(frozen=True)
class CodeStarted:
    """A block of the model's code starts."""

    turn: int
    code: str


@dataclass(frozen=True)
class FunctionCalled:
    """The program calls a tool. `call` identifies the call until `ToolEnded`; `argument` is the arguments in short."""

    call: str
    turn: int
    tool: str
    argument: str
    line: int
    ask: bool = False
    effects: bool = False


@dataclass(frozen=True)
class CallWaits:
    """The call waits for the user's approval.

    `arguments` are complete and unmasked, for the user who decides; `recorded` as in `ApprovalRequest`.
    """

    call: str
    tool: str
    argument: str
    arguments: tuple[ShownArgument, ...] = ()
    recorded: bool = False


@dataclass(frozen=True)
class CallAllowed:
    """The user decided, now or earlier in this session."""

    call: str
    approved: bool


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
    | FunctionCalled
    | CallWaits
    | CallAllowed
    | ToolEnded
    | CodeEnded
    | Noticed
    | Finished
)

Emit = Callable[[Event], None]
"""A listener; must return at once and must not raise. It is called on the thread that runs the conversation."""
