"""The part of a record that generations and runs of code mode have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from autocoder_jupyter.run.events import EndState, Event
from autocoder_jupyter.run.steps import Steps
from autocoder_jupyter.types import Usage

Phase = Literal["running", "waiting"] | EndState


@dataclass(frozen=True)
class RunRecord(ABC):
    """The record of a run, computed from its events. Pure: no clock, no output, no lock.

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
        needs: the least that the next question may take of this limit; 0 if that is not known.
        sent: the text that was sent to the model; in the last record only.
        steps: when each step began and how long it took.
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
    needs: float = 0
    sent: str = ""
    steps: Steps = field(default=Steps(), compare=False)

    def apply(self, event: Event, at: float | None = None) -> Self:
        """The record after an event.

        Args:
            event: the event.
            at: its time in seconds since the start; the last known time by default.
        """
        now = self.seconds if at is None else at
        steps = self.steps.after(event, now)
        return replace(self, seconds=now, last_event=now, steps=steps).after(event)

    @abstractmethod
    def after(self, event: Event) -> Self:
        """The record after an event at the current time."""

    @property
    @abstractmethod
    def doing(self) -> str:
        """What the run does now, in a few words."""

    @property
    def still(self) -> Self:
        """The record without the clock and without text that is being written: all that the card is drawn from.

        Two records with equal `still` have the same card. The strip below the card shows the rest.
        """
        return replace(self, seconds=self.seconds if self.finished else 0.0, last_event=0.0)

    @property
    def finished(self) -> bool:
        """Whether the run has ended."""
        return self.phase not in ("running", "waiting")

    @property
    def is_ready(self) -> bool:
        """Whether its result can be used."""
        return self.phase == "ready"

    @property
    def quiet(self) -> float:
        """Seconds since the last event."""
        return max(self.seconds - self.last_event, 0.0)

    def noticed(self, text: str) -> Self:
        """The record with one more notice; a notice that is there already is not added."""
        return replace(self, notice=tuple(dict.fromkeys((*self.notice, text))))
