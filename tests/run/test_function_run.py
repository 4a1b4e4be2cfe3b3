from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autocoder_jupyter.display.live import status_line
from autocoder_jupyter.run.events import (
    ApprovalGiven,
    ApprovalNeeded,
    Diagnosed,
    EnvironmentProgress,
    EnvironmentReady,
    EvidenceGathered,
    Finished,
    LoadingClient,
    PlanReady,
    Retrying,
    SourceWritten,
    StageFinished,
    StageStarted,
    TestReported,
    TestsCollected,
    TextStreamed,
    TokensUsed,
    WaitsForRun,
)
from autocoder_jupyter.run.function_run import BUILD_LINES, LOG_LINES, TAIL_CHARACTERS, FunctionRun
from autocoder_jupyter.types import CodePlan, ErrorDiagnosis, Evidence, TestFailure, TestOutcome, Usage
from tests.cases import each


def fold(*events: Any) -> FunctionRun:
    state = FunctionRun("growth")
    for event in events:
        state = state.apply(event)
    return state


def outcome(name: str, how: Any = "passed") -> TestOutcome:
    return TestOutcome(id=name, outcome=how)


def test_the_old_state_stays_as_it_was() -> None:
    state = FunctionRun("growth")
    assert state.apply(StageStarted("plan", 1, 3), at=2.0) != state
    assert state == FunctionRun("growth")


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


def test_a_restored_solution_is_compared_with_what_it_was_made_from() -> None:
    one, two, three = (SourceWritten("solution", number, name) for number, name in enumerate(("a", "b", "c"), 1))
    assert fold(one, two, three).previous_solution == "b"
    assert fold(one, two, three, two).previous_solution == "a"
    assert fold(one, two, three, one).previous_solution == fold(one, one).previous_solution == ""


def test_what_the_model_writes_is_kept_by_stage_while_the_stage_runs() -> None:
    state = fold(
        StageStarted("code", 1, 3),
        StageStarted("tests", 1, 3),
        TextStreamed("code", "import "),
        TextStreamed("tests", "from"),
        TextStreamed("code", "pandas"),
    )
    assert [(answer.stage, answer.tail) for answer in state.answers] == [("code", "import pandas"), ("tests", "from")]
    assert state.written == 17
    left = state.apply(StageFinished("code", 1, True))
    assert [answer.stage for answer in left.answers] == ["tests"]
    assert left.apply(Finished("ready")).answers == ()


def test_of_a_long_answer_only_the_end_is_kept() -> None:
    state = fold(StageStarted("code", 1, 3), *(TextStreamed("code", f"{number:05}") for number in range(5000)))
    assert state.answers[0].written == 25_000
    assert len(state.answers[0].tail) == TAIL_CHARACTERS
    assert state.answers[0].tail.endswith("0499804999")


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(Retrying("code", "rate limit", 2.0), id="after a fault"),
        pytest.param(TokensUsed("code", Usage(), Usage()), id="after a whole answer"),
    ],
)
def test_an_answer_starts_anew(event: Any) -> None:
    state = fold(StageStarted("code", 1, 3), TextStreamed("code", "refused"), event, TextStreamed("code", "again"))
    assert (state.answers[0].tail, state.answers[0].written) == ("again", 5)


def test_a_fault_of_the_service_is_known_until_it_answers() -> None:
    state = fold(StageStarted("code", 1, 3), StageStarted("tests", 1, 3), Retrying("code", "rate limit", 2.0))
    assert state.faults == ("rate limit; next try after 2 s",)
    assert state.apply(Retrying("tests", "rate limit", 2.0)).faults == state.faults
    for event in (TextStreamed("code", "x"), StageFinished("code", 1, True), Finished("failed", "no")):
        assert state.apply(event).faults == ()


def test_the_loading_of_the_client_has_a_beginning_and_an_end() -> None:
    state = fold(StageStarted("plan", 1, 3), LoadingClient())
    assert state.loading and state.log[-1].text == "loading the model client"
    assert not state.apply(LoadingClient(done=True)).loading
    assert not state.apply(Finished("cancelled")).loading


def test_what_it_waits_for_is_said_as_long_as_it_waits() -> None:
    state = fold(WaitsForRun("Your earlier run has not ended yet."))
    assert "Your earlier run has not ended yet." in status_line(state)
    over = state.apply(WaitsForRun(""))
    assert "Your earlier run" not in status_line(over) and not over.notice
    assert not state.apply(Finished("cancelled")).waits


def test_a_whole_answer_stays_in_view_until_its_stage_ends() -> None:
    state = fold(StageStarted("code", 1, 3), TextStreamed("code", "x = 1"), TokensUsed("code", Usage(), Usage()))
    assert state.answers[0].tail == "x = 1"


def test_text_of_a_stage_that_does_not_run_is_a_sign_of_life_and_nothing_more() -> None:
    state = FunctionRun("growth").apply(TextStreamed("plan", "constraints"), at=4.0)
    assert (state.answers, state.last_event) == ((), 4.0)


def test_quiet_is_the_time_since_something_happened() -> None:
    state = FunctionRun("growth").apply(StageStarted("plan", 1, 3), at=2.0)
    assert state.quiet == 0.0
    assert replace(state, seconds=9.5).quiet == 7.5


def test_what_is_done_to_the_environment_is_told_until_it_stands() -> None:
    lines = [EnvironmentProgress(f"step {number}") for number in range(20)]
    state = fold(StageStarted("environment", 1, 3), *lines)
    assert len(state.building) == BUILD_LINES
    assert state.building[-1] == "step 19"
    assert "environment: step 19" in state.log[-1].text
    assert state.apply(EnvironmentReady("image", (), 1.0)).building == ()


def test_a_test_with_cases_counts_its_cases_once_they_are_reported() -> None:
    state = fold(TestsCollected(("test_a", "test_b")), TestReported(outcome("test_a[1]")))
    assert (state.pending, state.test_count, state.passed) == (("test_b",), 2, 1)
    assert state.apply(TestReported(outcome("test_a[2]"))).test_count == 3


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


@each("end", ["ready", "failed", "cancelled", "over_budget"])
def test_each_ending_ends(end: Any) -> None:
    state = fold(StageStarted("run", 1, 3), ApprovalNeeded(("x",)), Finished(end, "because"))
    assert state.finished
    assert (state.phase, state.reason, state.approval, state.stage) == (end, "because", (), None)
    assert state.progress == 1.0


def test_a_run_is_replayed_when_every_answer_was() -> None:
    replayed = fold(StageFinished("plan", 1, True, replayed=True), StageFinished("run", 1, True))
    assert replayed.replayed
    assert not replayed.apply(StageFinished("code", 1, True)).replayed
    assert not FunctionRun("growth").replayed


def test_the_log_tells_what_happened_and_when_and_is_bounded() -> None:
    diagnosis = ErrorDiagnosis(failures=(TestFailure(test_name="a", error_message="m", error_type="logic"),))
    state = FunctionRun("growth").apply(Retrying("code", "rate limit", 2.0), at=1.5).apply(Diagnosed(diagnosis), at=3.0)
    assert [(line.at, line.text) for line in state.log] == [
        (1.5, "code: rate limit; next try after 2 s"),
        (3.0, "diagnosis: logic"),
    ]
    for _ in range(500):
        state = state.apply(Retrying("code", "x", 1.0))
    assert len(state.log) == LOG_LINES


def test_progress_grows_and_never_claims_to_be_done() -> None:
    state, seen = FunctionRun("growth"), [0.0]
    for stage in ("plan", "code", "tests", "environment", "run", "verify"):
        state = state.apply(StageStarted(stage, 1, 3)).apply(StageFinished(stage, 1, True))
        seen.append(state.progress)
    assert seen == sorted(seen)
    assert seen[-1] < 1.0
