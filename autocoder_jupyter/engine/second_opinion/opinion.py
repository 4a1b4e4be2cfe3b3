"""The second opinion in the course of a generation: asked for beside the plan, heard when the function is verified."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TypeVar

from autocoder_jupyter.engine.events import OpinionGiven, StageFinished, StageStarted
from autocoder_jupyter.engine.second_opinion.counterexample import PREFIX, as_test, can_be_written, reachable
from autocoder_jupyter.engine.second_opinion.derivation import MOST_ASKED, Derivation, confirmed, derive
from autocoder_jupyter.engine.second_opinion.findings import Findings
from autocoder_jupyter.engine.second_opinion.naming import name_readings
from autocoder_jupyter.engine.second_opinion.trial import OpenPlace, Smallest, TrialOutcome, try_both
from autocoder_jupyter.engine.second_opinion.writer import SecondSolution, write_second
from autocoder_jupyter.engine.tests import with_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.work import Work
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.types import SecondOpinion, TestFailure

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds that a verified function waits for the second solution, and for each question about it, at most."""

ROUNDS = 2
"""How often a small input is derived, and the code mended by it."""


class Adviser:
    """Seeks the second opinion of one generation. It can make a verdict worse and a report richer, and fails nothing.

    Args:
        work: the generation.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._wanted = False
        self._writing: asyncio.Task[SecondSolution] | None = None
        self._rounds = 0
        self._tests: tuple[str, ...] = ()

    def begin(self) -> None:
        """Ask for the second solution, if it is wanted. Comes with the question for a plan: what is kept has its own.

        Where tokens or money are limited the function comes first: then it is asked for with what is left of them.
        """
        work = self._work
        if work.config.second_opinion == "off":
            return
        inputs, samples = work.prepared.inputs, work.request.samples
        if lacking := [spec.name for spec in inputs if spec.required and spec.name not in samples]:
            self._without(f"Two solutions are compared on the data, and {lacking[0]} has no sample.")
            return
        self._wanted = True
        self._started()
        if work.budget.tokens is None and work.budget.cost is None:
            self._ask()

    def _ask(self) -> asyncio.Task[SecondSolution]:
        work = self._work
        if self._writing is None:
            self._writing = asyncio.create_task(
                write_second(work.second_talk, work.request, work.prepared.inputs, work.context)
            )
        return self._writing

    def stop(self) -> None:
        """Ask no further. What was not heard by now is said not to have been."""
        if self._writing is not None:
            self._writing.cancel()
        if self._wanted and self._work.second_opinion is None:
            self._without("The run ended before it was heard.")
            self._work.emit(StageFinished("second", self._work.attempt, False))

    async def weigh(self, verdict: Verdict) -> Verdict:
        """Hear the opinion on a function that is verified.

        Returns:
            The verdict; or one that fails, when an independent derivation says that the code is wrong. Then the tests
            hold the input that shows it.
        """
        if not self._wanted:
            return verdict
        self._started()
        fault = await self._weighed()
        replayed = all(exchange.replayed for exchange in self._work.second_talk.exchanges)
        self._work.emit(StageFinished("second", self._work.attempt, True, replayed=replayed))
        return verdict if fault is None else replace(verdict, failures=(*verdict.failures, fault))

    def _started(self) -> None:
        """It goes on beside the plan, and again when the function is there."""
        self._work.emit(StageStarted("second", self._work.attempt, self._work.attempts_allowed))

    async def _weighed(self) -> TestFailure | None:
        """The fault of the code, if the second opinion found one."""
        writing = self._ask()
        done, _ = await asyncio.wait({writing}, timeout=PATIENCE)
        if not done:
            self._without("The second solution did not come in time.")
            return None
        try:
            second = writing.result()
        except AutocodeError as error:
            self._without(f"No second solution was written. {error.what}")
            return None
        work = self._work
        outcome = await try_both(work.session, work.program(), second, work.request.samples)
        found = Findings(outcome, work.plan.outputs, work.redaction.shows_values)
        opinion = SecondOpinion(
            code=second.code,
            model=work.config.second_model or work.config.model,
            tried=found.tried,
            not_compared=found.not_compared,
            tests=self._tests,
        )
        if outcome.failed:
            note = f"Nothing was compared: {found.failed}."
            self._conclude(opinion.model_copy(update={"note": note}))
            return None
        differences = found.differences
        state = "differ" if differences else "agree"
        opinion = opinion.model_copy(update={"state": state, "differences": differences})
        if outcome.smallest is None:
            self._conclude(opinion)
            return None
        return await self._explained(opinion, outcome, outcome.smallest, second)

    async def _explained(
        self, opinion: SecondOpinion, outcome: TrialOutcome, smallest: Smallest, second: SecondSolution
    ) -> TestFailure | None:
        """Why they differ: another reading, or a fault."""
        work = self._work
        source = smallest.source if self._may_be_told(smallest) else ""
        places = smallest.differences[:MOST_ASKED]
        asked = reachable(places, work.plan.outputs) if source and can_be_written(smallest, work.plan) else []
        derivation, readings = await asyncio.gather(
            self._derived(source, asked),
            self._optional(
                name_readings(work.second_talk, work.request, work.plan, work.context, second.readings, source, places)
            ),
        )
        confirms = confirmed(derivation, asked) if derivation else ""
        opinion = opinion.model_copy(
            update={
                "smallest": source,
                "derivation": derivation.derivation if derivation else "",
                "confirms": confirms,
                "readings": readings or (),
            }
        )
        if confirms != "second" or derivation is None or work.suite is None:
            self._conclude(opinion)
            return None
        name = f"{PREFIX}{len(self._tests) + 1}"
        written = as_test(len(self._tests) + 1, smallest, work.plan, asked, derivation)
        self._tests = (*self._tests, name)
        work.set_suite(with_tests(work.suite, written))
        self._conclude(opinion.model_copy(update={"tests": self._tests}))
        return _fault(name, smallest, asked, derivation)

    async def _derived(self, source: str, places: Sequence[OpenPlace]) -> Derivation | None:
        if not source or not places or self._rounds >= ROUNDS:
            return None
        self._rounds += 1
        work = self._work
        return await self._optional(derive(work.second_talk, work.request, work.plan, work.context, source, places))

    async def _optional(self, answer: Awaitable[T]) -> T | None:
        """An answer that is done without when it does not come, or not in time."""
        try:
            return await asyncio.wait_for(answer, PATIENCE)
        except (AutocodeError, TimeoutError):
            return None

    def _may_be_told(self, smallest: Smallest) -> bool:
        """Whether the model may see the input: made-up values always, those of the data as far as rows are shared.

        All columns are in it, so not where one is to be hidden.
        """
        config = self._work.config
        if config.hide or not smallest.own_values:
            return not config.hide
        shared = self._work.share_of_runs == "rows" and config.max_sample_rows > 0
        return shared and Masker().mask(smallest.source) == smallest.source

    def _without(self, note: str) -> None:
        self._conclude(SecondOpinion(note=note, tests=self._tests))

    def _conclude(self, opinion: SecondOpinion) -> None:
        work = self._work
        work.second_opinion = opinion.model_copy(update={"usage": work.second_talk.spent})
        work.emit(OpinionGiven(work.second_opinion))


def _fault(name: str, smallest: Smallest, places: Sequence[OpenPlace], derivation: Derivation) -> TestFailure:
    """What the code does wrong, for whoever mends it."""
    expected = "; ".join(f"{entry.place} is {entry.values}" for entry in derivation.values)
    actual = "; ".join(f"{place.where} is {list(place.ones) or place.first}" for place in places)
    return TestFailure(
        test_name=name,
        error_message=f"On a small input ({name}) the function departs from: {derivation.sentence}",
        expected_behavior=f"For\n{smallest.source}\nwhat must come out: {expected}",
        actual_behavior=actual,
        root_cause=derivation.derivation,
        suggested_fix="Find where the function departs from the derivation, and mend it there.",
        error_type="logic",
    )
