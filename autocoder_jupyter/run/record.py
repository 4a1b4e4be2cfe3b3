"""What the records of both kinds of run have in common: the steps and their durations, and the state of the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from autocoder_jupyter.run.events import (
    CodeEnded,
    CodeStarted,
    EndState,
    EnvironmentReady,
    Event,
    FunctionCalled,
    ModelOffer,
    ModelRefused,
    NoAnswerYet,
    PriceAsked,
    StageFinished,
    StageStarted,
    TestReported,
    TokensUsed,
    ToolCalled,
    ToolEnded,
)
from autocoder_jupyter.types import Step, Usage
from autocoder_jupyter.types.records import Asking

# Steps

MOST_STEPS = 1000
"""The maximum number of steps. Even a long run has fewer; later steps are not recorded."""

Kind = Literal["stage", "model", "sandbox", "tool"]


@dataclass(frozen=True)
class Steps:
    """The steps so far.

    Args:
        ended: in the order in which they ended.
        begun: when each step under way began, in seconds since the start of the run.
        calls: the tools under way, with what kind of call it is, by the id of the call.
    """

    ended: tuple[Step, ...] = ()
    begun: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    attempt: int = 1

    @property
    def in_order(self) -> tuple[Step, ...]:
        """The steps in the order in which they began."""
        return tuple(sorted(self.ended, key=lambda step: step.begin))

    def after(self, event: Event, now: float) -> Steps:
        """The steps after an event at `now`, in seconds since the start of the run."""
        match event:
            case StageStarted():
                return replace(self._begin(event.stage, now), attempt=max(self.attempt, event.attempt))
            case StageFinished():
                return self._end("stage", event.stage, now, ok=event.ok, replayed=event.replayed)
            case TokensUsed():
                seconds = 0.0 if event.replayed else event.seconds
                used = f"{event.usage.input_tokens} tokens in, {event.usage.output_tokens} out"
                detail = "" if event.replayed else used
                return self._add("model", event.stage, now, seconds, replayed=event.replayed, detail=detail)
            case EnvironmentReady():
                return self._add("sandbox", "environment", now, event.seconds, detail=f"{len(event.packages)} packages")
            case TestReported(outcome=outcome):
                return self._add("sandbox", outcome.id, now, outcome.seconds, ok=outcome.outcome == "passed")
            case CodeStarted():
                return self._begin(f"block {event.turn}", now)
            case CodeEnded():
                return self._end("sandbox", f"block {event.turn}", now, ok=event.ok)
            case ToolCalled():
                return replace(self, calls={**self.calls, event.call: (event.tool, event.kind)})
            case FunctionCalled():
                return replace(self, calls={**self.calls, event.call: (event.tool, "")})
            case ToolEnded() if event.call in self.calls:
                return self._called(event, now)
        return self

    def _called(self, event: ToolEnded, now: float) -> Steps:
        tool, detail = self.calls[event.call]
        others = {call: named for call, named in self.calls.items() if call != event.call}
        seconds = 0.0 if event.replayed else event.seconds
        added = self._add("tool", tool, now, seconds, ok=event.outcome == "ok", replayed=event.replayed, detail=detail)
        return replace(added, calls=others)

    def _begin(self, name: str, now: float) -> Steps:
        return replace(self, begun={**self.begun, name: now})

    def _end(self, kind: Kind, name: str, now: float, **facts: Any) -> Steps:
        begin = self.begun.get(name, now)
        others = {other: time for other, time in self.begun.items() if other != name}
        return replace(self._add(kind, name, now, now - begin, **facts), begun=others)

    def _add(self, kind: Kind, name: str, now: float, seconds: float, **facts: Any) -> Steps:
        """The steps with one more, which has just ended. Its duration may come from outside."""
        if len(self.ended) >= MOST_STEPS:
            return self
        took = min(max(seconds, 0.0), now)
        step = Step(kind=kind, name=name, attempt=self.attempt, begin=now - took, seconds=took, **facts)
        return replace(self, ended=(*self.ended, step))


# The state of a run

Phase = Literal["running", "waiting"] | EndState

AsksFor = Literal["", "model", "price", "name"]
"""What a run that has ended without a result asks for; "name": whether something in the data has another name now."""

HEADLINES: dict[Phase | AsksFor, str] = {
    "model": "Which model?",
    "price": "What does it cost?",
    "name": "Renamed?",
    "waiting": "Waiting for approval",
    "ready": "Ready",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "over_budget": "Out of budget",
    "not_verified": "Not verified here",
}
"""What a run asks for at its end, and its phases, in a few words."""


@dataclass(frozen=True)
class RunRecord(ABC):
    """The record of a run, computed from its events. Pure: no clock, no output, no lock.

    Args:
        max_cost: the budget in US dollars.
        notice: messages for the user, for example about the folder or about an error that was repaired.
        phase: running, waiting for the user, or how it ended.
        seconds: seconds since the start.
        last_event: time of the last event, in seconds since the start.
        usage: tokens and cost so far.
        waits: which other run of the same request it waits for, in a sentence; "" if it does not.
        silent: the questions to which the model has said nothing for a while.
        loading: whether the model's client is being imported.
        limit: the setting that ended the run, such as `max_cost`; "" if none did.
        needs: the least that the next question may take of this limit; 0 if that is not known.
        offers: the models that can be asked instead of one that could not be asked, or did not answer; None if it did.
        asks_for: what it asks for if it has ended without a result.
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
    waits: str = ""
    silent: tuple[Asking, ...] = ()
    loading: bool = False
    limit: str = ""
    needs: float = 0
    offers: tuple[ModelOffer, ...] | None = None
    asks_for: AsksFor = ""
    sent: str = ""
    steps: Steps = field(default=Steps(), compare=False)

    def apply(self, event: Event, at: float | None = None) -> Self:
        """The record after an event."""
        now = self.seconds if at is None else at
        steps = self.steps.after(event, now)
        last = self.last_event if isinstance(event, NoAnswerYet) else now
        return replace(self, seconds=now, last_event=last, steps=steps).after(event)

    @abstractmethod
    def after(self, event: Event) -> Self:
        """The record after an event at the current time."""

    def of_model(self, event: Event) -> Self:
        """The record after an event about the model, which is the same for all runs; unchanged after another event."""
        match event:
            case ModelRefused():
                return replace(self, offers=event.offers, asks_for="model")
            case PriceAsked():
                return replace(self, asks_for="price")
            case NoAnswerYet():
                return replace(self, silent=event.stages)
        return self

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
    def asks_model(self) -> bool:
        """Whether it has ended because its model could not be asked, or did not answer."""
        return self.finished and self.asks_for == "model"

    @property
    def asked_at_end(self) -> AsksFor:
        """What it asks for, if it has ended without a result."""
        return self.asks_for if self.finished and not self.is_ready else ""

    @property
    def headline(self) -> str:
        """The state in a few words, the same wherever it is shown, unless it is running."""
        return HEADLINES[self.asked_at_end or self.phase]

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
