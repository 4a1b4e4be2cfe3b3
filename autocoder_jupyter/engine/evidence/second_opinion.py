"""The second opinion in a generation: requested after the code and the tests, used when the function is verified."""

from __future__ import annotations

import asyncio
import builtins
import re
import time
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.evidence.added_tests import free_number, is_complete, objections
from autocoder_jupyter.engine.evidence.comparison import (
    FEW_ROWS,
    SIDE_BY_SIDE,
    SMALL_PART,
    ComparisonOutcome,
    FoundPlace,
    OpenPlace,
    SolutionComparison,
    TriedVariation,
    second_program,
)
from autocoder_jupyter.engine.evidence.derivation import (
    MOST_ASKED,
    PREFIX,
    Derivation,
    as_test,
    confirmed,
    derive,
    reachable,
)
from autocoder_jupyter.engine.evidence.readings import differing, name_other_choices, name_readings
from autocoder_jupyter.engine.evidence.second_writer import (
    ColumnNames,
    SecondSolution,
    ask_names,
    askable,
    read_second,
    write_second,
)
from autocoder_jupyter.engine.evidence.small_inputs import SmallInput, may_be_sent
from autocoder_jupyter.engine.evidence.variations import is_outside
from autocoder_jupyter.engine.generation import GenerationSetup, GenerationState
from autocoder_jupyter.engine.prompt import Brief
from autocoder_jupyter.engine.tests import TestSuite, with_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.errors import AutocodeError, SandboxError, UnusableAnswer, brief_error
from autocoder_jupyter.models.catalogue import shared_family
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.request import Request
from autocoder_jupyter.run.events import OpinionGiven
from autocoder_jupyter.types import STOPPED, Difference, OutputSpec, Reading, SecondOpinion, TestFailure
from autocoder_jupyter.types.evidence import BEYOND, MORE_TIME, THE_SAMPLE, TIME_IS_UP

# Findings that may be shown
#
# They are redacted, because the card is saved with the notebook.

_OWN_WORDS = frozenset({SIDE_BY_SIDE, "no output can be compared"})
_RAISES = re.compile(r"the second solution raises (?:an error|" + "|".join(dir(builtins)) + ")")

MOST_DIFFERENCES = 8
"""The maximum number of differences that are shown."""


@dataclass(frozen=True)
class Findings:
    """The findings of a comparison.

    Args:
        outputs: the outputs of the plan. Their names and those of their columns may always be shown.
        redaction: whether masked values may be shown, and what is masked.
    """

    outcome: ComparisonOutcome
    outputs: tuple[OutputSpec, ...]
    redaction: Redaction

    @property
    def failed(self) -> str:
        """Why nothing was compared. If values may not be shown, an error is named only by its type."""
        if self.redaction.shows_values:
            return self.redaction.masked(self.outcome.failed)
        raised = self.outcome.failed.partition(": ")[0]
        return raised if not raised or raised in _OWN_WORDS or _RAISES.fullmatch(raised) else SIDE_BY_SIDE

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The differences on the sample, single values first; then those on variations. Each place appears once.

        Those on variations outside of the data's profile are last; each beyond it has one.
        """
        found = sorted(self._all(), key=lambda found: (bool(found.on), is_outside(found.on), "." in found.where))
        return tuple(found)[:MOST_DIFFERENCES]

    @property
    def differs_on(self) -> tuple[str, ...]:
        """The inputs on which they differ: the sample, and variations of it."""
        on_sample = (THE_SAMPLE,) if self.outcome.sample else ()
        return (*on_sample, *(self._on(tried) for tried in self.outcome.tried if tried.differences))

    @property
    def tried(self) -> tuple[str, ...]:
        """The variations on which both were compared."""
        return tuple(self._on(tried) for tried in self.outcome.tried if not tried.failed)

    @property
    def not_compared(self) -> tuple[str, ...]:
        """Parts of the outputs that could not be compared, and variations on which a solution failed."""
        notes = [(note.where, note.why) for note in self.outcome.not_compared]
        shows = self.redaction.shows_values
        kept = [f"{where}: {why}" if shows else f"a part of {self.declared(where)}" for where, why in notes]
        failed = [f"the result {self._on(tried)}: {tried.failed}" for tried in self.outcome.tried if tried.failed]
        ended = self.outcome.ended if shows or self.outcome.ended == TIME_IS_UP else "a solution was stopped"
        rest = [f"further variations of the sample: {ended}"] if ended else []
        return tuple(dict.fromkeys(map(self.redaction.masked, [*kept, *failed, *rest])))

    @property
    def compared(self) -> tuple[str, ...]:
        """The outputs of which values were compared on the sample."""
        return tuple(spec.name for spec in self.outputs if spec.name in self.outcome.compared)

    def _all(self) -> Iterator[Difference]:
        seen = {place.where for place in self.outcome.sample}
        yield from (self._shown(place, "") for place in self.outcome.sample)
        for tried in self.outcome.tried:
            new = [place for place in tried.differences if place.where not in seen]
            is_beyond = tried.name.startswith(BEYOND)
            yield from (self._shown(place, self._on(tried)) for place in (new[:1] if is_beyond else new))
            seen.update(place.where for place in new if not is_beyond)

    def _shown(self, place: FoundPlace, on: str) -> Difference:
        mask = self.redaction.masked if self.redaction.shows_values else lambda text: ""
        return Difference(
            where=mask(place.where) or self.declared(place.where),
            first=mask(place.first),
            second=mask(place.second),
            at=mask(place.at),
            count=place.count,
            of=place.of,
            on=on,
        )

    def _on(self, tried: TriedVariation) -> str:
        """The text for a variation, without a column's name if that may not be shown."""
        if self.redaction.shows_values:
            return self.redaction.masked(tried.name)
        return tried.general or tried.name

    def declared(self, place: str) -> str:
        """A place without names that are not declared, such as the key of a dictionary."""
        outputs = {spec.name for spec in self.outputs}
        columns = {f"{spec.name}.{column.name}" for spec in self.outputs for column in spec.columns}
        output = place.partition(".")[0].partition("[")[0]
        return place if place in outputs | columns else output if output in outputs else "an output"


# The second opinion of a generation

T = TypeVar("T")

QUESTIONS = 0.95
"""The part of its seconds in which a question is answered. The rest is for a report without the answer."""

SOLUTION, DERIVATION, READING = "a second solution", "the correct output of a small input", "what is read otherwise"
NAMES = "which columns belong together"
"""What each question asks for; it is shown if the question has no answer."""

AGREE = "no result on this data; say which reading would make a difference on other data"
"""What the question for the readings says if all results agree."""

KEPT = "It was verified before, and is not changed."
"""Why a function that was only verified again stays."""

ROUNDS = 2
"""How often a derivation of a small input may lead to a fix of the code."""


@dataclass(frozen=True)
class _Difference:
    """A difference that was found, on a small input that the model may see."""

    comparison: SolutionComparison
    matched: ColumnNames
    small: SmallInput
    places: Sequence[OpenPlace]


class SecondOpinionStage:
    """Gets the second opinion of one generation. It can fail a verdict and extend a report; its errors fail nothing.

    Args:
        packages: provides the environment of the second solution.

    Attributes:
        opinion: the opinion, or a note why there is none; None before that is known, and if none is wanted.
        seconds: what the comparisons took, without the model.
        agreed: if both agree, their comparison, and for columns of the second one those of the function.
    """

    def __init__(self, setup: GenerationSetup, packages: GenerationPackages) -> None:
        self._setup = setup
        self._packages = packages
        self.opinion: SecondOpinion | None = None
        self.seconds = 0.0
        self.agreed: tuple[SolutionComparison, ColumnNames] | None = None
        self._wanted = False
        self._writing: asyncio.Task[SecondSolution] | None = None
        self._rounds = 0
        self._tests: tuple[str, ...] = ()
        self._before_doubt: SecondOpinion | None = None
        self._unanswered: dict[str, None] = {}
        self._until = 0.0
        self._was_cut: set[Literal["question", "comparison"]] = set()
        self._recorded: SecondOpinion | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether there will be an opinion."""
        return self._wanted

    @property
    def doubt(self) -> SecondOpinion | None:
        """The opinion that found an error in the function; None if there is none."""
        return self._before_doubt

    def begin(self, request: Request, context: str) -> None:
        """Start the request for the second solution, if one is wanted. Called when code and tests are asked for.

        If tokens or cost are limited, the function has priority: the second solution is requested after it, with the
        rest of the budget.
        """
        setup = self._setup
        if not setup.config.wants_second_opinion:
            return
        inputs, samples = setup.prepared.inputs, setup.request.samples
        if lacking := [spec.name for spec in inputs if spec.required and spec.name not in samples]:
            self._without(f"Two solutions are compared on the data, and {lacking[0]} has no sample.")
            return
        self._wanted = True
        setup.stages.started("second")
        if setup.budget.tokens is None and setup.budget.cost is None:
            self._ask(request, context)

    def resume(self, request: Request, recorded: SecondOpinion) -> None:
        """Compare again with the second solution of a recorded opinion, because the time was up. No model is asked for
        it.
        """
        self._setup.stages.started("second")
        self._wanted, self._tests, self._recorded = True, recorded.tests, recorded

        async def known() -> SecondSolution:
            return read_second(recorded.code, request.outputs, may_add=request.earlier is not None)

        self._writing = asyncio.create_task(known())

    def _ask(self, request: Request, context: str) -> asyncio.Task[SecondSolution]:
        setup = self._setup
        if self._writing is None:
            writing = write_second(setup.second_conversation, request, setup.prepared.inputs, context)
            self._writing = asyncio.create_task(writing)
        return self._writing

    async def written(self) -> SecondSolution | None:
        """The second solution, once it is written; None if it is not asked for yet, or there is none."""
        if self._writing is None:
            return None
        await asyncio.wait({self._writing})
        writing = self._writing
        return None if writing.cancelled() or writing.exception() is not None else writing.result()

    def stop(self, why: str = "The run ended before the comparison.") -> None:
        """Cancel the request. If there is no opinion yet, a note says why."""
        if self._writing is not None:
            self._writing.cancel()
        if self._wanted and self.opinion is None:
            self._without(why)
            self._setup.stages.finished("second", False)

    async def compare(
        self, state: GenerationState, verdict: Verdict, seconds: float, *, may_doubt: bool = True
    ) -> Verdict:
        """Compare a verified function with the second solution."""
        if not self._wanted:
            return verdict
        stages = self._setup.stages
        stages.started("second")
        changed = set(verdict.tests_changed)
        present = (
            {test.rpartition("::")[2] for module in state.suite.modules for test in module.ids} if state.suite else ()
        )
        self._tests = tuple(test for test in self._tests if test in present and test not in changed)
        fault = None
        self._until = time.monotonic() + QUESTIONS * seconds
        self._was_cut.clear()
        try:
            async with asyncio.timeout(seconds):
                fault = await self._found_fault(state, verdict, may_doubt=may_doubt)
        except Exception as error:  # the function was verified; nothing that happens here may lose it
            what = f"The comparison failed. {brief_error(error)}"
            if self._writing is not None and not self._writing.done():
                what, self._unanswered[SOLUTION] = "The second solution did not come in time.", None
                self._was_cut.add("question")
                self._writing.cancel()
                await asyncio.wait({self._writing})  # what it cost is counted then
            elif isinstance(error, TimeoutError):
                what = "The comparison did not end in time."
                self._was_cut.add("comparison")
                written = await self.written()
                if written is not None and self._recorded is None:
                    self._conclude(SecondOpinion(note=what, tests=self._tests, code=written.code, cut=True))
                    what = ""
            if what:
                self._without(what)
        replayed = all(exchange.replayed for exchange in self._setup.second_conversation.exchanges)
        stages.finished("second", True, replayed=replayed)
        return verdict if fault is None else replace(verdict, failures=(*verdict.failures, fault))

    def restore(self) -> None:
        """Give the opinion on the function that was doubted, because no other one passed: the function stays."""
        if self._before_doubt is not None:
            why = "No change of the function passed this and all other tests."
            self._conclude(self._before_doubt.model_copy(update={"stays": why}))

    async def _found_fault(self, state: GenerationState, verdict: Verdict, *, may_doubt: bool) -> TestFailure | None:
        """The failure of the code, if the second opinion found one."""
        setup, brief = self._setup, state.brief
        self._before_doubt = self.agreed = None
        self._unanswered.clear()
        writing = self._ask(brief.request, brief.context)
        done, _ = await asyncio.wait({writing}, timeout=self._left)
        if not done:
            raise TimeoutError
        try:
            second = writing.result()
        except AutocodeError as error:
            self._unanswered[SOLUTION] = None
            if isinstance(error, UnusableAnswer):  # the same answer would be replayed
                setup.services.journal.reject(setup.second_conversation.exchanges[:])
            self._without(f"No second solution was written. {error.what}")
            return None
        try:
            environment = await self._packages.beside(second.code)
        except SandboxError as error:
            self._without(f"The second solution cannot run. {error.what}")
            return None
        values = verdict.sample.values if verdict.sample else {}
        samples, redaction = brief.request.samples, state.redaction
        program = state.program()
        known = state.known_answers(program), state.known_answers(second_program(program, second))
        comparison = SolutionComparison(
            setup.session,
            program,
            second,
            samples,
            values,
            state.varied,
            redaction,
            known,
            environment,
            more_time=MORE_TIME if self._recorded is not None else 1,
        )
        outcome = await self._timed(comparison.run(stops_if_unmatched=True))
        if outcome.unmatched:
            alone = askable(outcome.unmatched, brief, second.code)
            names = await self._optional(ask_names(setup.second_conversation, brief, alone), NAMES) if alone else None
            comparison = replace(comparison, names=names or {})
            outcome = await self._timed(comparison.run())
        found = Findings(outcome, brief.plan.outputs, state.redaction)
        opinion = SecondOpinion(
            code=second.code,
            model=setup.config.second_model or setup.config.model,
            family=shared_family(setup.config.model, setup.config.second_model or setup.config.model),
            misunderstandings=tuple(map(state.redaction.masked, second.misunderstandings)),
            differs_on=found.differs_on,
            compared=found.compared,
            tried=found.tried,
            parts=0 if any(one.name in (SMALL_PART, FEW_ROWS) for one in outcome.tried) else outcome.parts,
            not_compared=found.not_compared,
            tests=self._tests,
            cut=outcome.ended == TIME_IS_UP and self._recorded is None,
        )
        if outcome.failed:
            note = f"Nothing was compared: {found.failed}."
            self._conclude(opinion.model_copy(update={"note": note}))
            return None
        differences = found.differences
        same = "agree" if len(found.compared) == len(found.outputs) else "not compared"
        differs = any(not is_outside(difference.on) for difference in differences)
        opinion = opinion.model_copy(update={"state": "differ" if differs else same, "differences": differences})
        if opinion.state == "agree":
            self.agreed = comparison, outcome.matched
        if self._recorded is not None:
            self._complete(opinion, self._recorded)
            return None
        if outcome.smallest is None:
            readings = await self._read_otherwise(brief, second) if opinion.state == "agree" else None
            self._conclude(opinion.model_copy(update={"readings": readings or ()}))
            return None
        small = SmallInput.of(outcome.smallest.tables, comparison.given)
        sent = small if small is not None and may_be_sent(setup, small) else None
        places = (await self._timed(comparison.run_once(sent)))[:MOST_ASKED] if sent else []
        if sent is None or not places:
            withheld = tuple(dict.fromkeys(map(found.declared, outcome.smallest.places[:MOST_ASKED])))
            naming = name_readings(setup.second_conversation, brief, second.readings, "", withheld)
            readings = await self._optional(naming, READING)
            self._conclude(opinion.model_copy(update={"readings": readings or ()}))
            return None
        return await self._explained(
            state, opinion, _Difference(comparison, outcome.matched, sent, places), second, may_doubt=may_doubt
        )

    def _complete(self, opinion: SecondOpinion, recorded: SecondOpinion) -> None:
        """Give an opinion that completes a recorded one, with what a model has answered about that."""
        if opinion.state == "differ" and not recorded.readings:
            self._unanswered[READING] = None
        answered = {
            "model": recorded.model,
            "family": recorded.family,
            "smallest": recorded.smallest,
            "derivation": recorded.derivation,
            "confirms": recorded.confirms,
            "readings": recorded.readings,
            "stays": recorded.stays,
        }
        self._conclude(opinion.model_copy(update=answered))

    async def _read_otherwise(self, brief: Brief, second: SecondSolution) -> tuple[Reading, ...] | None:
        """What is read otherwise although the results agree, if the two name different choices."""
        if not name_other_choices((*brief.plan.assumptions, brief.plan.approach), second.readings):
            return None
        naming = name_readings(self._setup.second_conversation, brief, second.readings, "", [AGREE])
        return await self._optional(naming, READING)

    async def _explained(
        self,
        state: GenerationState,
        opinion: SecondOpinion,
        found: _Difference,
        second: SecondSolution,
        *,
        may_doubt: bool,
    ) -> TestFailure | None:
        """Find out why they differ: another reading of the request, or an error in the code."""
        brief, small, places = state.brief, found.small, found.places
        asked = reachable(places, brief.plan.outputs) if is_complete(small, brief.plan) else []
        differs = [state.redaction.masked(differing(place)) for place in places]
        naming = name_readings(self._setup.second_conversation, brief, second.readings, small.source, differs)
        derivation, readings = await asyncio.gather(
            self._derived(brief, small.source, asked), self._optional(naming, READING)
        )
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
        number = free_number(state.suite, PREFIX)
        name = f"{PREFIX}{number}"
        suite = with_tests(state.suite, as_test(number, small, brief.plan, asked, derivation))
        stays = await self._stays(state, found, suite, name, asked) if may_doubt else KEPT
        if stays:
            self._conclude(opinion.model_copy(update={"stays": stays}))
            return None
        self._tests = (*self._tests, name)
        self._before_doubt = opinion
        state.set_suite(suite)
        self._conclude(opinion.model_copy(update={"tests": self._tests}))
        return _fault(name, small, asked, derivation)

    async def _stays(
        self,
        state: GenerationState,
        found: _Difference,
        suite: TestSuite,
        name: str,
        asked: Sequence[OpenPlace],
    ) -> str:
        """Why the verified function stays as it is, although a derivation has the output of the second solution."""
        if against := await objections(self._setup.session, found.comparison, found.matched, suite, name):
            return state.redaction.masked(against)
        asking = derive(self._setup.second_conversation, state.brief, found.small.source, asked, again=True)
        again = await self._optional(asking, DERIVATION)
        if again is None:
            return "The derivation could not be asked again."
        return (
            "" if confirmed(again, asked) == "second" else "Asked again in other words, the derivation did not say so."
        )

    async def _derived(self, brief: Brief, source: str, places: Sequence[OpenPlace]) -> Derivation | None:
        if not places or self._rounds >= ROUNDS:
            return None
        self._rounds += 1
        return await self._optional(derive(self._setup.second_conversation, brief, source, places), DERIVATION)

    async def _timed(self, compared: Awaitable[T]) -> T:
        """What a comparison gives; its seconds are counted."""
        began = time.monotonic()
        try:
            return await compared
        finally:
            self.seconds += time.monotonic() - began

    async def _optional(self, answer: Awaitable[T], what: str) -> T | None:
        """An answer; None if there is an error or a timeout, which is noted as a question without an answer."""
        try:
            async with asyncio.timeout(self._left):
                return await answer
        except (AutocodeError, TimeoutError) as error:
            self._unanswered[what] = None
            if isinstance(error, TimeoutError):
                self._was_cut.add("question")
            if isinstance(error, UnusableAnswer):
                self._setup.services.journal.reject(self._setup.second_conversation.exchanges[-1:])
            return None

    def _without(self, note: str) -> None:
        self._conclude(SecondOpinion(note=note, tests=self._tests))

    @property
    def _left(self) -> float:
        """Seconds that a question may take."""
        return max(self._until - time.monotonic(), 0.0)

    def _cut(self) -> str:
        """What was cut, and what that cost; "" if nothing was."""
        if not self._was_cut:
            return ""
        after = f"It was cut after {self._setup.config.second_opinion_seconds:g} s (second_opinion_seconds)"
        if "question" not in self._was_cut:
            return f"{after}."
        stopped = [one.usage for one in self._setup.second_conversation.exchanges if one.finish_reason == STOPPED]
        tokens = sum(usage.input_tokens + usage.output_tokens for usage in stopped)
        cost = f"about {tokens:,} tokens of it are counted" if tokens else "how many tokens that took is unknown"
        return f"{after}; {cost}."

    def _conclude(self, opinion: SecondOpinion) -> None:
        note = " ".join(filter(None, (opinion.note, self._cut())))
        added = {"usage": self._setup.second_conversation.spent, "unanswered": tuple(self._unanswered), "note": note}
        self.opinion = opinion.model_copy(update=added)
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
