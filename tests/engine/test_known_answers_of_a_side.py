"""Answers that several layers of evidence need are computed once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, cast

import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence.solution_worker import (
    MOST_CELLS,
    Answer,
    KnownAnswers,
    SolutionStopped,
    SolutionWorker,
)
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import VariedSample
from autocoder_jupyter.sandbox.protocol import CallOutcome, Program, Worker
from autocoder_jupyter.sandbox.worker.entries import Packed
from autocoder_jupyter.types import InputSpec, OutputSpec


def soon() -> TimeLimit:
    return TimeLimit(60)


class Asked:
    """Counts how often it is asked."""

    def __init__(self, value: Any = 1.0) -> None:
        self.count, self.value = 0, value

    def __call__(self) -> Answer:
        self.count += 1
        return Answer({"out": self.value})


def test_the_same_input_is_run_once_and_another_one_again() -> None:
    known, asked, table = KnownAnswers(), Asked(), pd.DataFrame({"n": [1]})
    answers = [known.of(inputs, False, soon(), asked) for inputs in ({"x": table}, {"x": table}, {"x": table.copy()})]
    assert asked.count == 2 and answers[0] is answers[1]


def test_an_answer_of_a_used_process_is_not_taken_for_one_of_a_new_process() -> None:
    known, asked, table = KnownAnswers(), Asked(), pd.DataFrame({"n": [1]})
    for reuse in (True, False, True):
        known.of({"x": table}, reuse, soon(), asked)
    assert asked.count == 2


def test_an_error_and_a_large_answer_are_not_kept() -> None:
    known, inputs = KnownAnswers(), {"x": pd.DataFrame({"n": [1]})}

    def fails() -> Answer:
        raise SolutionStopped("gone")

    with pytest.raises(SolutionStopped, match="gone"):
        known.of(inputs, False, soon(), fails)
    large = Asked(pd.Series(range(MOST_CELLS + 1)))
    for _ in range(2):
        known.of(inputs, False, soon(), large)
    assert large.count == 2


def test_a_second_thread_waits_for_the_first_one_and_gets_its_own_if_that_fails() -> None:
    known, inputs, asked = KnownAnswers(), {"x": pd.DataFrame({"n": [1]})}, Asked()
    begun, may_end, got = threading.Event(), threading.Event(), list[Answer]()

    def slow() -> Answer:
        begun.set()
        may_end.wait(60)
        raise SolutionStopped("gone")

    def first() -> None:
        with pytest.raises(SolutionStopped, match="gone"):
            known.of(inputs, False, soon(), slow)

    threads = [threading.Thread(target=first)]
    threads[0].start()
    assert begun.wait(60)
    with pytest.raises(SolutionStopped, match="time was up"):
        known.of(inputs, False, TimeLimit(0), asked)
    threads.append(threading.Thread(target=lambda: got.append(known.of(inputs, False, soon(), asked))))
    threads[1].start()
    may_end.set()
    for thread in threads:
        thread.join(60)
    assert asked.count == 1 and got[0].values == {"out": 1.0}


def test_what_is_made_from_a_sample_is_made_once() -> None:
    varied = VariedSample({"x": pd.DataFrame({"n": range(30)})}, 5)
    assert varied.variations and varied.variations is varied.variations
    assert len(varied.parts) == 5 and varied.parts is varied.parts
    assert varied.trimmed["x"] is varied.trimmed["x"] and varied.larger(100) is varied.larger(100)


class Batches:
    """A worker that answers many calls at once, and counts them."""

    alive, processor_seconds = True, 0.0

    def __init__(self) -> None:
        self.counts = list[int]()

    def batch(self, program: Program, calls: Sequence[Packed], seconds: float, **_: Any) -> list[CallOutcome]:
        self.counts.append(len(calls))
        return [CallOutcome({"out": 1.0}, {}, (), "", "", 0.0) for _ in calls]


def test_many_that_somebody_else_has_given_up_are_got_at_once_again() -> None:
    known, worker = KnownAnswers(), Batches()
    program = Program("", (InputSpec(name="x", type="DataFrame"),), (OutputSpec(name="out", type="float"),))
    side = SolutionWorker("f", cast(Worker, worker), program, known)
    many = [{"x": pd.DataFrame({"n": [number]})} for number in range(5)]
    claims, _ = known.claimed(many[1:])
    thread = threading.Thread(target=lambda: side.get_ready(many, soon()))
    thread.start()
    claims[0].keep(Answer({"out": 7.0}))
    for claim in claims[1:]:
        claim.give_up(SolutionStopped("gone"))
    thread.join(60)
    assert worker.counts == [1, 3]
    values = [side.on(inputs, soon(), reuse=True, kept=True).values["out"] for inputs in many]
    assert values == [1.0, 7.0, 1.0, 1.0, 1.0] and worker.counts == [1, 3]
