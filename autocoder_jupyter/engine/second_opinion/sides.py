"""The function and the second solution, each in a worker of its own.

Neither can find the other one, nor the comparison, which is made in the notebook. A call of the trial is the same call
as that of a user.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any

from autocoder_jupyter.concurrency.threads import start_thread
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES
from autocoder_jupyter.errors import SandboxError, SolutionError, was_killed
from autocoder_jupyter.sandbox.protocol import CallSpec, Program, Worker

LONGEST = 200
"""Characters of an error."""


TIME_IS_UP = "the time was up"

MOST_CELLS = 100_000
"""The maximum number of values in an answer that is kept."""


class TrialEnded(Exception):
    """Nothing more can be run: the time is up, or a worker is gone. Its text says which."""


@dataclass(frozen=True)
class Answer:
    """The outputs of a solution by name, or the error that it raised."""

    values: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


class KnownAnswers:
    """The answers of one program to inputs on which several layers of evidence run it, so that each is computed once.

    Inputs are told apart by the identity of their values: those of one `VariedSample` stay the same.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Mapping[str, Any], Future[Answer]]] = {}  # with the inputs, so that ids stay
        self._lock = threading.Lock()

    def of(self, inputs: Mapping[str, Any], reuse: bool, deadline: float, answer: Callable[[], Answer]) -> Answer:
        """The answer that is known, or the one that another thread is about to get, or a new one.

        Args:
            inputs: by name.
            reuse: see `Side.on`. An answer from a process that had calls before is not one from a new process.
            deadline: on the monotonic clock, for another thread to get it.
            answer: gets a new one. Its errors are not kept, and neither is a large answer.

        Raises:
            TrialEnded: another thread did not get it in time. And what `answer` raises.
        """
        key = (reuse, *sorted((name, id(value)) for name, value in inputs.items()))
        while True:
            with self._lock:
                _, known = self._known.get(key, (None, None))
                mine = Future[Answer]()
                if known is None:
                    self._known[key] = inputs, mine
            if known is None:
                try:
                    found = answer()
                except BaseException as error:
                    del self._known[key]
                    mine.set_exception(error)
                    raise
                if sum(map(_cells, found.values.values())) > MOST_CELLS:
                    del self._known[key]
                mine.set_result(found)
                return found
            if not wait([known], deadline - time.monotonic()).done:
                raise TrialEnded(TIME_IS_UP)
            if known.exception() is None:
                return known.result()


@dataclass(frozen=True)
class Side:
    """One of the two solutions, in its worker.

    Args:
        label: how it is called in a message.
        worker: where it runs.
        program: its source and its interface.
        known: its answers that may be needed again.
    """

    label: str
    worker: Worker
    program: Program
    known: KnownAnswers = field(default_factory=KnownAnswers, compare=False)

    def on(
        self, inputs: Mapping[str, Any], deadline: float, *, reuse: bool = False, seed: int = 0, kept: bool = False
    ) -> Answer:
        """Its answer for these inputs.

        Args:
            inputs: by name.
            deadline: on the monotonic clock.
            reuse: run in the process of the last such call. This is faster, but the code could notice it.
            seed: of its random numbers.
            kept: the answer may be needed again: take a known one, or keep the new one.

        Raises:
            TrialEnded: it did not answer in time, or its worker is gone.
            SandboxError: the sandbox was lost for a reason outside of the program.
        """
        if kept:
            return self.known.of(inputs, reuse, deadline, lambda: self.on(inputs, deadline, reuse=reuse, seed=seed))
        left = deadline - time.monotonic()
        if left <= 0:
            raise TrialEnded(TIME_IS_UP)
        try:
            return Answer(self.worker.call(self.program, inputs, CallSpec(seed=seed, seconds=left, reuse=reuse)).values)
        except SolutionError as error:
            message = error.what.removeprefix(f"The function raised {error.exception_type}: ")
            return Answer(error=f"{error.exception_type}: {message}"[:LONGEST])
        except PROGRAM_FAILURES as error:
            if was_killed(error):
                raise
            if not self.worker.alive:
                raise TrialEnded(f"{self.label} was stopped ({_told(error)})") from error
            return Answer(error=_told(error))


def answers_of_both(
    first: Side,
    second: Side,
    inputs: Mapping[str, Any],
    deadline: float,
    *,
    reuse: bool = False,
    kept: bool = False,
) -> tuple[Answer, Answer]:
    """The answers of two sides, which compute them at the same time.

    Args:
        first: one side.
        second: the other one, in another worker.
        inputs: see `Side.on`, as for the others.
        deadline: on the monotonic clock.
        reuse: run in the processes of the last such calls.
        kept: the answers may be needed again.

    Raises:
        TrialEnded, SandboxError: see `Side.on`. Then neither side is at work any more.
    """
    ours: Future[Answer] = Future()

    def answer() -> None:
        try:
            ours.set_result(first.on(inputs, deadline, reuse=reuse, kept=kept))
        except BaseException as error:
            ours.set_exception(error)

    start_thread(answer, "autocode-side")
    try:
        theirs = second.on(inputs, deadline, reuse=reuse, kept=kept)
    finally:
        wait([ours])
    return ours.result(), theirs


def _cells(value: Any) -> int:
    """About how many values an output has."""
    return int(value.size) if hasattr(value, "size") else len(value) if hasattr(value, "__len__") else 1


def _told(error: SandboxError) -> str:
    return f"{type(error).__name__}: {error.what.rstrip('.')} {error.why}".rstrip()[:LONGEST]
