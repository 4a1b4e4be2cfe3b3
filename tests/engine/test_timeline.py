from __future__ import annotations

from autocoder_jupyter.engine.events import (
    EnvironmentReady,
    Event,
    Finished,
    StageFinished,
    StageStarted,
    TestReported,
    TokensUsed,
    ToolCalled,
    ToolEnded,
)
from autocoder_jupyter.engine.timeline import Timeline
from autocoder_jupyter.types import TestOutcome, Usage


def test_stages_questions_and_sandbox_steps_are_noted_with_their_times_and_passed_on() -> None:
    now = [100.0]
    heard: list[Event] = []
    timeline = Timeline(heard.append, clock=lambda: now[0])

    def at(seconds: float, event: Event) -> None:
        now[0] = 100.0 + seconds
        timeline(event)

    at(1, StageStarted("plan", 1, 3))
    at(4, TokensUsed("plan", Usage(input_tokens=10, output_tokens=2), Usage(), seconds=2.5))
    at(5, StageFinished("plan", 1, True))
    at(5.5, EnvironmentReady("local:a", ("numpy",), 5.0))
    at(6, TokensUsed("code", Usage(), Usage(), seconds=9.0, replayed=True))
    at(7, StageStarted("run", 2, 3))
    at(8, TestReported(TestOutcome(id="test_a", outcome="failed", seconds=0.5)))
    at(9, StageFinished("run", 2, False))
    at(9.2, ToolCalled("c1", 1, "Bash", "secret", "denied"))
    at(9.3, ToolEnded("c1", "denied"))
    at(9.4, ToolCalled("c2", 1, "Write", "solution.py", "safe"))
    at(9.9, ToolEnded("c2", "ok", "written", 0.5))
    at(9.95, ToolEnded("unknown", "ok"))
    at(10, Finished("failed"))
    told = {(step.kind, step.name): step for step in timeline.steps}
    assert (told["stage", "plan"].begin, told["stage", "plan"].seconds) == (1, 4)
    assert (told["model", "plan"].begin, told["model", "plan"].seconds) == (1.5, 2.5)
    assert told["model", "plan"].detail == "10 tokens in, 2 out"
    assert told["model", "code"].replayed and told["model", "code"].seconds == 0
    assert (told["sandbox", "environment"].begin, told["sandbox", "environment"].seconds) == (0.5, 5)
    assert (told["sandbox", "test_a"].ok, told["sandbox", "test_a"].attempt) == (False, 2)
    assert not told["stage", "run"].ok
    assert [step.begin for step in timeline.steps] == sorted(step.begin for step in timeline.steps)
    assert len(heard) == 14
    tools = [(step.name, step.ok, step.detail, round(step.begin, 3)) for step in timeline.steps if step.kind == "tool"]
    assert tools == [("Bash", False, "denied", 9.3), ("Write", True, "safe", 9.4)]
