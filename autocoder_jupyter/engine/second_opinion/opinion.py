"""The second opinion in a generation: requested together with the plan, used when the function is verified."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TypeVar

from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.generation_setup import GenerationSetup
from autocoder_jupyter.engine.generation_state import GenerationState
from autocoder_jupyter.engine.second_opinion.counterexample import PREFIX, as_test, is_complete, reachable
from autocoder_jupyter.engine.second_opinion.derivation import MOST_ASKED, Derivation, confirmed, derive
from autocoder_jupyter.engine.second_opinion.findings import Findings
from autocoder_jupyter.engine.second_opinion.naming import differing, name_readings
from autocoder_jupyter.engine.second_opinion.trial import OpenPlace, OpinionTrial, SmallInput
from autocoder_jupyter.engine.second_opinion.variations import is_outside
from autocoder_jupyter.engine.second_opinion.writer import SecondSolution, write_second
from autocoder_jupyter.engine.tests import with_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.errors import AutocodeError, SandboxError
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Request
from autocoder_jupyter.run.events import OpinionGiven
from autocoder_jupyter.types import SecondOpinion, TestFailure

T = TypeVar("T")

PATIENCE = 60.0
"""The maximum seconds that a verified function waits for the second solution, and for each question about it."""

ROUNDS = 2
"""How often a derivation of a small input may lead to a fix of the code."""


class Adviser:
    """Gets the second opinion of one generation. It can fail a verdict and extend a report; its errors fail nothing.

    Args:
        setup: the setup of the generation.
        packages: provides the environment of the second solution.

    Attributes:
        opinion: the opinion, or a note why there is none; None before that is known, and if none is wanted.
    """

    def __init__(self, setup: GenerationSetup, packages: Packages) -> None:
        self._setup = setup
        self._packages = packages
        self.opinion: SecondOpinion | None = None
        self._wanted = False
        self._writing: asyncio.Task[SecondSolution] | None = None
        self._rounds = 0
        self._tests: tuple[str, ...] = ()

    def begin(self, context: str) -> None:
        """Start the request for the second solution, if one is wanted. Called with the question for the plan.

        If tokens or cost are limited, the function has priority: the second solution is requested after it, with the
        rest of the budget.

        Args:
            context: the text about the data and the environment.
        """
        setup = self._setup
        if setup.config.second_opinion == "off":
            return
        inputs, samples = setup.prepared.inputs, setup.request.samples
        if lacking := [spec.name for spec in inputs if spec.required and spec.name not in samples]:
            self._without(f"Two solutions are compared on the data, and {lacking[0]} has no sample.")
            return
        self._wanted = True
        setup.stages.started("second")
        if setup.budget.tokens is None and setup.budget.cost is None:
            self._ask(setup.request, context)

    def _ask(self, request: Request, context: str) -> asyncio.Task[SecondSolution]:
        setup = self._setup
        if self._writing is None:
            writing = write_second(setup.second_talk, request, setup.prepared.inputs, context)
            self._writing = asyncio.create_task(writing)
        return self._writing

    def stop(self) -> None:
        """Cancel the request. If there is no opinion yet, a note says so."""
        if self._writing is not None:
            self._writing.cancel()
        if self._wanted and self.opinion is None:
            self._without("The run ended before the comparison.")
            self._setup.stages.finished("second", False)

    async def weigh(self, state: GenerationState, verdict: Verdict) -> Verdict:
        """Compare a verified function with the second solution.

        Returns:
            The verdict; or a failed one, if an independent derivation shows that the code is wrong. Then the tests
            contain the input that shows it.
        """
        if not self._wanted:
            return verdict
        stages = self._setup.stages
        stages.started("second")
        fault = await self._weighed(state, verdict)
        replayed = all(exchange.replayed for exchange in self._setup.second_talk.exchanges)
        stages.finished("second", True, replayed=replayed)
        return verdict if fault is None else replace(verdict, failures=(*verdict.failures, fault))

    async def _weighed(self, state: GenerationState, verdict: Verdict) -> TestFailure | None:
        """The failure of the code, if the second opinion found one."""
        setup, brief = self._setup, state.brief
        writing = self._ask(brief.request, brief.context)
        done, _ = await asyncio.wait({writing}, timeout=PATIENCE)
        if not done:
            self._without("The second solution did not come in time.")
            return None
        try:
            second = writing.result()
        except AutocodeError as error:
            self._without(f"No second solution was written. {error.what}")
            return None
        try:
            environment = await self._packages.beside(second.code)
        except SandboxError as error:
            self._without(f"The second solution cannot run. {error.what}")
            return None
        values = verdict.sample.values if verdict.sample else {}
        samples, redaction = brief.request.samples, state.redaction
        trial = OpinionTrial(setup.session, state.program(), second, samples, values, redaction, environment)
        outcome = await trial.run()
        found = Findings(outcome, brief.plan.outputs, state.redaction)
        opinion = SecondOpinion(
            code=second.code,
            model=setup.config.second_model or setup.config.model,
            compared=found.compared,
            tried=found.tried,
            not_compared=found.not_compared,
            tests=self._tests,
        )
        if outcome.failed:
            note = f"Nothing was compared: {found.failed}."
            self._conclude(opinion.model_copy(update={"note": note}))
            return None
        differences = found.differences
        same = "agree" if len(found.compared) == len(found.outputs) else "not compared"
        differs = any(not is_outside(difference.on) for difference in differences)
        opinion = opinion.model_copy(update={"state": "differ" if differs else same, "differences": differences})
        if outcome.smallest is None:
            self._conclude(opinion)
            return None
        small = SmallInput.of(outcome.smallest, trial.given)
        told = small if small is not None and self._may_be_told(small) else None
        places = (await trial.run_once(told))[:MOST_ASKED] if told else []
        if told is None or not places:
            withheld = tuple(dict.fromkeys(map(found.declared, outcome.smallest.places[:MOST_ASKED])))
            readings = await self._optional(name_readings(setup.second_talk, brief, second.readings, "", withheld))
            self._conclude(opinion.model_copy(update={"readings": readings or ()}))
            return None
        return await self._explained(state, opinion, told, places, second)

    async def _explained(
        self,
        state: GenerationState,
        opinion: SecondOpinion,
        small: SmallInput,
        places: Sequence[OpenPlace],
        second: SecondSolution,
    ) -> TestFailure | None:
        """Find out why they differ: another reading of the request, or an error in the code."""
        brief = state.brief
        asked = reachable(places, brief.plan.outputs) if is_complete(small, brief.plan) else []
        differs = [state.redaction.masked(differing(place)) for place in places]
        naming = name_readings(self._setup.second_talk, brief, second.readings, small.source, differs)
        derivation, readings = await asyncio.gather(self._derived(brief, small.source, asked), self._optional(naming))
        confirms = confirmed(derivation, asked) if derivation else ""
        opinion = opinion.model_copy(
            update={
                "smallest": small.source,
                "derivation": derivation.derivation if derivation else "",
                "confirms": confirms,
                "readings": readings or (),
            }
        )
        if confirms != "second" or derivation is None or state.suite is None:
            self._conclude(opinion)
            return None
        name = f"{PREFIX}{len(self._tests) + 1}"
        written = as_test(len(self._tests) + 1, small, brief.plan, asked, derivation)
        self._tests = (*self._tests, name)
        state.set_suite(with_tests(state.suite, written))
        self._conclude(opinion.model_copy(update={"tests": self._tests}))
        return _fault(name, small, asked, derivation)

    async def _derived(self, brief: Brief, source: str, places: Sequence[OpenPlace]) -> Derivation | None:
        if not places or self._rounds >= ROUNDS:
            return None
        self._rounds += 1
        return await self._optional(derive(self._setup.second_talk, brief, source, places))

    async def _optional(self, answer: Awaitable[T]) -> T | None:
        """An answer; None if there is an error or a timeout."""
        try:
            return await asyncio.wait_for(answer, PATIENCE)
        except (AutocodeError, TimeoutError):
            return None

    def _may_be_told(self, small: SmallInput) -> bool:
        """Whether the model may see the input: made-up values always, values of the data only if rows are shared.

        The input has all columns, so the answer is no if a column is hidden, or if a name of a column is private.
        """
        config = self._setup.config
        if config.hide or Masker().mask(small.source) != small.source:
            return False
        return small.is_made_up or (self._setup.share_of_runs == "rows" and config.max_sample_rows > 0)

    def _without(self, note: str) -> None:
        self._conclude(SecondOpinion(note=note, tests=self._tests))

    def _conclude(self, opinion: SecondOpinion) -> None:
        self.opinion = opinion.model_copy(update={"usage": self._setup.second_talk.spent})
        self._setup.emit(OpinionGiven(self.opinion))


def _fault(name: str, small: SmallInput, places: Sequence[OpenPlace], derivation: Derivation) -> TestFailure:
    """The error in the code, for the stage that fixes it."""
    expected = "; ".join(f"{entry.place} is {entry.values}" for entry in derivation.values)
    actual = "; ".join(f"{place.where} is {list(place.ones) or place.first}" for place in places)
    return TestFailure(
        test_name=name,
        error_message=f"On a small input ({name}) the function departs from: {derivation.sentence}",
        expected_behavior=f"For\n{small.source}\nwhat must come out: {expected}",
        actual_behavior=actual,
        root_cause=derivation.derivation,
        suggested_fix="Find where the function departs from the derivation, and mend it there.",
        error_type="logic",
    )
