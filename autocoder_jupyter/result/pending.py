"""A pending outcome, which the job sets once and any thread or loop can wait for; and what results are made of."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

from autocoder_jupyter.calls.callable import Live
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, Wait, report_progress
from autocoder_jupyter.contracts.sample_schema import schemas_of, sources_of
from autocoder_jupyter.run.events import EndState
from autocoder_jupyter.run.record import AsksFor
from autocoder_jupyter.types import (
    Attempt,
    CodePlan,
    CodeSolution,
    Evidence,
    Exchange,
    InputSpec,
    OutputSpec,
    Report,
    Trace,
    Usage,
)

State = Literal["running", "waiting for approval", "waiting for answers"] | EndState
"""The state of a generation."""


@dataclass(frozen=True)
class Resolution:
    """How a generation ended.

    Args:
        report: the report; after a cancel or an exception it has little more than the reason.
        exception: the exception of the generation, if it raised one instead of a report.
        asks_for: what it asks for, if there is no function.
    """

    state: EndState
    report: Report
    exception: Exception | None = None
    asks_for: AsksFor = ""


class Ended(Protocol):
    """The interface of an outcome, such as `Resolution`."""

    @property
    def state(self) -> EndState:
        """The final state."""
        ...

    @property
    def exception(self) -> Exception | None:
        """The exception that was raised instead of an outcome, if any."""
        ...

    @property
    def asks_for(self) -> str:
        """What it asks for, if there is no result."""
        ...


R = TypeVar("R", bound=Ended)


class Pending(Generic[R]):
    """One outcome, such as a `Resolution`, that is set later. Before it, one that can be used meanwhile may be offered.

    Args:
        state: returns the state while there is no outcome.
        awaited: returns the description of the current work for a waiting caller.
    """

    def __init__(
        self,
        state: Callable[[], State] = lambda: "running",
        cancel: Callable[[str], object] = lambda reason: None,
        awaited: Callable[[], Awaited | None] = lambda: None,
    ) -> None:
        self._state = state
        self.cancel = cancel
        self._awaited = awaited
        self._resolution: R | None = None
        self._offered: R | None = None
        self._future: concurrent.futures.Future[R] = _future()
        self._first: concurrent.futures.Future[R] = _future()  # set as soon as there is something to use
        self._draft: R | None = None
        self._seen: concurrent.futures.Future[None] = _future()  # set as soon as there is a draft, or more
        self._lock = threading.Lock()

    @classmethod
    def resolved(cls, resolution: R) -> Pending[R]:
        """A `Pending` with its outcome."""
        pending: Pending[R] = cls()
        pending.resolve(resolution)
        return pending

    def resolve(self, resolution: R, notify: Callable[[], None] = lambda: None) -> None:
        """Set the outcome, then wake all waiters. Only the first call counts."""
        if self._resolution is None:
            self._resolution = resolution
            notify()
            self._future.set_result(resolution)
            self._set_first(resolution)

    def improve(self, resolution: R) -> None:
        """Replace an outcome that is set by one that says more of the same."""
        if self._resolution is not None:
            self._resolution = resolution

    def offer(self, resolution: R | None) -> None:
        """Set what can be used until the end; None takes it back, so that new callers wait again."""
        with self._lock:
            self._offered = resolution
            if resolution is None and self._first.done() and not self.done:
                self._first = _future()
        if resolution is not None:
            self._set_first(resolution)

    def set_draft(self, draft: R) -> None:
        """Set what can be looked at before there is something to use."""
        self._draft = draft
        self._set_seen()

    async def drafted(self) -> R:
        """Wait until there is something to look at: what is usable, else a draft, else the end."""
        await background.outcome(self._seen)
        found = self.usable or self._draft
        return found if found is not None else await self.settled()

    def _set_seen(self) -> None:
        with self._lock:
            is_first = not self._seen.done()
            if is_first:
                self._seen.set_result(None)

    def _set_first(self, resolution: R) -> None:
        self._set_seen()
        with self._lock:
            first = self._first
            if first.done():
                return
        first.set_result(resolution)

    @property
    def usable(self) -> R | None:
        """The outcome, else what was offered; None if there is neither. Never waits."""
        return self._resolution or self._offered

    @property
    def state(self) -> State:
        """The state of the outcome, else of what was offered. Never waits."""
        usable = self.usable
        return self._state() if usable is None else usable.state

    @property
    def done(self) -> bool:
        """Whether it has ended, with or without success."""
        return self._resolution is not None

    def on_done(self, callback: Callable[[], object]) -> None:
        """Call the callback when it ends, on the thread that ends it; at once if it has ended."""
        self._future.add_done_callback(lambda _: callback())

    def on_usable(self, callback: Callable[[], object]) -> None:
        """Call the callback when there is something to use, or it ends; at once if that is so."""
        with self._lock:
            first = self._first
        first.add_done_callback(lambda _: callback())

    def wait(self, timeout: float | None = None, *, until_usable: bool = False) -> R:
        """Block until it has ended. An interrupt does not cancel the generation.

        Raises:
            TimeoutError: it has not ended after `timeout` seconds.
        """
        future, there = (self._first, self.usable) if until_usable else (self._future, self._resolution)
        if there is not None and background.is_current():
            return there
        found = background.wait(future, timeout, Wait(self._awaited()))
        return (self.usable or found) if until_usable else found

    async def settled(self, *, until_usable: bool = False) -> R:
        """Wait as `wait` does. Cancelling the waiter does not cancel the generation."""
        future = self._first if until_usable else self._future
        if not future.done() and not self.done and (awaited := self._awaited()) is not None:
            report_progress(awaited)
        with background.interruptible():
            found = await background.outcome(future)
        return (self.usable or found) if until_usable else found


def _future() -> concurrent.futures.Future[Any]:
    """A future that no waiter can cancel for the others: it counts as running."""
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()
    return future


# The fields of a result: those of the report, with the names of Flyte's result


class ReportFields:
    """Properties that read a report. On a pending result each of them waits; an interrupt does not cancel the job."""

    __slots__ = ()

    @property
    def report(self) -> Report:
        """The complete report, as one record of plain data."""
        raise NotImplementedError

    @property
    def success(self) -> bool:
        """Whether there is a function with all required evidence. Of a record only evidence counts that was gathered
        here; see `state`.
        """
        return self.report.success

    @property
    def solution(self) -> CodeSolution | None:
        """The generated module; after a failure that of the best attempt, if there was one."""
        return self.report.solution

    @property
    def code(self) -> str:
        """The source of the generated module; "" if there is none."""
        return self.report.solution.code if self.report.solution else ""

    @property
    def tests(self) -> str:
        """The source of its tests."""
        return self.report.tests

    @property
    def blind_tests(self) -> str:
        """The source of the blind tests, whose writer saw neither code nor tests (`backend="claude"`); "" for none."""
        return self.report.blind_tests

    @property
    def plan(self) -> CodePlan | None:
        """The interface, the approach and the assumptions."""
        return self.report.plan

    @property
    def output(self) -> str:
        """The test runner's last report."""
        return self.report.output

    @property
    def exit_code(self) -> int:
        """The test runner's last exit code; -1 if no test ran. It proves nothing: see `evidence`."""
        return self.report.exit_code

    @property
    def error(self) -> str | None:
        """Why there is no function that passed; None on success."""
        return self.report.error

    @property
    def attempts(self) -> int:
        """The number of attempts."""
        return self.report.attempts

    @property
    def history(self) -> tuple[Attempt, ...]:
        """All attempts: code, tests, outcomes, diagnosis."""
        return self.report.history

    @property
    def evidence(self) -> Evidence:
        """The evidence for `success`: tests, checks, vacuity, changed tests."""
        return self.report.evidence

    @property
    def trace(self) -> Trace | None:
        """The tool calls of the agent that wrote the function (`backend="claude"`); None for the staged loop."""
        return self.report.trace

    @property
    def image(self) -> str | None:
        """The image in which it was tested; `local:<key>` for an environment of the local sandbox."""
        return self.report.image

    @property
    def detected_packages(self) -> tuple[str, ...]:
        """Distributions that the code needs."""
        return self.report.detected_packages

    @property
    def detected_system_packages(self) -> tuple[str, ...]:
        """Debian packages (apt) that the code needs."""
        return self.report.detected_system_packages

    @property
    def declared_inputs(self) -> tuple[InputSpec, ...]:
        """The function's arguments, in order."""
        return self.report.declared_inputs

    @property
    def declared_outputs(self) -> tuple[OutputSpec, ...]:
        """The function's outputs, in order."""
        return self.report.declared_outputs

    @property
    def data_context(self) -> str | None:
        """The text about the data that was sent to the model."""
        return self.report.data_context

    @property
    def generated_schemas(self) -> Mapping[str, str] | None:
        """A pandera schema for each sample, as Python code. It is generated on access; `schemas` has the objects."""
        return sources_of(self.report)

    @property
    def schemas(self) -> Mapping[str, Any]:
        """A pandera `DataFrameSchema` (for a Series a `SeriesSchema`) for each sample.

        It checks the dtypes of the sample, the columns without missing values, and the constraints that the sample
        satisfies. `schema.metadata["autocode"]` names the constraints that are not in it. It is also available for a
        recorded result. Results of older versions of this package have only `generated_schemas`.

        Raises:
            InvalidRequest: pandera is missing, or the record cannot be read.
        """
        return schemas_of(self.report)

    @property
    def usage(self) -> Usage:
        """Tokens and cost of all exchanges."""
        return self.report.usage

    @property
    def cost(self) -> float | None:
        """The cost in US dollars; None if the price of the model is unknown."""
        return self.report.usage.cost

    @property
    def total_input_tokens(self) -> int:
        """The number of input tokens of all exchanges."""
        return self.report.total_input_tokens

    @property
    def total_output_tokens(self) -> int:
        """The number of output tokens of all exchanges."""
        return self.report.total_output_tokens

    @property
    def conversation_history(self) -> list[dict[str, Any]]:
        """All messages to and from the model, in order: `role`, `content` and `stage`, and for answers the tokens."""
        return [message for exchange in self.report.conversation_history for message in _messages(exchange)]


def _messages(exchange: Exchange) -> list[dict[str, Any]]:
    asked = [{**message, "stage": exchange.stage} for message in exchange.messages]
    answer = {
        "role": "assistant",
        "content": exchange.answer,
        "stage": exchange.stage,
        "model": exchange.model,
        "input_tokens": exchange.usage.input_tokens,
        "output_tokens": exchange.usage.output_tokens,
        "replayed": exchange.replayed,
    }
    return [*asked, answer]


# The base of results: of generations, and of runs of code mode


class PendingResult(Generic[R]):
    """A result that is first pending. `state`, `done` and `on_done` never wait.

    Args:
        name: its name.
        pending: the pending outcome.
        root: the `.autocode` folder.
    """

    __slots__ = ("_pending", "_root", "name")

    def __init__(self, name: str, pending: Pending[R], root: Path) -> None:
        self.name = name
        self._pending = pending
        self._root = root

    @Live  # jedi, which completes `growth.` in notebooks, fails at a property that is a Literal
    def state(self) -> State:
        """`running`, `waiting for approval` or `answers`, `ready`, `failed`, `cancelled`, `over_budget` or
        `not_verified` (a recorded function whose evidence was not gathered here).
        """
        return self._pending.state

    @property
    def done(self) -> bool:
        """Whether the run has ended, with or without success. Never waits."""
        return self._pending.done

    @property
    def asks_for(self) -> str:
        """What it asks for if it has ended without a result: another `model`, its `price`, or whether a `name` in the
        data is another one now; "" for none of them. Never waits.
        """
        # Jedi cannot complete an object with a property that is annotated with a Literal.
        return self._pending.usable.asks_for if self._pending.usable is not None else ""

    @property
    def is_usable(self) -> bool:
        """Whether there is a result to use: that of the end, or a verified one whose second opinion still runs. Never
        waits.
        """
        return self._pending.usable is not None

    def on_done(self, callback: Callable[[], object]) -> None:
        """Call the callback once when the run ends, with or without success; at once if it has ended.

        Args:
            callback: called on the background thread, which continues only when it returns.
        """
        self._pending.on_done(callback)

    def on_usable(self, callback: Callable[[], object]) -> None:
        """Call the callback once when there is a result to use, or the run ends; at once if that is so.

        Args:
            callback: called on the background thread, which continues only when it returns.
        """
        self._pending.on_usable(callback)

    def wait(self, timeout: float | None = None) -> Self:
        """Wait for the end. An interrupt or a timeout does not cancel the run.

        Args:
            timeout: seconds; None waits without limit.

        Raises:
            TimeoutError: the run has not ended.
            AutocodeError: the exception of the run, for example `Cancelled`.
        """
        return self._settled(self._pending.wait(timeout))

    def __await__(self) -> Generator[Any, None, Self]:
        outcome = yield from self._pending.settled().__await__()
        return self._settled(outcome)

    def _settled(self, outcome: R) -> Self:
        if outcome.exception is not None:
            raise outcome.exception.with_traceback(None)  # it may be raised several times
        return self

    def cancel(self) -> None:
        """Cancel the run: stop the model's answer and kill the program. No effect if the run has ended."""
        self._pending.cancel("Cancelled.")

    @property
    def journal_root(self) -> Path:
        """The `.autocode` folder with the record of the run."""
        return self._root
