from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.display.state import LOG_LINES, CardState
from autocoder_jupyter.engine.events import (
    ApprovalGiven,
    ApprovalNeeded,
    Diagnosed,
    EnvironmentReady,
    EvidenceGathered,
    Finished,
    PlanReady,
    Retrying,
    SourceWritten,
    StageFinished,
    StageStarted,
    TestReported,
    TestsCollected,
    TextStreamed,
    TokensUsed,
)
from autocoder_jupyter.types import CodePlan, ErrorDiagnosis, Evidence, TestFailure, TestOutcome, Usage


def fold(*events: Any) -> CardState:
    state = CardState("growth")
    for event in events:
        state = state.apply(event)
    return state


def outcome(name: str, how: Any = "passed") -> TestOutcome:
    return TestOutcome(id=name, outcome=how)


def test_the_old_state_stays_as_it_was() -> None:
    state = CardState("growth")
    assert state.apply(StageStarted("plan", 1, 3), at=2.0) != state
    assert state == CardState("growth")


def test_a_stage_starts_and_ends() -> None:
    state = fold(StageStarted("plan", 1, 3, "asking"), StageFinished("plan", 1, True), StageStarted("code", 1, 3))
    assert (state.stage, state.attempt, state.of) == ("code", 1, 3)
    assert [(stage, how.status) for stage, how in state.stages] == [("plan", "done"), ("code", "running")]


def test_stages_keep_their_order_whatever_comes_first() -> None:
    state = fold(StageStarted("tests", 1, 3), StageStarted("code", 1, 3), StageStarted("plan", 1, 3))
    assert [stage for stage, _ in state.stages] == ["plan", "code", "tests"]


def test_plan_sources_and_usage_are_kept() -> None:
    plan = CodePlan(description="d", approach="a")
    state = fold(
        PlanReady(plan),
        SourceWritten("solution", 1, "one"),
        SourceWritten("tests", 1, "t"),
        SourceWritten("solution", 2, "two"),
        TokensUsed("code", Usage(input_tokens=1), Usage(input_tokens=5)),
        EnvironmentReady("image", ("a",), 1.0),
    )
    assert (state.plan, state.solution, state.previous_solution, state.tests) == (plan, "two", "one", "t")
    assert (state.usage.input_tokens, state.environment) == (5, "image")


def test_what_the_model_writes_is_counted_until_a_new_stage() -> None:
    state = fold(TextStreamed("code", "x" * 30), TextStreamed("code", "end"))
    assert state.written == 33
    assert state.apply(StageStarted("run", 1, 3)).written == 0


def test_tests_are_counted_and_a_second_run_starts_anew() -> None:
    state = fold(
        TestsCollected(("a", "b", "c")),
        StageStarted("run", 1, 3),
        TestReported(outcome("a")),
        TestReported(outcome("b", "failed")),
        TestReported(outcome("b")),
    )
    assert (state.passed, state.test_count) == (2, 3)
    again = state.apply(StageStarted("run", 2, 3))
    assert (again.passed, again.test_count, again.attempt) == (0, 3, 2)


def test_evidence_brings_the_outcomes_of_the_attempt() -> None:
    state = fold(EvidenceGathered(1, Evidence(tests=(outcome("a"),))))
    assert state.passed == 1


def test_approval_waits_until_a_person_decides() -> None:
    waiting = fold(ApprovalNeeded(("evilpkg",)))
    assert (waiting.phase, waiting.approval) == ("waiting", ("evilpkg",))
    decided = waiting.apply(ApprovalGiven(("evilpkg",), False))
    assert (decided.phase, decided.approval) == ("running", ())
    assert "declined: evilpkg" in decided.log[-1].text


@pytest.mark.parametrize("end", ["ready", "failed", "cancelled", "over_budget"])
def test_each_ending_ends(end: Any) -> None:
    state = fold(StageStarted("run", 1, 3), ApprovalNeeded(("x",)), Finished(end, "because"))
    assert state.finished
    assert (state.phase, state.reason, state.approval, state.stage) == (end, "because", (), None)
    assert state.progress == 1.0


def test_a_run_is_replayed_when_every_answer_was() -> None:
    replayed = fold(StageFinished("plan", 1, True, replayed=True), StageFinished("run", 1, True))
    assert replayed.replayed
    assert not replayed.apply(StageFinished("code", 1, True)).replayed
    assert not CardState("growth").replayed


def test_the_log_tells_what_happened_and_when_and_is_bounded() -> None:
    diagnosis = ErrorDiagnosis(failures=(TestFailure(test_name="a", error_message="m", error_type="logic"),))
    state = CardState("growth").apply(Retrying("code", "rate limit", 2.0), at=1.5).apply(Diagnosed(diagnosis), at=3.0)
    assert [(line.at, line.text) for line in state.log] == [
        (1.5, "code: rate limit; again in 2 s"),
        (3.0, "diagnosis: logic"),
    ]
    for _ in range(500):
        state = state.apply(Retrying("code", "x", 1.0))
    assert len(state.log) == LOG_LINES


def test_progress_grows_and_never_claims_to_be_done() -> None:
    state, seen = CardState("growth"), [0.0]
    for stage in ("plan", "code", "tests", "environment", "run", "verify"):
        state = state.apply(StageStarted(stage, 1, 3)).apply(StageFinished(stage, 1, True))  # type: ignore[arg-type]
        seen.append(state.progress)
    assert seen == sorted(seen)
    assert seen[-1] < 1.0
