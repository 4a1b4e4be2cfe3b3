"""Background jobs: start, cancel, questions to the user, one end; and the job of a generation."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from autocoder_jupyter.agent.generation import completed_report, generate_report, resolution_of, resolution_of_error
from autocoder_jupyter.calls.function import Interface
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited
from autocoder_jupyter.concurrency.spare_time import SPARE_TIME
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engine.prepare import settle_inputs
from autocoder_jupyter.errors import Cancelled
from autocoder_jupyter.models.silence import SilenceWatch
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Ended, Pending, Resolution, State
from autocoder_jupyter.result.recorded import last_good
from autocoder_jupyter.run.events import Finished, ModelRefused
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.record import RunRecord
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types import PlanQuestion, Report

if TYPE_CHECKING:
    from autocoder_jupyter.engine.start import Draft


# Questions to the user

Q = TypeVar("Q")
A = TypeVar("A")

SilenceAnswer = Literal["wait", "again", "model"]
"""What a user may want if a model says nothing."""


class UserQuestion(Generic[Q, A]):
    """One question; it may be answered once, from any thread.

    Args:
        key: identifies it among the questions of a run, so that a late click does not answer the next one.
        state: the state of the job while it waits for the answer.
    """

    def __init__(self, asked: Q, key: str, state: State) -> None:
        self.asked = asked
        self.key = key
        self.state = state
        self._lock = threading.Lock()
        self._answer: concurrent.futures.Future[A] = concurrent.futures.Future()
        # A cancelled job must not cancel the future while it is answered; a running future cannot be cancelled.
        self._answer.set_running_or_notify_cancel()

    def answer(self, answer: A) -> bool:
        """Answer it. False if it was answered before."""
        with self._lock:
            if self._answer.done():
                return False
            self._answer.set_result(answer)
            return True

    @property
    def is_open(self) -> bool:
        """Whether it is not answered yet."""
        return not self._answer.done()

    async def answered(self) -> A:
        return await asyncio.wrap_future(self._answer)


# The base of all jobs

CANCELLED = "Cancelled."
"""The default reason of a cancel."""

T = TypeVar("T")
R = TypeVar("R", bound=Ended)
S = TypeVar("S", bound=RunRecord)


class BackgroundJob(ABC, Generic[T, R, S]):
    """Running or ended work. Every method may be called from any thread.

    `T` is the result of the work, `R` the record of its end, `S` the record of the run.

    Args:
        tracker: keeps the record of the run. Its listeners are called on the background thread. `Finished` is the last
            event; the result can be read then. Reading its fields there earlier raises RuntimeError.
    """

    def __init__(self, tracker: RunTracker[S]) -> None:
        self.name = tracker.run.name
        self.tracker = tracker
        self._pending: Pending[R] = Pending(lambda: self._state, self.cancel, self._awaited)
        self._lock = threading.Lock()
        self._cancel_reason: str | None = None
        self._task: asyncio.Task[T] | None = None
        self._question: UserQuestion[Any, Any] | None = None
        self._silence = SilenceWatch(tracker)

    @abstractmethod
    async def _work(self) -> T:
        """Do the work, on the background loop."""

    @abstractmethod
    def _ended(self, outcome: T) -> R:
        """The outcome of work that returned."""

    @abstractmethod
    def _raised(self, error: Exception) -> R:
        """The outcome of work that raised or was cancelled."""

    @abstractmethod
    def _last_event(self, resolution: R) -> Finished:
        """The last event, for work that did not emit it."""

    def _doing(self) -> str:
        """What it is doing, in a few words."""
        return self.tracker.run.doing

    @abstractmethod
    def obstacle(self) -> str:
        """What it needs from the user to go on, as a sentence; "" if it needs nothing."""

    def _awaited(self) -> Awaited:
        return Awaited(self.name, self._doing, "interrupt to stop waiting, it goes on", self.obstacle)

    @property
    def state(self) -> State:
        return self._pending.state

    @property
    def done(self) -> bool:
        """Whether it has ended, with or without success."""
        return self._pending.done

    # Start and cancel

    def start(self) -> None:
        """Start on the background loop, in a new context, so that its output belongs to no cell."""
        context = contextvars.Context()
        background.loop().call_soon_threadsafe(lambda: self._begin(context), context=context)

    def _begin(self, context: contextvars.Context) -> None:
        self._task = asyncio.get_running_loop().create_task(self._in_turn(), context=context)
        self._task.add_done_callback(self._settle)
        if self._cancel_reason is not None:  # cancelled before it began
            self._cancel_task()

    async def _in_turn(self) -> T:
        with SPARE_TIME.in_use():
            return await self._work()

    def cancel(self, reason: str = CANCELLED) -> None:
        """Cancel the work. Only the first reason counts."""
        with self._lock:
            if self._cancel_reason is not None or self.done:
                return
            self._cancel_reason = reason
        background.loop().call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel(self._cancel_reason)

    def _settle(self, task: asyncio.Task[T]) -> None:
        resolution = self._resolution(task)
        self._pending.resolve(resolution, notify=lambda: self.tracker.finish(self._last_event(resolution)))

    def _resolution(self, task: asyncio.Task[T]) -> R:
        error: BaseException | None
        if task.cancelled():
            why = "" if self._cancel_reason in (None, CANCELLED) else self._cancel_reason
            error = Cancelled(f"{self.name} was cancelled.", why=why, hint="Run the cell again to go on.")
        else:
            error = task.exception()
        if error is None:
            return self._ended(task.result())
        if (usable := self._pending.usable) is not None:  # what was verified is not lost
            return usable
        return self._raised(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    # Questions to the user

    async def _ask(self, question: UserQuestion[Any, A]) -> A:
        """Wait until the user has answered a question. One question is asked at a time."""
        self._question = question
        try:
            return await question.answered()
        finally:
            self._question = None

    @property
    def _state(self) -> State:
        """The state while it has not ended."""
        question = self._question
        return question.state if question is not None and question.is_open else "running"

    def _asked(self, state: State) -> Any:
        """The subject of the open question; None if none of this kind is open."""
        question = self._question
        return question.asked if question is not None and question.is_open and question.state == state else None

    def _answer(self, state: State, answer: object, question: str = "") -> bool:
        """Answer the open question. False if none of this kind is open, or another one than `question`."""
        asked = self._question
        is_meant = asked is not None and asked.state == state and question in ("", asked.key)
        return asked is not None and is_meant and asked.answer(answer)

    # A model that says nothing

    def answer_silence(self, answer: SilenceAnswer) -> bool:
        """Wait longer for questions without an answer, ask them again, or end the run and offer other models.

        False if there are no such questions.
        """
        if answer != "model":
            return self._silence.reply(answer)
        is_silent = bool(self.tracker.run.silent)
        if is_silent:
            background.submit(self._offer_models())
        return is_silent

    async def _offer_models(self) -> None:
        from autocoder_jupyter.models.offers import offers

        self.tracker(ModelRefused(await offers()))
        self.cancel("The model gave no answer.")

    def __repr__(self) -> str:
        return f"<job {self.name} {self.state}>"


# Generations


class GenerationJob(BackgroundJob[Report, Resolution, FunctionRun]):
    """A running or ended generation. Every method may be called from any thread.

    Args:
        journal_root: the `.autocode` folder.
        tracker: keeps the record of the run; by default a new one.
        draft: a function to start from instead of the kept one.
        older: the previous job of the same name.
    """

    def __init__(
        self,
        request: Request,
        config: AgentConfig,
        *,
        journal_root: Path,
        tracker: RunTracker[FunctionRun] | None = None,
        older: GenerationJob | None = None,
        draft: Draft | None = None,
    ) -> None:
        super().__init__(tracker or RunTracker(FunctionRun(request.name, config.max_cost)))
        self.request = request
        self.config = config
        self._draft = draft
        self._completing: concurrent.futures.Future[None] | None = None
        self._journal = Journal(journal_root, request.name)
        self._before = _Previous(older, journal_root, request.name, config)
        self.result = CodeGenEvalResult(
            request.name,
            self._pending,
            samples=request.samples,
            contracts=request.contracts,
            options=CallOptions.of(config),
            root=journal_root,
            before=self._before,
            answers_meanwhile=config.cache == "override" and _same_wording(request, older),
            declared=Interface(
                f"{request.name} is not ready yet. It was asked for:\n{request.prompt.strip()}",
                settle_inputs(request),
                request.outputs,
                tuple(request.samples),
            ),
        )

    @property
    def run_id(self) -> str:
        """The folder of this run in the journal; "" until the engine has read the samples."""
        return self._journal.run_id

    @property
    def folder(self) -> Path:
        """The run's folder in the journal; the folder of the name until there is a run id."""
        return self._journal.folder

    async def _work(self) -> Report:
        return await generate_report(
            self.request,
            self.config,
            journal=self._journal,
            tracker=self.tracker,
            approve=self._ask_consent,
            ask=self._ask_plan,
            draft=self._draft,
            offer=self._offer,
            silence=self._silence,
        )

    def _offer(self, report: Report | None) -> None:
        """See `Services.offer`: a draft, a verified function, or None to take that back."""
        if report is not None and not report.success:
            self._pending.set_draft(Resolution("not_verified", report))
            return
        offered = self._pending.usable
        self._pending.offer(Resolution("ready", report) if report is not None else None)
        if report is None and offered is not None:
            self._before.replace_with(
                CodeGenEvalResult(
                    self.name,
                    Pending.resolved(offered),
                    samples=self.request.samples,
                    contracts=self.request.contracts,
                    options=CallOptions.of(self.config),
                    root=self._journal.root,
                )
            )

    def _ended(self, outcome: Report) -> Resolution:
        resolution = resolution_of(outcome, self.tracker.last.state if self.tracker.last else None)
        if resolution.state == "ready":
            self._before.forget()
        return replace(resolution, asks_for=self.tracker.run.asks_for)

    def _raised(self, error: Exception) -> Resolution:
        return replace(resolution_of_error(self.request, self.run_id, error), asks_for=self.tracker.run.asks_for)

    def _last_event(self, resolution: Resolution) -> Finished:
        error = resolution.exception
        reason = error.what if isinstance(error, Cancelled) else resolution.report.error or ""
        return Finished(resolution.state, reason)

    def obstacle(self) -> str:
        """The answer or consent that the generation needs from the user, as a sentence; "" if it needs none."""
        if self.pending_questions is not None:
            return f"{self.name} waits for your answers. Interrupt, then type %autocode reply {self.name}."
        if (packages := self.pending_approval) is None:
            return ""
        return (
            f"{self.name} waits for your consent to install {', '.join(packages)}. "
            f"Interrupt, then type %autocode reply {self.name} yes {' '.join(packages)}, or no."
        )

    # Approval

    @property
    def pending_approval(self) -> tuple[str, ...] | None:
        """The distributions that wait for consent; None if there are none."""
        packages: tuple[str, ...] | None = self._asked("waiting for approval")
        return packages

    def approve(self, question: str = "") -> bool:
        """Approve the pending request. False if there is none, or another one than `question`."""
        return self._answer("waiting for approval", True, question)

    def decline(self, question: str = "") -> bool:
        """Refuse what waits. False if nothing waits, or something else than `question`."""
        return self._answer("waiting for approval", False, question)

    # What the time has cut

    def complete(self, notify: Callable[[], object]) -> None:
        """Begin to complete the evidence in spare time, without a model, if the time has cut it.

        Args:
            notify: called on the background thread when the result has more evidence.
        """
        report = self._pending.wait().report if self.done else None
        if report is not None and report.success and report.is_cut and self.config.cache != "disable":
            self._completing = background.submit(self._complete(report, notify))

    async def _complete(self, before: Report, notify: Callable[[], object]) -> None:
        with contextlib.suppress(Exception):  # nobody asked for it, and what was found stays
            root = self._journal.root
            after = await SPARE_TIME.run(lambda: completed_report(self.request, self.config, root, before))
            if after is not None:
                self._pending.improve(Resolution("ready", after))
                notify()

    def cancel(self, reason: str = CANCELLED) -> None:
        """Cancel the work, also that which completes its evidence. Only the first reason counts."""
        if self._completing is not None:
            self._completing.cancel()
        super().cancel(reason)

    async def _ask_consent(self, packages: tuple[str, ...]) -> bool:
        return await self._ask(UserQuestion(packages, ", ".join(packages), "waiting for approval"))

    # Questions of the plan

    @property
    def pending_questions(self) -> tuple[PlanQuestion, ...] | None:
        """The questions of the plan that wait for an answer; None if there are none."""
        questions: tuple[PlanQuestion, ...] | None = self._asked("waiting for answers")
        return questions

    def answer(self, answers: Sequence[str]) -> bool:
        """Answer each question; "" accepts the plan's assumption. False if no question waits."""
        return self._answer("waiting for answers", tuple(answers))

    async def _ask_plan(self, questions: tuple[PlanQuestion, ...]) -> tuple[str, ...]:
        return await self._ask(UserQuestion(questions, "plan", "waiting for answers"))


class _Previous:
    """The previous good result of a name: from an older job of this kernel, else from disk."""

    def __init__(self, older: GenerationJob | None, root: Path, name: str, config: AgentConfig) -> None:
        self._older = older.result if older is not None else None
        self._recorded: Callable[[], CodeGenEvalResult | None] = partial(last_good, root, name, CallOptions.of(config))

    def __call__(self) -> CodeGenEvalResult | None:
        return self._recorded() if self._older is None else self._older.last_good

    def replace_with(self, result: CodeGenEvalResult) -> None:
        """Use a newer good result: a version that the second opinion changed."""
        self._older, self._recorded = result, _no_result

    def forget(self) -> None:
        """Release it and its samples, because the new result is good."""
        self._older, self._recorded = None, _no_result


def _no_result() -> None:
    return None


def _same_wording(request: Request, older: GenerationJob | None) -> bool:
    """Whether the request has the same text as that of the previous job, with any data."""
    return older is not None and replace(request, samples={}) == replace(older.request, samples={})
