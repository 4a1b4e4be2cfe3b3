"""The function and the second solution, each in a worker of its own.

Neither can find the other one, nor the comparison, which is made in the notebook. A call of the trial is the same call
as that of a user.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
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


class TrialEnded(Exception):
    """Nothing more can be run: the time is up, or a worker is gone. Its text says which."""


@dataclass(frozen=True)
class Answer:
    """The outputs of a solution by name, or the error that it raised."""

    values: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True)
class Side:
    """One of the two solutions, in its worker.

    Args:
        label: how it is called in a message.
        worker: where it runs.
        program: its source and its interface.
    """

    label: str
    worker: Worker
    program: Program

    def on(self, inputs: Mapping[str, Any], deadline: float, *, reuse: bool = False, seed: int = 0) -> Answer:
        """Its answer for these inputs.

        Args:
            inputs: by name.
            deadline: on the monotonic clock.
            reuse: run in the process of the last such call. This is faster, but the code could notice it.
            seed: of its random numbers.

        Raises:
            TrialEnded: it did not answer in time, or its worker is gone.
            SandboxError: the sandbox was lost for a reason outside of the program.
        """
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
    first: Side, second: Side, inputs: Mapping[str, Any], deadline: float, *, reuse: bool = False
) -> tuple[Answer, Answer]:
    """The answers of two sides, which compute them at the same time.

    Args:
        first: one side.
        second: the other one, in another worker.
        inputs: see `Side.on`, as for the others.
        deadline: on the monotonic clock.
        reuse: run in the processes of the last such calls.

    Raises:
        TrialEnded, SandboxError: see `Side.on`. Then neither side is at work any more.
    """
    ours: Future[Answer] = Future()

    def answer() -> None:
        try:
            ours.set_result(first.on(inputs, deadline, reuse=reuse))
        except BaseException as error:
            ours.set_exception(error)

    start_thread(answer, "autocode-side")
    try:
        theirs = second.on(inputs, deadline, reuse=reuse)
    finally:
        wait([ours])
    return ours.result(), theirs


def _told(error: SandboxError) -> str:
    return f"{type(error).__name__}: {error.what.rstrip('.')} {error.why}".rstrip()[:LONGEST]
