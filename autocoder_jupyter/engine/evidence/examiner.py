"""Examines a verified function without a second solution: what its tests catch, and what runs on other inputs show."""

from __future__ import annotations

import ast
import asyncio
import builtins
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pandas as pd

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.evidence.added_tests import is_complete, objections
from autocoder_jupyter.engine.evidence.code_numbers import largest_number
from autocoder_jupyter.engine.evidence.comparison import SMALL_PART, SolutionComparison
from autocoder_jupyter.engine.evidence.conditions import hidden_inputs
from autocoder_jupyter.engine.evidence.invariants import (
    TriedInvariant,
    doubt,
    is_broken_by,
    order_may_count,
    searched,
    try_invariants,
)
from autocoder_jupyter.engine.evidence.mutants import mutants
from autocoder_jupyter.engine.evidence.mutation import MutationRun, TriedMutant, ask_for_tests
from autocoder_jupyter.engine.evidence.pace import pace
from autocoder_jupyter.engine.evidence.properties import (
    Property,
    TriedProperty,
    added_as_test,
    as_invariant,
    fault,
    properties_of,
    stands,
    try_properties,
)
from autocoder_jupyter.engine.evidence.rows_used import FollowedRun, Spoken, followed
from autocoder_jupyter.engine.evidence.second_writer import ColumnNames
from autocoder_jupyter.engine.evidence.small_inputs import SmallInput, may_be_sent
from autocoder_jupyter.engine.evidence.solution_worker import SolutionStopped, SolutionWorker
from autocoder_jupyter.engine.evidence.stability import stability
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import Tables, VariedSample
from autocoder_jupyter.engine.generation import GenerationSetup, GenerationState
from autocoder_jupyter.engine.sample_run import SampleRun, checks_of, run_checks_in
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.equality import equal
from autocoder_jupyter.errors import AutocodeError, SandboxError, UnusableAnswer, brief_error
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.protocol import CallSpec, Program, Worker
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import CodeChange, HiddenInput, Invariant, Stability, Strength, TestFailure
from autocoder_jupyter.types.evidence import MORE_TIME, NO_CHANGE, TIME_IS_UP, TOO_SLOW
from autocoder_jupyter.untrusted.parsing import parse
from autocoder_jupyter.view.amounts import counted

# Other inputs
#
# The function runs on variations of the sample, on small parts of it, and on one several times as large. Two things are
# found: that it raises an error, and that a check of the user does not hold. A check is tried if it can hold for other
# data too: its numbers are small, and its texts are names of columns. An error of a kind that the code raises itself is
# intended.

CHECKED_PARTS = 8
"""The maximum number of small parts on which the user's checks are tried."""

ON_SAMPLE = "on the sample"
"""The name of the sample among the inputs on which a property is tried."""

FEWEST_ANSWERS = 12
"""The answers that must be equal before a function counts as one that does not depend on its data."""

_ERRORS = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))

Failed = tuple[str, str, Tables]
"""What failed, on which input, and its tables."""


@dataclass(frozen=True)
class OtherInputs:
    """What was found on them.

    Args:
        count: the number of inputs on which the function gave an answer.
        failed: the first error, and for each check of the user the first input on which it does not hold.
        held: the user's checks that hold on all of them.
        is_constant: whether the answer was the same on all of them, although it is no plain verdict.
        properties: what was found of the properties that the tests name.
    """

    count: int
    failed: tuple[Failed, ...] = ()
    held: tuple[str, ...] = ()
    is_constant: bool = False
    properties: Sequence[TriedProperty] = ()

    @property
    def words(self) -> str:
        """The number of inputs in words."""
        return f"{counted(self.count, 'variation')} and parts of the sample"


def on_other_inputs(
    side: SolutionWorker,
    varied: VariedSample,
    others: Mapping[str, Any],
    limit: TimeLimit,
    checks: Sequence[str],
    redaction: Redaction,
    properties: Sequence[Property] = (),
) -> OtherInputs:
    """Run the function on other inputs. Blocks."""
    answered: list[tuple[str, Tables, Mapping[str, Any]]] = []
    meant, error, count = raised_in(side.program.code), list[Failed](), 0
    inputs = tuple(_inputs(varied, side.program.code))
    side.get_ready(({**others, **tables} for _, tables in inputs), limit)
    for name, tables in inputs:
        try:
            answer = side.on({**others, **tables}, limit, reuse=True, kept=True)
            if answer.error and name != SMALL_PART:  # not because of the calls that this process had before
                answer = side.on({**others, **tables}, limit, kept=True)
        except SolutionStopped:
            break
        if answer.error:
            kind = answer.error.partition(":")[0]
            if kind not in meant and not error:
                problem = f"the function raises {kind if kind in _ERRORS else 'an error'}"
                error.append((problem, name, searched(tables, partial(_raises, side, others, kind))))
            continue
        count += 1
        if name != SMALL_PART or [one for one, _, _ in answered].count(name) < CHECKED_PARTS:
            answered.append((name, tables, answer.values))
    general = [check for check in checks if is_general(check, _names(side, varied.tables))]
    failed_checks: dict[str, Failed] = {}
    were_tried = bool(answered)
    for name, tables, values in answered if general else ():
        if not side.worker.alive:  # the end of the time has ended it, and no check can be evaluated there
            were_tried = False
            break
        given = {**others, **tables}
        with limit.counting(side.worker):
            outcomes = run_checks_in(side.worker, general, side.program, given, values, redaction, CallSpec(reuse=True))
        for outcome in outcomes:
            if not outcome.passed:
                failed_checks.setdefault(outcome.name, (f"your check {outcome.name} does not hold", name, tables))
    held = tuple(check for check in general if check not in failed_checks) if were_tried else ()
    with limit.counting():
        is_constant = _is_constant(side.program, [values for _, _, values in answered])
    tried: Sequence[TriedProperty] = ()
    with suppress(Exception):  # what a tester wrote, and odd values
        tried = try_properties(side, [(ON_SAMPLE, varied.trimmed), *inputs], others, properties, limit)
    return OtherInputs(count, (*error, *failed_checks.values()), held, is_constant, tried)


def _is_constant(program: Program, answers: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all answers are equal. A verdict, such as a truth value or a name, may well be."""
    compared = [spec.name for spec in program.outputs if KINDS[spec.whole].is_compared]
    if len(answers) < FEWEST_ANSWERS or len(compared) < len(program.outputs):
        return False
    if all(isinstance(answers[0][name], bool | str | None) for name in compared):
        return False
    return all(equal(answers[0][name], one[name]) for one in answers[1:] for name in compared)


def _raises(side: SolutionWorker, others: Mapping[str, Any], kind: str, tables: Tables, limit: TimeLimit) -> bool:
    return side.on({**others, **tables}, limit, reuse=True).error.startswith(f"{kind}:")


def _inputs(varied: VariedSample, code: str) -> Iterator[tuple[str, Tables]]:
    """Inputs as the data allow them, with their names, which have no name of a column."""
    inside = (one for one in varied.variations if not one.is_outside)
    yield from ((one.general or one.name, one.tables) for one in inside)
    yield from ((SMALL_PART, part) for part in varied.parts)
    large = varied.larger(largest_number(code))
    if large is not None and not large.is_outside and not large.has_new_texts:
        yield large.name, large.tables


def raised_in(code: str) -> set[str]:
    """The names of the errors that the code raises."""
    raised = (node.exc for node in ast.walk(parse(code)) if isinstance(node, ast.Raise))
    plain = (node.func if isinstance(node, ast.Call) else node for node in raised)
    return {node.id for node in plain if isinstance(node, ast.Name)}


def _names(side: SolutionWorker, tables: Mapping[str, Any]) -> set[str]:
    """Names of columns."""
    given = {str(name) for table in tables.values() if isinstance(table, pd.DataFrame) for name in table.columns}
    return given | {column.name for spec in side.program.outputs for column in spec.columns}


def is_general(check: str, names: Collection[str]) -> bool:
    """Whether a check says something that can hold for other data than the sample."""
    try:
        values = [node.value for node in ast.walk(parse(check)) if isinstance(node, ast.Constant)]
    except SyntaxError:
        return False
    return all(
        value in names
        if isinstance(value, str)
        else isinstance(value, int | float) and (abs(value) <= 1 or value == 100)
        for value in values
        if value is not None
    )


# The examiner

LOST_WORKERS = 4
"""How many workers may be lost to changes, until no more of them are tried."""

JUDGED_SECONDS = 10.0
"""Processor time in which the second solution is checked for what the plan says."""

ROWS, DATA, CHANGES, OTHERS, DRAWN = LAYERS = (
    "rows used",
    "clock, chance and changes of the data",
    "changes of the code",
    "other inputs",
    "resamples and shuffled data",
)
"""The layers of evidence, in the order in which they are shown."""

NO_SAMPLE = "there is no sample"
NO_TESTS = "there are no tests"
NO_TEST_COVERS = "takes a branch that no test covers"


class Examiner:
    """Finds out what the tests of one generation are worth. Its errors fail nothing.

    Attributes:
        seconds: what each layer took, by its name.
    """

    def __init__(self, setup: GenerationSetup) -> None:
        self._setup = setup
        self._effort = EFFORTS[setup.config.effort]
        self._mutation: MutationRun | None = None
        self._invariants: Sequence[TriedInvariant] = ()
        self._broken_properties: dict[Invariant, TriedProperty] = {}
        self._properties_before: tuple[Invariant, ...] | None = None
        self._more_time = 1
        self.seconds: dict[str, float] = {}

    def lacks(self, found: Strength | None) -> bool:
        """Whether a verified function is to be examined: nothing, too little, or with less effort was found before."""
        if not self._effort.is_examined or found is None:
            return self._effort.is_examined
        efforts = list(EFFORTS)
        is_less = found.effort in efforts and efforts.index(found.effort) < efforts.index(self._setup.config.effort)
        return found.is_cut or is_less

    async def examine(self, state: GenerationState, earlier: Strength | None = None) -> Strength | None:
        """What the tests are worth; None if the effort is not to find out.

        What an `earlier` run found about the same function and tests is completed.
        """
        if not self._effort.is_examined:
            return None
        self._more_time = MORE_TIME if earlier is not None and earlier.is_cut else 1
        self._broken_properties.clear()
        self._properties_before = None
        if earlier is not None:  # they were judged then, and no model is asked to complete what the time has cut
            self._properties_before = tuple(one for one in earlier.relations if one.is_property)
        program, brief = state.program(), state.brief
        if any(spec.required and spec.name not in brief.request.samples for spec in program.inputs):
            return Strength(ended=NO_SAMPLE)
        try:
            mutation = await self._mutation_of(state, program)
            mutation.suite, mutation.limit = state.suite, self._new_limit()
            if earlier is not None:
                mutation.resume(earlier.changes)
            found, ended = await asyncio.gather(self._without_tests(state, mutation), self._with_tests(mutation))
        except Exception as error:  # the function was verified; nothing that happens here may lose it
            return earlier or Strength(ended=brief_error(error))
        is_final = self._more_time > 1 and (bool(found.cut) or ended == TIME_IS_UP)
        said = {"ended": TOO_SLOW if is_final and ended == TIME_IS_UP else ended, "is_final": is_final}
        before = {} if earlier is None else earlier.model_dump(include={"added", "dropped", "note"})
        update = {**said, **before, "effort": self._setup.config.effort}
        return _with_changes(found.model_copy(update=update), mutation)

    async def follow(self, state: GenerationState, sample: SampleRun | None) -> FollowedRun:
        """Which rows of the sample the verified function used and lost; nothing if that is not to be found out."""
        if not self._effort.is_examined or sample is None or sample.error is not None:
            return FollowedRun()
        program, request, limit = state.program(), state.brief.request, self._new_limit()
        inputs = {spec.name: request.samples[spec.name] for spec in program.inputs if spec.name in request.samples}
        may_show = state.redaction.masked if state.redaction.shows_values else None
        spoken = Spoken((request.prompt, *request.wishes), state.brief.plan.assumptions, may_show)
        with suppress(Exception), self._timed(ROWS):  # the function was verified; nothing that happens here may lose it
            return await self._setup.session.work(
                lambda worker: followed(worker, program, inputs, sample.values, limit, spoken)
            )
        return FollowedRun(is_cut=limit.is_over)

    async def search_early(self, state: GenerationState, program: Program, may_continue: Callable[[], bool]) -> None:
        """Search for changes of the code that change an answer, before there are tests."""
        if self._effort.is_examined:
            mutation = await self._mutation_of(state, program)
            await self._setup.session.work(lambda worker: mutation.search(worker, may_continue))

    async def _mutation_of(self, state: GenerationState, program: Program) -> MutationRun:
        """The mutation run of this function, which may have begun before there were tests."""
        if self._mutation is None or self._mutation.program != program or self._mutation.found:
            self._mutation = await call_blocking(lambda: self._new_mutation(state, program))
        return self._mutation

    async def _with_tests(self, mutation: MutationRun) -> str:
        """Find out which changes of the code the tests catch. Returns why not all were tried, or ""."""
        if mutation.suite is None and not mutation.brief.request.has_acceptance:
            return NO_TESTS
        return await self._run(mutation)

    async def _without_tests(self, state: GenerationState, mutation: MutationRun) -> Strength:
        """What runs of the function alone find."""
        limit = self._new_limit()
        found = await self._on_changed_data(state, mutation, limit)
        cut = (DATA,) if limit.is_over else ()
        others, slow = await self._on_other_inputs(state, mutation, limit)
        cut = (*cut, *((OTHERS,) if limit.is_over else ()))
        stable = await self._on_resamples(state, mutation)
        cut = (*cut, *((DRAWN,) if stable is not None and stable.why.startswith(TIME_IS_UP) else ()))
        update = {"relations": (*found.relations, *others), "pace": slow, "stability": stable, "cut": cut}
        return found.model_copy(update=update)

    async def _on_changed_data(self, state: GenerationState, mutation: MutationRun, limit: TimeLimit) -> Strength:
        """What it depends on, and which changes of the data matter."""
        plan, request = state.brief.plan, state.brief.request
        texts = "\n".join((request.prompt, *request.wishes, plan.description, plan.approach, *plan.assumptions))
        with_order = not order_may_count(texts)

        def job(worker: Worker) -> tuple[list[HiddenInput], list[TriedInvariant]]:
            side = SolutionWorker("the function", worker, mutation.program, mutation.known)
            depends = list(hidden_inputs(side, {**mutation.others, **mutation.varied.trimmed}, limit))
            invariants = try_invariants(
                side, mutation.varied, mutation.others, limit, with_order=with_order, holds=plan.holds
            )
            return depends, list(invariants)

        try:
            with self._timed(DATA):
                depends, invariants = await self._setup.session.work(job)
            self._invariants = invariants
        except Exception:  # odd data and values of untrusted code must not fail a verified function
            return Strength()
        return Strength(
            dependences=tuple(depends), relations=tuple(self._invariant(one, mutation) for one in invariants)
        )

    async def _on_other_inputs(
        self, state: GenerationState, mutation: MutationRun, limit: TimeLimit
    ) -> tuple[tuple[Invariant, ...], str]:
        """Whether the function raises an error on other inputs than the sample, whether the user's checks hold, and how
        long it would take for many more rows.
        """
        checks = checks_of(state.brief.request, state.brief.plan)
        properties = properties_of(state.suite, mutation.program) if self._properties_before is None else ()

        def job(worker: Worker) -> tuple[OtherInputs, str]:
            side = SolutionWorker("the function", worker, mutation.program, mutation.known)
            given = (mutation.varied, mutation.others, limit, checks, state.redaction, properties)
            found = on_other_inputs(side, *given)
            return found, pace(side, mutation.varied, mutation.others, limit)

        try:
            with self._timed(OTHERS):
                found, slow = await self._setup.session.work(job)
        except Exception:  # odd data and values of untrusted code must not fail a verified function
            return (), ""
        failed = [
            Invariant(name=name, holds=False, said=problem, smallest=self._source(tables, mutation))
            for problem, name, tables in found.failed
        ]
        if found.is_constant:
            failed.append(Invariant(name=found.words, holds=False, said="the answer never changes on"))
        held = [f"your check {check} on" for check in found.held]
        if found.count and not any("raises" in one.said for one in failed):
            held.insert(0, "no error on")
        named = list(self._properties_before or ())
        for tried in found.properties:
            source = self._source(tried.tables, mutation) if tried.tables is not None else ""
            named.append(as_invariant(tried, found.words, source))
            if tried.on:
                self._broken_properties[named[-1]] = tried
        return (*failed, *named, *(Invariant(name=found.words, holds=True, said=result) for result in held)), slow

    async def _on_resamples(self, state: GenerationState, mutation: MutationRun) -> Stability | None:
        """Whether the conclusion that the plan names is stable; None if it names none."""
        conclusion, redaction, limit = state.brief.plan.conclusion, state.redaction, self._new_limit()
        if conclusion is None or conclusion.output not in {spec.name for spec in mutation.program.outputs}:
            return None
        shown = redaction.masked if redaction.shows_values else None

        def job(worker: Worker) -> Stability:
            side = SolutionWorker("the function", worker, mutation.program)
            return stability(side, conclusion, {**mutation.others, **mutation.varied.tables}, limit, shown)

        try:
            with self._timed(DRAWN):
                return await self._setup.session.work(job)
        except Exception as error:  # odd data and values of untrusted code must not fail a verified function
            return Stability(conclusion=conclusion, why=f"it cannot be tried ({type(error).__name__})")

    def _source(self, tables: Tables, mutation: MutationRun) -> str:
        """A small input as source; "" if it must not be shown, or is not small."""
        found = SmallInput.of(tables, {**mutation.others, **mutation.varied.tables})
        return found.source if found is not None and may_be_sent(self._setup, found) else ""

    def _invariant(self, tried: TriedInvariant, mutation: MutationRun) -> Invariant:
        source = self._source(tried.tables, mutation) if tried.tables is not None else ""
        demanded_by: Literal["", "plan"] = "plan" if tried.where and tried.is_of_plan else ""
        return Invariant(
            name=tried.words, holds=not tried.where, where=tried.where, smallest=source, demanded_by=demanded_by
        )

    async def judged(self, strength: Strength, agreed: tuple[SolutionComparison, ColumnNames] | None) -> Strength:
        """The strength, with what only the plan demands and the second solution does not keep either: then the plan is
        wrong, and not the function.
        """
        doubtful = {one.words: one for one in self._invariants if one.where and one.is_of_plan}
        if agreed is None or not doubtful:
            return strength
        comparison, _ = agreed
        limit = TimeLimit(JUDGED_SECONDS)

        def job(second: SolutionWorker, others: Mapping[str, Any]) -> set[str]:
            return {words for words, one in doubtful.items() if is_broken_by(second, one, others, limit)}

        with suppress(Exception):  # values of untrusted code must not fail a verified function
            wrong = await comparison.of_second(job)
            invariants = (
                one.model_copy(update={"demanded_by": "nobody"}) if one.name in wrong else one
                for one in strength.relations
            )
            return strength.model_copy(update={"relations": tuple(invariants)})
        return strength

    async def doubt(
        self, state: GenerationState, agreed: tuple[SolutionComparison, ColumnNames] | None
    ) -> TestFailure | None:
        """The failure of a verified function that depends on what it must not, if the second solution does not.

        Only a second solution that agrees otherwise can say so: one that reads the request differently may keep a
        invariant that the request does not demand.
        """
        with suppress(Exception):  # the function was verified; nothing here may lose it
            return await doubt(state, self._invariants, *agreed) if agreed is not None else None
        return None

    async def on_properties(
        self,
        state: GenerationState,
        strength: Strength,
        agreed: tuple[SolutionComparison, ColumnNames] | None,
        seconds: float,
        *,
        may_doubt: bool,
    ) -> tuple[Strength, TestFailure | None]:
        """The strength without doubts by properties that a second derivation rejects; and the failure of the function
        if one stands, and a second solution that agrees otherwise has it. Its test is added then.
        """
        for invariant, tried in self._broken_properties.items():
            suite, plan = state.suite, state.brief.plan
            small = SmallInput.of(tried.tables, self._given(state)) if tried.tables else None
            if suite is None or small is None or not invariant.smallest or not is_complete(small, plan):
                continue
            wider, name = added_as_test(suite, tried, small, plan)
            try:
                asking = partial(stands, state, wider, name)
                async with asyncio.timeout(seconds):
                    is_right = await self._setup.stages.run("tests", asking)
            except (AutocodeError, TimeoutError) as error:  # a person decides then
                if isinstance(error, UnusableAnswer):  # the same answer would be replayed
                    self._setup.services.journal.reject(self._setup.conversation.exchanges[-1:])
                continue
            if not is_right:
                rejected = invariant.model_copy(update={"demanded_by": "nobody"})
                relations = (rejected if one == invariant else one for one in strength.relations)
                strength = strength.model_copy(update={"relations": tuple(relations)})
                continue
            if may_doubt and not (agreed and await objections(self._setup.session, *agreed, wider, name)):
                state.set_suite(wider)
                return strength, fault(name, tried, small)
        return strength, None

    def _given(self, state: GenerationState) -> dict[str, Any]:
        """The sample, as far as it is an input of the function."""
        samples = state.brief.request.samples
        return {spec.name: samples[spec.name] for spec in state.brief.plan.inputs if spec.name in samples}

    async def further_tests(
        self, state: GenerationState, strength: Strength, seconds: float
    ) -> tuple[TestSuite | None, Strength]:
        """Ask for tests of the changes that no test caught, if they are too many."""
        mutation = self._mutation
        if mutation is None or not strength.is_weak:
            return None, strength
        setup = self._setup
        try:
            asking = partial(ask_for_tests, state, mutation)
            async with asyncio.timeout(seconds):
                more = await setup.stages.run("tests", asking)
        except Exception as error:  # the function was verified; nothing that happens here may lose it
            if isinstance(error, UnusableAnswer):  # the same answer would be replayed
                setup.services.journal.reject(setup.conversation.exchanges[-1:])
            limit = f"They did not come within {setup.config.second_opinion_seconds:g} s (second_opinion_seconds)."
            why = limit if isinstance(error, TimeoutError) else brief_error(error)
            return None, strength.model_copy(update={"note": f"No more tests were added. {why}"})
        if more is None:
            why = "No input on which they matter may be sent to the model."
            return None, strength.model_copy(update={"note": f"No more tests were added. {why}"})
        note = f"Tests that could not run were not added: {'; '.join(more.errored)}" if more.errored else ""
        extended = strength.model_copy(update={"added": more.added, "dropped": more.dropped, "note": note})
        return (more.suite if more.added else None), extended

    async def again(self, suite: TestSuite, strength: Strength) -> Strength:
        """What a wider suite is worth: the changes that were not caught are tried once more."""
        mutation = self._mutation
        if mutation is None:
            return strength
        mutation.suite, mutation.limit = suite, self._new_limit()
        with suppress(Exception), self._timed(CHANGES):  # the function was verified; nothing here may lose it
            await self._setup.session.work_with_two(mutation.again)
        return _with_changes(strength, mutation)

    def _new_mutation(self, state: GenerationState, program: Program) -> MutationRun:
        tables = state.varied.tables
        others = _others(state.brief.request.samples, program, tables)
        return MutationRun(
            program,
            state.brief,
            state.suite,
            state.varied,
            others,
            state.redaction,
            state.known_answers(program),
            self._effort.changes,
            self._new_limit(),
            list(mutants(program.code, [name for name in tables if isinstance(tables[name], pd.DataFrame)])),
        )

    async def _run(self, mutation: MutationRun) -> str:
        """Try the changes. Returns why not all were tried, or why none counts; "" if there is nothing to say."""
        try:
            for _ in range(LOST_WORKERS):
                if mutation.is_over:
                    break
                with self._timed(CHANGES):
                    await self._setup.session.work_with_two(mutation.run)
        except SandboxError as error:
            return error.what
        except Exception as error:  # odd data and values of untrusted code must not fail a verified function
            return f"they cannot be compared ({type(error).__name__})"
        if mutation.limit.is_over:
            return TIME_IS_UP
        return NO_CHANGE if mutation.is_over and all(one.with_rows for one in mutation.found) else ""

    @contextmanager
    def _timed(self, layer: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[layer] = self.seconds.get(layer, 0.0) + time.monotonic() - began

    def _new_limit(self) -> TimeLimit:
        """The limit of one of the layers. By the clock, it is at most half of what is left of the budget."""
        left = self._setup.budget.seconds_left
        return TimeLimit(self._more_time * self._effort.seconds, clock=None if left is None else left / 2)


def _others(samples: Mapping[str, Any], program: Program, tables: Mapping[str, Any]) -> dict[str, Any]:
    names = {spec.name for spec in program.inputs}
    return {name: value for name, value in samples.items() if name in names and name not in tables}


def _with_changes(strength: Strength, mutation: MutationRun) -> Strength:
    """The strength with what became of the changes of the code."""
    branches = {_untested_branch(one): one.noticed_by for one in mutation.found if one.with_rows}
    invariants = [one for one in strength.relations if one not in branches]
    invariants += [branch for branch, noticed_by in branches.items() if not noticed_by]
    changes = (_code_change(one) for one in mutation.found if not one.with_rows)
    return strength.model_copy(update={"changes": tuple(changes), "relations": tuple(invariants)})


def _untested_branch(found: TriedMutant) -> Invariant:
    """A branch that depends on the number of rows, if no test has so many."""
    mutant = found.mutant
    problem = f"line {mutant.line} ({mutant.was}) {NO_TEST_COVERS}"
    return Invariant(name=found.with_rows, holds=False, said=problem)


def _code_change(found: TriedMutant) -> CodeChange:
    mutant = found.mutant
    return CodeChange(line=mutant.line, was=mutant.was, now=mutant.now, noticed_by=found.noticed_by)
