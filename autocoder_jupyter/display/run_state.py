"""The part of a run's state that the cards of both kinds share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, Literal, Self, TypeVar

from autocoder_jupyter.engine.events import EndState
from autocoder_jupyter.types import Usage
from autocoder_jupyter.view.document import Tone

Phase = Literal["running", "waiting"] | EndState

TONES: dict[Phase, Tone] = {
    "running": "busy",
    "waiting": "warn",
    "ready": "good",
    "failed": "bad",
    "cancelled": "quiet",
    "over_budget": "bad",
    "not_verified": "warn",
}

ENDS: dict[Phase, str] = {
    "waiting": "Waiting for approval",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "over_budget": "Over budget",
    "not_verified": "Not verified here",
}
"""The titles of the phases that always have the same."""

E = TypeVar("E")


@dataclass(frozen=True)
class RunState(ABC, Generic[E]):
    """The state of a run, computed from its events.

    Args:
        name: the name of the result.
        max_cost: the budget in US dollars.
        notice: messages for the user, for example about the folder or about an error that was repaired.
        phase: running, waiting for the user, or how it ended.
        reason: why it ended.
        seconds: seconds since the start.
        last_event: time of the last event, in seconds since the start.
        usage: tokens and cost so far.
        loading: whether the model's client is being imported.
        limit: the setting that ended the run, such as `max_cost`; "" if none did.
        sent: the text that was sent to the model.
    """

    name: str
    max_cost: float | None = None
    notice: tuple[str, ...] = ()
    phase: Phase = "running"
    reason: str = ""
    seconds: float = 0.0
    last_event: float = 0.0
    usage: Usage = Usage()
    loading: bool = False
    limit: str = ""
    sent: str = ""

    def apply(self, event: E, at: float | None = None) -> Self:
        """The state after an event.

        Args:
            event: the event.
            at: its time in seconds since the start; the last known time by default.
        """
        now = self.seconds if at is None else at
        return replace(self, seconds=now, last_event=now).after(event)

    @abstractmethod
    def after(self, event: E) -> Self:
        """The state after an event at the current time."""

    @property
    @abstractmethod
    def still(self) -> Self:
        """The state without the clock and without text that is being written: all that the card is drawn from.

        Two states with equal `still` have the same card. The strip below the card shows the rest.
        """

    @property
    def finished(self) -> bool:
        """Whether the run has ended."""
        return self.phase not in ("running", "waiting")

    @property
    def quiet(self) -> float:
        """Seconds since the last event."""
        return max(self.seconds - self.last_event, 0.0)

    def noticed(self, text: str) -> Self:
        """The state with one more notice; a notice that is there already is not added."""
        return replace(self, notice=tuple(dict.fromkeys((*self.notice, text))))


def waits_for(loading: bool, faults: Iterable[str]) -> tuple[str, ...]:
    """What a run waits for: the import of the model client, or the model's service."""
    found = ["Loading the model client; this takes some seconds, once per kernel"] if loading else []
    return (*found, *(f"{fault[:1].upper()}{fault[1:]}" for fault in faults))


def reason_of(reason: str, title: str) -> str:
    """The reason why a run ended; "" if it only repeats the title."""
    return "" if reason.strip(".").casefold() == title.casefold() else reason
