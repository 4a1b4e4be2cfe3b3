from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import jobs
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import AuthenticationFailed, BudgetSpent, Cancelled, GenerationFailed
from autocoder_jupyter.jobs.job import GenerationJob
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.run.events import Finished, StageStarted
from autocoder_jupyter.types import PlanQuestion, SecondOpinion
from tests.jobs.conftest import StandInEngine


def test_a_name_is_bound_at_once_and_filled_later(engine: Any, submit: Any) -> None:
    engine.stop_at = "code"
    job = submit()
    assert (job.state, job.result.done, repr(job.result)) == ("running", False, "<autocode growth running>")
    engine.go_on.set()
    assert job.result.wait(30) is job.result
    assert (job.state, job.result.success, job.result.attempts) == ("ready", True, 0)


def test_a_cancel_from_many_threads_kills_the_work_and_ends_the_result_once(engine: Any, submit: Any) -> None:
    engine.stop_at = "run"
    heard: list[Any] = []
    job = submit(listeners=(heard.append,))
    assert engine.stage_reached["run"].wait(30)
    threads = [threading.Thread(target=job.result.cancel) for _ in range(20)]
    for thread in threads:
        thread.start()
    with pytest.raises(Cancelled, match="growth was cancelled"):
        job.result.wait(30)
    for thread in threads:
        thread.join()
    assert [event.state for event in heard if isinstance(event, Finished)] == ["cancelled"]
    assert engine.killed.wait(30)
    assert (job.state, job.result.success) == ("cancelled", False)
    assert "cancelled" in (job.result.error or "")
    assert job.tracker.run.phase == "cancelled"


def test_cancel_right_after_submit_ends_the_result(engine: Any, submit: Any) -> None:
    engine.stop_at = "plan"
    job = submit()
    job.cancel()
    with pytest.raises(Cancelled):
        job.result.wait(30)


def test_cancel_before_the_start_ends_the_result_all_the_same(engine: Any, tmp_path: Path) -> None:
    job = jobs.GenerationJob(Request(name="growth", prompt="…"), AgentConfig(), journal_root=tmp_path)
    job.cancel("A newer run.")
    job.start()
    with pytest.raises(Cancelled, match="A newer run"):
        job.result.wait(30)
    assert not engine.stage_reached["plan"].is_set()


def test_an_answer_that_crosses_a_cancel_is_harmless(engine: Any, submit: Any) -> None:
    engine.asks = ("leftpad",)
    job = submit()
    while job.pending_approval is None:
        assert not job.done
    question = job._question
    job.cancel()
    with pytest.raises(Cancelled):
        job.result.wait(30)
    job._question = question  # the user clicked just before its end
    assert job.approve() is True


def test_cancel_after_the_end_changes_nothing(engine: Any, submit: Any) -> None:
    job = submit()
    job.result.wait(30)
    job.cancel()
    assert job.state == "ready"


def test_a_newer_run_of_a_name_takes_over(engine: Any, submit: Any) -> None:
    engine.stop_at = "run"
    older = submit()
    assert engine.stage_reached["run"].wait(30)
    newer: GenerationJob = submit()
    with pytest.raises(Cancelled, match="A newer run of growth took over"):
        older.result.wait(30)
    assert engine.killed.wait(30)
    assert newer is jobs.current("growth")
    engine.go_on.set()
    newer.result.wait(30)
    assert (older.state, newer.state) == ("cancelled", "ready")


def test_two_jobs_run_side_by_side(engine: Any, submit: Any) -> None:
    engine.stop_at = "run"
    first, second = submit("first"), submit("second")
    assert (first.state, second.state) == ("running", "running")
    second.cancel()
    with pytest.raises(Cancelled):
        second.result.wait(30)
    assert first.state == "running"
    engine.go_on.set()
    assert first.result.wait(30).success
    assert [job.name for job in jobs.all_jobs()] == ["first", "second"]


def test_what_the_engine_raises_is_kept_and_raised_to_whoever_waits(engine: Any, submit: Any) -> None:
    engine.outcome = AuthenticationFailed("No key.", hint="Set OPENAI_API_KEY.")
    result = submit().result
    for wait in (lambda: result.wait(30), result.run):
        with pytest.raises(AuthenticationFailed, match="OPENAI_API_KEY"):
            wait()
    assert (result.state, result.success, result.error) == ("failed", False, "No key.\nSet OPENAI_API_KEY.")


def test_a_defect_of_the_engine_is_a_failed_result_too(engine: Any, submit: Any) -> None:
    engine.outcome = KeyError("oops")
    result = submit().result
    with pytest.raises(KeyError):
        result.wait(30)
    assert (result.state, result.error) == ("failed", "KeyError: 'oops'")


def test_a_spent_budget_has_a_state_of_its_own(engine: Any, submit: Any) -> None:
    engine.outcome = BudgetSpent("The budget of $1 is spent.")
    job = submit()
    with pytest.raises(BudgetSpent):
        job.result.wait(30)
    assert job.state == "over_budget"


def test_a_failed_generation_can_be_read_but_not_run(engine: Any, submit: Any, finished: Any) -> None:
    engine.outcome = finished("growth", success=False, error="2 of 9 tests fail")
    result = submit().result.wait(30)
    assert (result.state, result.code) == ("failed", "def run(): return 1.0")
    with pytest.raises(GenerationFailed, match="2 of 9 tests fail"):
        result.run()


@pytest.mark.parametrize("consent", [True, False])
def test_a_package_waits_for_a_person(engine: Any, submit: Any, consent: bool) -> None:
    engine.asks = ("leftpad",)
    engine.stop_at = "run"
    job = submit()
    assert job.approve() is False  # nothing waits yet
    engine.go_on.set()
    _until_asked(job)
    assert (job.state, job.pending_approval) == ("waiting for approval", ("leftpad",))
    assert repr(job.result) == "<autocode growth waiting for approval>"
    assert job.approve("another package") is job.decline("another package") is False  # a click that came too late
    assert (job.approve("leftpad") if consent else job.decline()) is True
    job.result.wait(30)
    assert engine.answer is consent
    assert job.pending_approval is None


def test_whoever_waits_is_told_that_only_a_person_can_make_it_go_on(
    engine: Any, submit: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.asks = ("leftpad",)
    job = submit()
    _until_asked(job)
    with pytest.raises(TimeoutError):
        job.result.wait(0.7)
    job.decline()
    said = capsys.readouterr().out
    assert said.count("to install leftpad") == 1 and "%autocode reply growth yes leftpad, or no" in said
    engine.go_on.set()
    job.result.wait(30)


def test_cancel_while_a_person_is_asked(engine: Any, submit: Any) -> None:
    engine.asks = ("leftpad",)
    job = submit()
    _until_asked(job)
    job.cancel()
    with pytest.raises(Cancelled):
        job.result.wait(30)
    assert job.pending_approval is None and job.approve() is False


def test_a_listener_that_raises_does_no_harm(engine: Any, submit: Any) -> None:
    heard: list[Any] = []

    def broken(event: Any) -> None:
        raise RuntimeError("broken display")

    assert submit(listeners=(broken, heard.append)).result.wait(30).success
    assert isinstance(heard[0], StageStarted)


def test_who_comes_late_reads_the_record(engine: Any, submit: Any) -> None:
    heard: list[Any] = []
    job = submit(listeners=(heard.append,))
    job.result.wait(30)
    assert [event.state for event in heard if isinstance(event, Finished)] == ["ready"]
    run = job.tracker.run
    assert (run.phase, [stage for stage, _ in run.stages]) == ("ready", ["plan", "code", "environment", "run"])


def test_nothing_is_noted_after_the_end(engine: Any, submit: Any) -> None:
    job = submit()
    job.result.wait(30)
    kept = job.tracker.run
    job.tracker(StageStarted("plan", 2, 2))
    job.tracker.finish(Finished("failed"))
    assert job.tracker.run is kept and kept.phase == "ready"


def test_the_job_does_not_live_in_the_context_of_the_cell(engine: Any, submit: Any) -> None:
    cell: contextvars.ContextVar[str] = contextvars.ContextVar("cell", default="none")
    seen: list[str] = []
    cell.set("the cell that submitted")
    submit(listeners=(lambda event: seen.append(cell.get()),)).result.wait(30)
    assert set(seen) == {"none"}


async def test_a_pending_result_can_be_awaited_and_given_up(engine: Any, submit: Any) -> None:
    engine.stop_at = "run"
    result = submit().result
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(_awaited(result), 0.05)
    assert result.state == "running"
    engine.go_on.set()
    assert await result is result


def test_a_wait_that_times_out_leaves_the_job_running(engine: Any, submit: Any) -> None:
    engine.stop_at = "run"
    result = submit().result
    with pytest.raises(TimeoutError, match="goes on in the background"):
        result.wait(0.05)
    assert result.state == "running"


def test_a_listener_can_read_the_result_at_the_end_and_is_done_before_a_waiter_goes_on(
    engine: Any, submit: Any
) -> None:
    engine.stop_at = "run"
    read: list[Any] = []

    def card(event: Any) -> None:
        if isinstance(event, Finished):
            read.append((event.state, job.state, job.result.success))

    job = submit(listeners=(card,))
    engine.go_on.set()
    job.result.wait(30)
    assert read == [("ready", "ready", True)]


def test_a_listener_that_would_wait_for_the_job_that_tells_it_gets_an_error(engine: Any, submit: Any) -> None:
    engine.stop_at = "plan"
    raised: list[Exception] = []

    def impatient(event: Any) -> None:
        try:
            job.result.report  # noqa: B018
        except RuntimeError as error:
            raised.append(error)

    job = submit()
    assert engine.stage_reached["plan"].wait(30)
    job.tracker.listen(impatient)
    engine.go_on.set()
    assert job.result.wait(30).success
    assert raised


async def _awaited(result: Any) -> Any:
    return await result


def _until_asked(job: Any) -> None:
    tick = threading.Event()
    while job.pending_approval is None:
        assert not job.done
        tick.wait(0.01)


def test_questions_of_the_plan_wait_for_answers_and_not_for_ever_for_a_cancelled_job(
    engine: StandInEngine, submit: Callable[..., Any]
) -> None:
    questions = engine.questions = (PlanQuestion(text="Which date?", options=("a", "b")),)
    job = submit()
    while job.pending_questions is None:
        time.sleep(0.01)
    assert (job.state, job.pending_questions) == ("waiting for answers", questions)
    assert "%autocode reply growth" in job.obstacle()
    assert job.answer(["b"]) is True
    job.result.wait(30)
    assert engine.answers == ("b",) and job.pending_questions is None and job.answer(["a"]) is False
    other = submit()
    while other.pending_questions is None:
        time.sleep(0.01)
    other.cancel()
    with pytest.raises(Cancelled):
        other.result.wait(30)
    assert other.pending_questions is None


def test_a_verified_function_is_there_while_its_second_opinion_runs(engine: Any, submit: Any, finished: Any) -> None:
    engine.offers = [finished("growth", second_opinion=SecondOpinion(state="running"))]
    result = submit().result
    assert result.success and result.code and result.report.second_opinion.state == "running"
    assert (result.state, result.done, result.is_usable, result.last_good) == ("ready", False, True, result)
    assert repr(result) == "<autocode growth ready, not fully checked · second opinion running>"
    with pytest.raises(TimeoutError):
        result.wait(0.01)
    engine.outcome = finished("growth", second_opinion=SecondOpinion(state="agree"))
    engine.go_on.set()
    assert result.wait(30).report.second_opinion.state == "agree" and result.done


def test_a_function_that_the_second_opinion_changes_is_waited_for_again(
    engine: Any, submit: Any, finished: Any
) -> None:
    engine.offers = [finished("growth"), None]
    result = submit().result
    assert engine.offered.wait(30)
    assert (result.state, result.is_usable) == ("running", False)
    assert result.last_good.success and result.last_good.report.run_id == "abc"
    with pytest.raises(TimeoutError):
        result._pending.wait(0.01, until_usable=True)
    engine.outcome = finished("growth", run_id="abc-2", parent="abc")
    engine.go_on.set()
    assert result.success and result.report.run_id == "abc-2" and result.last_good is result


@pytest.mark.parametrize("ends", ["cancelled", "defect"])
def test_what_was_verified_is_not_lost_with_the_run(engine: Any, submit: Any, finished: Any, ends: str) -> None:
    engine.offers, engine.outcome = [finished("growth")], KeyError("oops")
    job = submit()
    assert job.result.success
    job.cancel() if ends == "cancelled" else engine.go_on.set()
    assert job.result.wait(30).success and (job.state, job.tracker.run.phase) == ("ready", "ready")


def test_who_waits_for_a_function_wakes_when_it_is_verified(engine: Any, submit: Any, finished: Any) -> None:
    engine.offers, engine.stop_at = [finished("growth")], "run"
    result = submit().result
    seen: list[bool] = []
    told = threading.Event()
    result.on_usable(lambda: (seen.append(result.done), told.set()))
    assert engine.stage_reached["run"].wait(30) and not told.is_set()
    waiting = background.submit(result._pending.settled(until_usable=True))
    engine.stop_at = None
    engine.go_on.set()
    assert waiting.result(30).report.success and told.wait(30)
