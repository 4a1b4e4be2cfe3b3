"""When the steps of a run began and how long each took, computed from its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from autocoder_jupyter.run.events import (
    CodeEnded,
    CodeStarted,
    EnvironmentReady,
    Event,
    FunctionCalled,
    StageFinished,
    StageStarted,
    TestReported,
    TokensUsed,
    ToolCalled,
    ToolEnded,
)
from autocoder_jupyter.types import Step

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
