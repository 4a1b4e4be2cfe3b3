"""What every card shows of its run, whatever it makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Generic, Literal, Self, TypeVar

from autocoder_jupyter.engine.events import EndState
from autocoder_jupyter.types import Usage

Phase = Literal["running", "waiting"] | EndState

E = TypeVar("E")


@dataclass(frozen=True)
class RunState(ABC, Generic[E]):
    """A run, folded from its events.

    Args:
        name: what the person calls it.
        max_cost: the budget in US dollars.
        notice: what the person should know of the run: of its folder, or of what went wrong here and was put right.
        phase: where it stands.
        reason: why it ended so.
        seconds: time since the start.
        heard: when something last happened, in seconds since the start.
        usage: tokens and money so far.
        loading: whether the model's client is imported at this moment.
        limit: the setting that ended it, such as `max_cost`; "" when none did.
        sent: what was sent to the model.
    """

    name: str
    max_cost: float | None = None
    notice: tuple[str, ...] = ()
    phase: Phase = "running"
    reason: str = ""
    seconds: float = 0.0
    heard: float = 0.0
    usage: Usage = Usage()
    loading: bool = False
    limit: str = ""
    sent: str = ""

    def apply(self, event: E, at: float | None = None) -> Self:
        """The state after an event.

        Args:
            event: what happened.
            at: seconds since the start when it happened; the last known time by default.
        """
        now = self.seconds if at is None else at
        return replace(self, seconds=now, heard=now).after(event)

    @abstractmethod
    def after(self, event: E) -> Self:
        """The state after an event that happened now."""

    @property
    def finished(self) -> bool:
        """Whether nothing more will come."""
        return self.phase not in ("running", "waiting")

    @property
    def quiet(self) -> float:
        """Seconds since something happened."""
        return max(self.seconds - self.heard, 0.0)

    def noticed(self, text: str) -> Self:
        """The state with one more notice; the same one twice is said once."""
        return replace(self, notice=tuple(dict.fromkeys((*self.notice, text))))
