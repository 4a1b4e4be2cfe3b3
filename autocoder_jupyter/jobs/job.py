"""One generation in the background: its state, its events, its approval, and its end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autocoder_jupyter import background
from autocoder_jupyter.agent.generation import Progress, generate_report, resolution_of, resolution_of_error
from autocoder_jupyter.awaited import Awaited
from autocoder_jupyter.discretion.logs import logger as discreet_logger
from autocoder_jupyter.engine.events import Emit, Event, Finished, TextStreamed
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engine.prepare import settle_inputs
from autocoder_jupyter.errors import Cancelled
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution, State
from autocoder_jupyter.result.recorded import last_good
from autocoder_jupyter.tasks.interface import Interface
from autocoder_jupyter.tasks.options import CallOptions
from autocoder_jupyter.types import PlanQuestion, Report

if TYPE_CHECKING:
    from autocoder_jupyter.engine.start import Draft

EVENTS_KEPT = 2000
"""What a listener that comes late is told. Streamed pieces of text are not kept: the whole text follows them."""

CANCELLED = "Cancelled."
"""The reason of a cancel when a person gives none."""

_log = discreet_logger(__name__)


class Job:
    """A running or ended generation. Every method may be called from any thread.

    Args:
        request: what to build.
        config: how.
        journal_root: the `.autocode` folder.
        draft: what to start from in place of what is kept.
        listeners: are told every event, from the first on, on the background thread. At `Finished`, which is the
            last, the result can be read; before that, reading its fields there raises RuntimeError.
        older: the job that had the name before.
    """

    def __init__(
        self,
        request: Request,
        config: AgentConfig,
        *,
        journal_root: Path,
        listeners: Sequence[Emit] = (),
        older: Job | None = None,
        draft: Draft | None = None,
    ) -> None:
        self.request = request
        self.config = config
        self._draft = draft
        self._journal = Journal(journal_root, request.name)
        self._progress = Progress()
        self._pending = Pending(lambda: self._state, self.cancel, self._awaited)
        self._before = _Before(older, journal_root, request.name, config)
        self.result = CodeGenEvalResult(
            request.name,
            self._pending,
            samples=request.samples,
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
        self._lock = threading.RLock()
        self._listeners: list[Emit] = [self._progress, *listeners]
        self._events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._state: State = "running"
        self._finished: Finished | None = None
        self._question: tuple[tuple[str, ...], concurrent.futures.Future[bool]] | None = None
        self._plan_asks: tuple[tuple[PlanQuestion, ...], concurrent.futures.Future[tuple[str, ...]]] | None = None
        self._cancel_reason: str | None = None
        self._task: asyncio.Task[Report] | None = None

    @property
    def name(self) -> str:
        """What the person calls it."""
        return self.request.name

    @property
    def run_id(self) -> str:
        """The folder of this run in the journal; "" until the engine has read the samples."""
        return self._journal.run_id

    @property
    def folder(self) -> Path:
        """The run's folder in the journal; that of the name until there is a run id."""
        return self._journal.folder

    @property
    def state(self) -> State:
        """Where it stands."""
        return self._pending.state

    @property
    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._pending.done

    # Life

    def start(self) -> None:
        """Begin, on the background loop, in a context of its own: nothing there can belong to a cell's output."""
        context = contextvars.Context()
        background.loop().call_soon_threadsafe(lambda: self._begin(context), context=context)

    def _begin(self, context: contextvars.Context) -> None:
        self._task = asyncio.get_running_loop().create_task(self._generated(), context=context)
        self._task.add_done_callback(self._settle)
        if self._cancel_reason is not None:  # asked to stop before it began
            self._cancel_task()

    async def _generated(self) -> Report:
        return await generate_report(
            self.request,
            self.config,
            journal=self._journal,
            emit=self._emit,
            approve=self._asked,
            ask=self._questioned,
            draft=self._draft,
        )

    def cancel(self, reason: str = CANCELLED) -> None:
        """Stop the model's answer, kill the sandbox, end the result as cancelled. Only the first reason counts."""
        with self._lock:
            if self._cancel_reason is not None or self.done:
                return
            self._cancel_reason = reason
        background.loop().call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel(self._cancel_reason)

    def _settle(self, task: asyncio.Task[Report]) -> None:
        resolution = self._resolution(task)
        error = resolution.exception
        reason = error.what if isinstance(error, Cancelled) else resolution.report.error or ""
        finished = self._finished or Finished(resolution.state, reason)
        if resolution.state == "ready":
            self._before.forget()
        self._pending.resolve(resolution, tell=lambda: self._tell_all(finished))

    def _resolution(self, task: asyncio.Task[Report]) -> Resolution:
        error: BaseException | None
        if task.cancelled():
            why = "" if self._cancel_reason in (None, CANCELLED) else self._cancel_reason
            error = Cancelled(f"{self.name} was cancelled.", why=why, hint="Run the cell again to go on.")
        else:
            error = task.exception()
        if error is None:
            return resolution_of(task.result(), self._finished.state if self._finished else None)
        kept = error if isinstance(error, Exception) else RuntimeError(repr(error))
        return resolution_of_error(self.request, self.run_id, kept)

    # Events

    def listen(self, listener: Emit) -> None:
        """Tell a listener what has happened so far, and what happens from now on, in order and without gaps."""
        with self._lock:
            for event in self._events:
                _tell(listener, event)
            self._listeners.append(listener)

    @property
    def events(self) -> tuple[Event, ...]:
        """What has happened so far; see `EVENTS_KEPT`."""
        with self._lock:
            return tuple(self._events)

    def _emit(self, event: Event) -> None:
        with self._lock:  # a sandbox's thread tells how tests went, and may be late
            if self._finished is not None or self.done:
                return  # nothing comes after the end
            if isinstance(event, Finished):
                self._finished = event  # told when the result is there to be read
            else:
                self._tell_all(event)

    def _tell_all(self, event: Event) -> None:
        with self._lock:
            if not isinstance(event, TextStreamed):
                self._events.append(event)
            for listener in tuple(self._listeners):
                _tell(listener, event)

    # Approval

    @property
    def pending_approval(self) -> tuple[str, ...] | None:
        """The distributions that wait for consent; None when nothing waits."""
        question = self._question
        return None if question is None else question[0]

    def obstacle(self) -> str:
        """What only a person can take out of the way, in words; "" when it goes on by itself."""
        if self.pending_questions is not None:
            return f"{self.name} waits for your answers. Interrupt, then type %autocode answer {self.name}."
        packages = self.pending_approval
        if packages is None:
            return ""
        return (
            f"{self.name} waits for your consent to install {', '.join(packages)}. "
            f"Interrupt, then type %autocode approve {self.name} or %autocode decline {self.name}."
        )

    def _awaited(self) -> Awaited:
        interrupt = "interrupt to stop waiting, it goes on"
        return Awaited(self.name, self._progress.words, interrupt, self.obstacle)

    def approve(self) -> bool:
        """Consent to what waits. False when nothing does."""
        return self._answer(True)

    def decline(self) -> bool:
        """Refuse what waits. False when nothing does."""
        return self._answer(False)

    async def _asked(self, packages: tuple[str, ...]) -> bool:
        answer: concurrent.futures.Future[bool] = concurrent.futures.Future()
        # A cancelled job must not cancel it under the hands of whoever answers; a running future cannot be cancelled.
        answer.set_running_or_notify_cancel()
        with self._lock:
            self._question = (packages, answer)
            self._state = "waiting for approval"
        try:
            return await asyncio.wrap_future(answer)
        finally:
            with self._lock:
                self._question = None
                self._state = "running"

    def _answer(self, approved: bool) -> bool:
        with self._lock:
            question = self._question
            if question is None or question[1].done():
                return False
            question[1].set_result(approved)
            return True

    # Questions of the plan

    @property
    def pending_questions(self) -> tuple[PlanQuestion, ...] | None:
        """What the plan asks; None when nothing waits."""
        asking = self._plan_asks
        return None if asking is None else asking[0]

    def answer(self, answers: Sequence[str]) -> bool:
        """Answer, one for each question; "" leaves it to the plan. False when nothing waits."""
        with self._lock:
            asking = self._plan_asks
            if asking is None or asking[1].done():
                return False
            asking[1].set_result(tuple(answers))
            return True

    async def _questioned(self, questions: tuple[PlanQuestion, ...]) -> tuple[str, ...]:
        answers: concurrent.futures.Future[tuple[str, ...]] = concurrent.futures.Future()
        answers.set_running_or_notify_cancel()  # as with an approval
        with self._lock:
            self._plan_asks = (questions, answers)
            self._state = "waiting for answers"
        try:
            return await asyncio.wrap_future(answers)
        finally:
            with self._lock:
                self._plan_asks = None
                self._state = "running"

    def __repr__(self) -> str:
        return f"<job {self.name} {self.state}>"


class _Before:
    """The good result that a name had before: of an older job of this kernel, else from disk."""

    def __init__(self, older: Job | None, root: Path, name: str, config: AgentConfig) -> None:
        self._older = older.result if older is not None else None
        self._recorded: Callable[[], CodeGenEvalResult | None] = partial(last_good, root, name, CallOptions.of(config))

    def __call__(self) -> CodeGenEvalResult | None:
        return self._recorded() if self._older is None else self._older.last_good

    def forget(self) -> None:
        """Let go of it, and of its samples: there is a better one."""
        self._older, self._recorded = None, _nothing


def _nothing() -> None:
    return None


def _same_wording(request: Request, older: Job | None) -> bool:
    """Whether the same is asked for, of whatever data, as by the job before."""
    return older is not None and replace(request, samples={}) == replace(older.request, samples={})


def _tell(listener: Emit, event: Event) -> None:
    try:
        listener(event)
    except Exception:
        _log.exception("a listener failed on %s", type(event).__name__)
