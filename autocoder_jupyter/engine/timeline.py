"""Records when the steps of a generation began and how long each took. It is the first listener to the events."""

from __future__ import annotations

import time
from collections.abc import Callable

from autocoder_jupyter.engine.events import (
    Emit,
    EnvironmentReady,
    Event,
    StageFinished,
    StageStarted,
    TestReported,
    TokensUsed,
    ToolCalled,
    ToolEnded,
)
from autocoder_jupyter.types import Step

MOST_STEPS = 1000
"""The maximum number of steps. Even a long generation has fewer; later steps are not recorded."""


class Timeline:
    """Records the steps, and passes every event on.

    Args:
        emit: called with every event, after the timeline.
        clock: returns seconds from an arbitrary beginning.
    """

    def __init__(self, emit: Emit, clock: Callable[[], float] = time.monotonic) -> None:
        self._emit = emit
        self._clock = clock
        self._began = clock()
        self._open: dict[str, float] = {}
        self._calls: dict[str, ToolCalled] = {}
        self._attempt = 1
        self._steps: list[Step] = []

    def __call__(self, event: Event) -> None:
        """Record an event, and pass it on."""
        self._note(event, self._clock() - self._began)
        self._emit(event)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The recorded steps, in the order in which they began."""
        return tuple(sorted(self._steps, key=lambda step: step.begin))

    def _note(self, event: Event, now: float) -> None:
        match event:
            case StageStarted():
                self._open[event.stage] = now
                self._attempt = max(self._attempt, event.attempt)
            case StageFinished():
                begin = self._open.pop(event.stage, now)
                self._add("stage", event.stage, begin, now - begin, ok=event.ok, replayed=event.replayed)
            case TokensUsed():
                seconds = 0.0 if event.replayed else min(event.seconds, now)
                detail = f"{event.usage.input_tokens} tokens in, {event.usage.output_tokens} out"
                told = "" if event.replayed else detail
                self._add("model", event.stage, now - seconds, seconds, replayed=event.replayed, detail=told)
            case EnvironmentReady():
                seconds = min(event.seconds, now)
                self._add("sandbox", "environment", now - seconds, seconds, detail=f"{len(event.packages)} packages")
            case TestReported(outcome=outcome):
                seconds = min(max(outcome.seconds, 0.0), now)
                self._add("sandbox", outcome.id, now - seconds, seconds, ok=outcome.outcome == "passed")
            case ToolCalled():
                self._calls[event.call] = event
            case ToolEnded() if (called := self._calls.pop(event.call, None)) is not None:
                seconds = 0.0 if event.replayed else min(event.seconds, now)
                ok, replayed = event.outcome == "ok", event.replayed
                self._add("tool", called.tool, now - seconds, seconds, ok=ok, replayed=replayed, detail=called.kind)

    def _add(
        self,
        kind: str,
        name: str,
        begin: float,
        seconds: float,
        *,
        ok: bool = True,
        replayed: bool = False,
        detail: str = "",
    ) -> None:
        if len(self._steps) < MOST_STEPS:
            step = {"kind": kind, "name": name, "attempt": self._attempt, "begin": begin, "seconds": seconds}
            self._steps.append(Step.model_validate({**step, "ok": ok, "replayed": replayed, "detail": detail}))
