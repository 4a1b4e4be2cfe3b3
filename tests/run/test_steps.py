from __future__ import annotations

from autocoder_jupyter.run.events import (
    CodeEnded,
    CodeStarted,
    EnvironmentReady,
    Event,
    Finished,
    FunctionCalled,
    StageFinished,
    StageStarted,
    TestReported,
    TokensUsed,
    ToolCalled,
    ToolEnded,
)
from autocoder_jupyter.run.record import MOST_STEPS, Steps
from autocoder_jupyter.types import TestOutcome, Usage


def steps_of(*events: tuple[float, Event]) -> Steps:
    steps = Steps()
    for at, event in events:
        steps = steps.after(event, at)
    return steps


def test_stages_questions_and_sandbox_steps_have_their_times() -> None:
    steps = steps_of(
        (1, StageStarted("plan", 1, 3)),
        (4, TokensUsed("plan", Usage(input_tokens=10, output_tokens=2), Usage(), seconds=2.5)),
        (5, StageFinished("plan", 1, True)),
        (5.5, EnvironmentReady("local:a", ("numpy",), 5.0)),
        (6, TokensUsed("code", Usage(), Usage(), seconds=9.0, replayed=True)),
        (7, StageStarted("run", 2, 3)),
        (8, TestReported(TestOutcome(id="test_a", outcome="failed", seconds=0.5))),
        (9, StageFinished("run", 2, False)),
        (9.2, ToolCalled("c1", 1, "Bash", "secret", "denied")),
        (9.3, ToolEnded("c1", "denied")),
        (9.4, ToolCalled("c2", 1, "Write", "solution.py", "safe")),
        (9.9, ToolEnded("c2", "ok", "written", 0.5)),
        (9.95, ToolEnded("unknown", "ok")),
        (10, Finished("failed")),
    ).in_order
    told = {(step.kind, step.name): step for step in steps}
    assert (told["stage", "plan"].begin, told["stage", "plan"].seconds) == (1, 4)
    assert (told["model", "plan"].begin, told["model", "plan"].seconds) == (1.5, 2.5)
    assert told["model", "plan"].detail == "10 tokens in, 2 out"
    assert told["model", "code"].replayed and told["model", "code"].seconds == 0
    assert (told["sandbox", "environment"].begin, told["sandbox", "environment"].seconds) == (0.5, 5)
    assert (told["sandbox", "test_a"].ok, told["sandbox", "test_a"].attempt) == (False, 2)
    assert not told["stage", "run"].ok
    assert [step.begin for step in steps] == sorted(step.begin for step in steps)
    tools = [(step.name, step.ok, step.detail, round(step.begin, 3)) for step in steps if step.kind == "tool"]
    assert tools == [("Bash", False, "denied", 9.3), ("Write", True, "safe", 9.4)]


def test_blocks_of_code_and_calls_of_functions_have_their_times() -> None:
    steps = steps_of(
        (2, TokensUsed("tools", Usage(input_tokens=5), Usage(), seconds=1.5)),
        (2.5, CodeStarted(1, "fetch('a')")),
        (3, FunctionCalled("call-1", 1, "fetch", "'a'", 1)),
        (4, ToolEnded("call-1", "ok", "3", 1.0)),
        (4.5, CodeEnded(1, False, "NameError", "NameError")),
    ).in_order
    assert [(step.kind, step.name, step.begin, step.seconds, step.ok) for step in steps] == [
        ("model", "tools", 0.5, 1.5, True),
        ("sandbox", "block 1", 2.5, 2.0, False),
        ("tool", "fetch", 3.0, 1.0, True),
    ]


def test_the_number_of_steps_is_limited() -> None:
    ends = [(1.0, TestReported(TestOutcome(id="test_a", outcome="passed", seconds=-5.0)))] * (MOST_STEPS + 10)
    steps = steps_of(*ends)
    assert len(steps.ended) == MOST_STEPS and steps.ended[0].seconds == 0.0
