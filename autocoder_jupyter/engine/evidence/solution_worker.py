"""The sides of a comparison: the function and the second solution, each in its own worker.

Neither can find the other one, nor the comparison, which is made in the notebook. A call is the same as that of a user.
Many on other inputs share a process; a difference or an error there is checked again in a new one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES
from autocoder_jupyter.errors import AutocodeError, SandboxError, SandboxTimeout, SolutionError, was_killed
from autocoder_jupyter.sandbox.host.packing import pack_arguments
from autocoder_jupyter.sandbox.protocol import CallOutcome, CallSpec, Program, Worker
from autocoder_jupyter.types.evidence import TIME_IS_UP

T = TypeVar("T")

LONGEST = 200
"""Characters of an error."""

AT_ONCE = 40
"""The maximum number of inputs in one process of `SolutionWorker.get_ready`. If it ends, its answers are kept."""

MOST_CELLS = 100_000
"""The maximum number of values in an answer that is kept."""


Inputs = Mapping[str, Any]
"""Values by the names of the inputs."""


class SolutionStopped(Exception):
    """A side runs nothing more: the time is up, or its worker is gone. The text says which."""


@dataclass(frozen=True)
class Answer:
    """The outputs of a solution by name, or the error that it raised."""

    values: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True)
class Claim:
    """An input whose answer somebody is about to get."""

    inputs: Mapping[str, Any]
    forget: Callable[[], object]
    answer: Future[Answer] = field(default_factory=Future)

    def keep(self, found: Answer) -> None:
        """Set the answer. A large one is only given to those who wait for it now."""
        if sum(map(_cells, found.values.values())) > MOST_CELLS:
            self.forget()
        self.answer.set_result(found)

    def give_up(self, error: BaseException) -> None:
        """Let the others get it themselves."""
        self.forget()
        self.answer.set_exception(error)


class KnownAnswers:
    """The answers of one program to inputs on which several layers of evidence run it, so that each is computed once.

    Inputs are distinguished by the identity of their values: those of one `VariedSample` stay the same.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Mapping[str, Any], Future[Answer]]] = {}  # with the inputs, so that ids stay
        self._lock = threading.Lock()

    def of(self, inputs: Mapping[str, Any], reuse: bool, limit: TimeLimit, answer: Callable[[], Answer]) -> Answer:
        """The answer that is known, or the one that another thread is about to get, or a new one."""
        while True:
            known, mine = self._claimed(_key(inputs, reuse), inputs)
            if mine is not None:
                try:
                    found = answer()
                except BaseException as error:
                    mine.give_up(error)
                    raise
                mine.keep(found)
                return found
            if not wait([known], limit.clock_left).done:
                raise SolutionStopped(TIME_IS_UP)
            if known.exception() is None:
                return known.result()

    def claimed(self, many: Iterable[Mapping[str, Any]]) -> tuple[list[Claim], list[tuple[Inputs, Future[Answer]]]]:
        """Those inputs of a used process whose answers are neither known nor about to be; and all others."""
        claims, others = list[Claim](), list[tuple[Inputs, Future[Answer]]]()
        for inputs in many:
            answer, mine = self._claimed(_key(inputs, True), inputs)
            if mine is None:
                others.append((inputs, answer))
            else:
                claims.append(mine)
        return claims, others

    def _claimed(self, key: Hashable, inputs: Mapping[str, Any]) -> tuple[Future[Answer], Claim | None]:
        with self._lock:
            if key in self._known:
                return self._known[key][1], None
            mine = Claim(inputs, lambda: self._known.pop(key, None))
            self._known[key] = inputs, mine.answer
            return mine.answer, mine


@dataclass(frozen=True)
class SolutionWorker:
    """One of the two solutions, in its worker.

    Args:
        label: how it is called in a message.
        known: its answers that may be needed again.
    """

    label: str
    worker: Worker
    program: Program
    known: KnownAnswers = field(default_factory=KnownAnswers, compare=False)

    def on(
        self, inputs: Mapping[str, Any], limit: TimeLimit, *, reuse: bool = False, seed: int = 0, kept: bool = False
    ) -> Answer:
        """Its answer for these inputs.

        Raises:
            SolutionStopped: it did not answer in time, or its worker is gone.
            SandboxError: the sandbox was lost for a reason outside of the program.
        """
        if kept:
            return self.known.of(inputs, reuse, limit, lambda: self.on(inputs, limit, reuse=reuse, seed=seed))
        if limit.is_over and self.worker.alive:  # a call of a worker that is gone says why it was stopped
            raise SolutionStopped(TIME_IS_UP)
        spec = CallSpec(seed=seed, seconds=limit.clock_left, processor_seconds=limit.seconds_left, reuse=reuse)
        try:
            with limit.counting(self.worker):
                return _answer(self.worker.call(self.program, inputs, spec))
        except PROGRAM_FAILURES as error:
            if was_killed(error):
                raise
            if isinstance(error, SandboxTimeout) and limit.is_over:
                raise SolutionStopped(TIME_IS_UP) from error
            if not self.worker.alive:
                # Recorded where no value may be, so without what the program wrote last.
                raise SolutionStopped(f"{self.label} was stopped ({type(error).__name__})") from error
            return _answer(error)

    def running(self, program: Program, inputs: Mapping[str, Any], limit: TimeLimit) -> Answer:
        """The answer of another program in its place, in the process of the last call of this program; see `on`."""
        return replace(self, program=program).on(inputs, limit, reuse=True)

    def get_ready(self, many: Iterable[Mapping[str, Any]], limit: TimeLimit) -> None:
        """Get answers that will be asked for, with `reuse` and `kept`: many in one process, which takes less time.

        An answer that this does not get is still asked for by `on`, so its errors are raised there.
        """
        wanted = list(many)
        while wanted:
            claims, others = self.known.claimed(wanted)
            self._get(claims, limit)
            wait([answer for _, answer in others], limit.clock_left)
            # What somebody else has given up is got here.
            wanted = [inputs for inputs, answer in others if answer.done() and answer.exception() is not None]

    def _get(self, claims: list[Claim], limit: TimeLimit) -> None:
        try:
            while claims and not limit.is_over:
                clock, processor = limit.clock_left, limit.seconds_left
                with limit.counting(self.worker):
                    packed = [pack_arguments(self.program, claim.inputs) for claim in claims[:AT_ONCE]]
                    outcomes = self.worker.batch(
                        self.program, packed, clock, seed=0, partly=True, processor_seconds=processor
                    )
                for outcome in outcomes:
                    claims.pop(0).keep(_answer(outcome))
        except AutocodeError:
            return
        finally:
            for claim in claims:
                claim.give_up(SolutionStopped(TIME_IS_UP))


def answers_of_both(
    first: SolutionWorker,
    second: SolutionWorker,
    inputs: Mapping[str, Any],
    limit: TimeLimit,
    *,
    reuse: bool = False,
    kept: bool = False,
) -> tuple[Answer, Answer]:
    """The answers of two sides, which compute them at the same time."""
    return both(first, second, lambda side: side.on(inputs, limit, reuse=reuse, kept=kept))


def both(first: SolutionWorker, second: SolutionWorker, do: Callable[[SolutionWorker], T]) -> tuple[T, T]:
    """What is done with two sides, in other workers, at the same time. Then neither is at work any more."""
    ours: Future[T] = Future()

    def answer() -> None:
        try:
            ours.set_result(do(first))
        except BaseException as error:
            ours.set_exception(error)

    start_thread(answer, "autocode-side")
    try:
        theirs = do(second)
    finally:
        wait([ours])
    return ours.result(), theirs


def _key(inputs: Mapping[str, Any], reuse: bool) -> Hashable:
    return (reuse, *sorted((name, id(value)) for name, value in inputs.items()))


def _answer(outcome: CallOutcome | SandboxError) -> Answer:
    if isinstance(outcome, SolutionError):
        message = outcome.what.removeprefix(f"The function raised {outcome.exception_type}: ")
        return Answer(error=f"{outcome.exception_type}: {message}"[:LONGEST])
    return Answer(error=_error_text(outcome)) if isinstance(outcome, SandboxError) else Answer(outcome.values)


def _cells(value: Any) -> int:
    """About how many values an output has."""
    return int(value.size) if hasattr(value, "size") else len(value) if hasattr(value, "__len__") else 1


def _error_text(error: SandboxError) -> str:
    return f"{type(error).__name__}: {error.what.rstrip('.')} {error.why}".rstrip()[:LONGEST]
