"""Examines a verified function, beside the second opinion."""

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
from autocoder_jupyter.engine.evidence.comparison import SMALL_PART, OpinionTrial, Smallest, SmallInput
from autocoder_jupyter.engine.evidence.conditions import dependences
from autocoder_jupyter.engine.evidence.mutants import mutants
from autocoder_jupyter.engine.evidence.mutation import MutationTrial, TriedMutant, ask_for_tests
from autocoder_jupyter.engine.evidence.relations import Broken, breaks, doubt, order_may_count, searched, tried
from autocoder_jupyter.engine.evidence.second_opinion import may_be_told
from autocoder_jupyter.engine.evidence.second_writer import Names
from autocoder_jupyter.engine.evidence.sides import Side, TrialEnded
from autocoder_jupyter.engine.evidence.small_inputs import VariedSample, largest_number
from autocoder_jupyter.engine.evidence.variations import Tables
from autocoder_jupyter.engine.generation import GenerationSetup, GenerationState
from autocoder_jupyter.engine.sample_run import checked
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.errors import SandboxError, UnusableAnswer, told_briefly
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.protocol import CallSpec, Program, Worker
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import CodeChange, Dependence, Relation, Strength, TestFailure
from autocoder_jupyter.types.evidence import NO_CHANGE
from autocoder_jupyter.untrusted.parsing import parse
from autocoder_jupyter.view.amounts import counted

# Runs the function alone on variations of the sample, on small parts of it, and on one several times as large.
#
# It needs no second solution. Two things are found: that the function raises an error, and that a check of the user
# does not hold. A check is tried if it says something that can hold for other data too: its numbers are small, and its
# texts are names of columns. An error of a kind that the code raises itself is meant.


CHECKED_PARTS = 8
"""The maximum number of small parts on which the user's checks are tried."""

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
    """

    count: int
    failed: tuple[Failed, ...] = ()
    held: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The number of inputs in words."""
        return f"{counted(self.count, 'variation')} and parts of the sample"


def on_other_inputs(
    side: Side,
    varied: VariedSample,
    others: Mapping[str, Any],
    deadline: float,
    checks: Sequence[str],
    redaction: Redaction,
) -> OtherInputs:
    """Run the function on other inputs. Blocks."""
    answered: list[tuple[str, Tables, Mapping[str, Any]]] = []
    meant, error, count = raised_in(side.program.code), list[Failed](), 0
    inputs = tuple(_inputs(varied, side.program.code))
    side.get_ready(({**others, **tables} for _, tables in inputs), deadline)
    for name, tables in inputs:
        try:
            answer = side.on({**others, **tables}, deadline, reuse=True, kept=True)
            if answer.error and name != SMALL_PART:  # not because of the calls that this process had before
                answer = side.on({**others, **tables}, deadline, kept=True)
        except TrialEnded:
            break
        if answer.error:
            kind = answer.error.partition(":")[0]
            if kind not in meant and not error:
                said = f"the function raises {kind if kind in _ERRORS else 'an error'}"
                error.append((said, name, searched(tables, partial(_raises, side, others, kind))))
            continue
        count += 1
        if name != SMALL_PART or [one for one, _, _ in answered].count(name) < CHECKED_PARTS:
            answered.append((name, tables, answer.values))
    general = [check for check in checks if is_general(check, _names(side, varied.tables))]
    broken: dict[str, Failed] = {}
    for name, tables, values in answered if general else ():
        given = {**others, **tables}
        outcomes = checked(side.worker, general, side.program, given, values, redaction, CallSpec(reuse=True))
        for outcome in outcomes:
            if not outcome.passed:
                broken.setdefault(outcome.name, (f"your check {outcome.name} does not hold", name, tables))
    held = tuple(check for check in general if check not in broken) if answered else ()
    return OtherInputs(count, (*error, *broken.values()), held)


def _raises(side: Side, others: Mapping[str, Any], kind: str, tables: Tables, until: float) -> bool:
    return side.on({**others, **tables}, until, reuse=True).error.startswith(f"{kind}:")


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


def _names(side: Side, tables: Mapping[str, Any]) -> set[str]:
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


LOST_WORKERS = 4
"""How many workers changes may end, until no more of them are tried."""

JUDGED_SECONDS = 10.0
"""Wall-clock seconds in which the second solution is asked about what the plan says."""

DATA, CHANGES, OTHERS = LAYERS = "clock, chance and changes of the data", "changes of the code", "other inputs"
"""The layers of evidence, in the order in which they are told."""

NO_SAMPLE = "there is no sample"
NO_TESTS = "there are no tests"
TIME_IS_UP = "the time was up"
NO_TEST_TAKES = "takes a way that no test takes"


class Examiner:
    """Finds out what the tests of one generation are worth. Its errors fail nothing.

    Attributes:
        seconds: what each layer took, by its name.
    """

    def __init__(self, setup: GenerationSetup) -> None:
        self._setup = setup
        self._effort = EFFORTS[setup.config.effort]
        self._trial: MutationTrial | None = None
        self._broken: Sequence[Broken] = ()
        self.seconds: dict[str, float] = {}

    async def examine(self, state: GenerationState) -> Strength | None:
        """What the tests are worth; None if the effort is not to find out."""
        if not self._effort.is_examined:
            return None
        program, brief = state.program(), state.brief
        if any(spec.required and spec.name not in brief.request.samples for spec in program.inputs):
            return Strength(ended=NO_SAMPLE)
        try:
            trial = await self._trial_of(state, program)
            trial.suite, trial.deadline = state.suite, time.monotonic() + self._seconds
            found, ended = await asyncio.gather(self._without_tests(state, trial), self._with_tests(trial))
            return _with_changes(found.model_copy(update={"ended": ended}), trial)
        except Exception as error:  # the function was verified; nothing that happens here may lose it
            return Strength(ended=told_briefly(error))

    async def search_ahead(self, state: GenerationState, program: Program, goes_on: Callable[[], bool]) -> None:
        """Search for changes of the code that change an answer, before there are tests."""
        if self._effort.is_examined:
            trial = await self._trial_of(state, program)
            await self._setup.session.work(lambda worker: trial.search(worker, goes_on))

    async def _trial_of(self, state: GenerationState, program: Program) -> MutationTrial:
        """The trial of this function, which may have begun before there were tests."""
        if self._trial is None or self._trial.program != program or self._trial.found:
            self._trial = await call_blocking(lambda: self._new_trial(state, program))
        return self._trial

    async def _with_tests(self, trial: MutationTrial) -> str:
        """Find out which changes of the code the tests notice. Returns why not all were tried, or ""."""
        if trial.suite is None and not trial.brief.request.has_acceptance:
            return NO_TESTS
        return await self._run(trial)

    async def _without_tests(self, state: GenerationState, trial: MutationTrial) -> Strength:
        """What runs of the function alone find."""
        found = await self._on_changed_data(state, trial)
        relations = (*found.relations, *await self._on_other_inputs(state, trial))
        return found.model_copy(update={"relations": relations})

    async def _on_changed_data(self, state: GenerationState, trial: MutationTrial) -> Strength:
        """What it depends on, and which changes of the data matter."""
        plan, request = state.brief.plan, state.brief.request
        said = "\n".join((request.prompt, *request.wishes, plan.description, plan.approach, *plan.assumptions))
        with_order = not order_may_count(said)

        def job(worker: Worker) -> tuple[list[Dependence], list[Broken]]:
            side = Side("the function", worker, trial.program, trial.known)
            depends = list(dependences(side, {**trial.others, **trial.varied.trimmed}, trial.deadline))
            relations = tried(side, trial.varied, trial.others, trial.deadline, with_order=with_order, holds=plan.holds)
            return depends, list(relations)

        try:
            with self._timed(DATA):
                depends, broken = await self._setup.session.work(job)
            self._broken = broken
        except Exception:  # odd data and values of untrusted code must not fail a verified function
            return Strength()
        return Strength(dependences=tuple(depends), relations=tuple(self._relation(one, trial) for one in broken))

    async def _on_other_inputs(self, state: GenerationState, trial: MutationTrial) -> tuple[Relation, ...]:
        """Whether the function raises an error on other inputs than the sample, and whether the user's checks hold."""
        checks = state.brief.request.checks

        def job(worker: Worker) -> OtherInputs:
            side = Side("the function", worker, trial.program, trial.known)
            return on_other_inputs(side, trial.varied, trial.others, trial.deadline, checks, state.redaction)

        try:
            with self._timed(OTHERS):
                found = await self._setup.session.work(job)
        except Exception:  # odd data and values of untrusted code must not fail a verified function
            return ()
        failed = [
            Relation(name=name, holds=False, said=said, smallest=self._source(tables, trial))
            for said, name, tables in found.failed
        ]
        held = [f"your check {check} on" for check in found.held]
        if found.count and not any("raises" in one.said for one in failed):
            held.insert(0, "no error on")
        return (*failed, *(Relation(name=found.words, holds=True, said=said) for said in held))

    def _source(self, tables: Tables, trial: MutationTrial) -> str:
        """A small input as source; "" if it must not be shown, or is not small."""
        found = SmallInput.of(Smallest("", tables), {**trial.others, **trial.varied.tables})
        return found.source if found is not None and may_be_told(self._setup, found) else ""

    def _relation(self, broken: Broken, trial: MutationTrial) -> Relation:
        source = self._source(broken.tables, trial) if broken.tables is not None else ""
        demanded_by: Literal["", "plan"] = "plan" if broken.where and broken.is_of_plan else ""
        return Relation(
            name=broken.words, holds=not broken.where, where=broken.where, smallest=source, demanded_by=demanded_by
        )

    async def judged(self, strength: Strength, agreed: tuple[OpinionTrial, Names] | None) -> Strength:
        """The strength, with what only the plan demands and the second solution does not keep either: then the plan is
        wrong, and not the function.
        """
        doubtful = {one.words: one for one in self._broken if one.where and one.is_of_plan}
        if agreed is None or not doubtful:
            return strength
        trial, _ = agreed
        deadline = time.monotonic() + JUDGED_SECONDS

        def job(second: Side, others: Mapping[str, Any]) -> set[str]:
            return {words for words, one in doubtful.items() if breaks(second, one, others, deadline)}

        with suppress(Exception):  # values of untrusted code must not fail a verified function
            wrong = await trial.of_second(job)
            relations = (
                one.model_copy(update={"demanded_by": "nobody"}) if one.name in wrong else one
                for one in strength.relations
            )
            return strength.model_copy(update={"relations": tuple(relations)})
        return strength

    async def doubt(self, state: GenerationState, agreed: tuple[OpinionTrial, Names] | None) -> TestFailure | None:
        """The failure of a verified function that depends on what it must not, if the second solution does not.

        Only a second solution that agrees otherwise can say so: one that reads the request differently may keep a
        relation that the request does not demand.
        """
        with suppress(Exception):  # the function was verified; nothing here may lose it
            return await doubt(state, self._broken, *agreed) if agreed is not None else None
        return None

    async def further_tests(
        self, state: GenerationState, strength: Strength, seconds: float
    ) -> tuple[TestSuite | None, Strength]:
        """Ask for tests of the changes that no test noticed, if they are too many."""
        trial = self._trial
        if trial is None or not strength.is_weak:
            return None, strength
        setup = self._setup
        try:
            asking = partial(ask_for_tests, state, trial)
            async with asyncio.timeout(seconds):
                more = await setup.stages.run("tests", asking)
        except Exception as error:  # the function was verified; nothing that happens here may lose it
            if isinstance(error, UnusableAnswer):  # the same answer would be replayed
                setup.services.journal.reject(setup.talk.exchanges[-1:])
            limit = f"They did not come within {setup.config.second_opinion_seconds:g} s (second_opinion_seconds)."
            why = limit if isinstance(error, TimeoutError) else told_briefly(error)
            return None, strength.model_copy(update={"note": f"No more tests were added. {why}"})
        if more is None:
            why = "No input on which they matter may be sent to the model."
            return None, strength.model_copy(update={"note": f"No more tests were added. {why}"})
        note = f"Tests that could not run were not added: {'; '.join(more.broken)}" if more.broken else ""
        told = strength.model_copy(update={"added": more.added, "dropped": more.dropped, "note": note})
        return (more.suite if more.added else None), told

    async def again(self, suite: TestSuite, strength: Strength) -> Strength:
        """What a wider suite is worth: the changes that were not noticed are tried once more."""
        trial = self._trial
        if trial is None:
            return strength
        trial.suite, trial.deadline = suite, time.monotonic() + self._seconds
        with suppress(Exception), self._timed(CHANGES):  # the function was verified; nothing here may lose it
            await self._setup.session.work_with_two(trial.again)
        return _with_changes(strength, trial)

    def _new_trial(self, state: GenerationState, program: Program) -> MutationTrial:
        tables = state.varied.tables
        others = _others(state.brief.request.samples, program, tables)
        return MutationTrial(
            program,
            state.brief,
            state.suite,
            state.varied,
            others,
            state.redaction,
            state.known_answers(program),
            self._effort.changes,
            time.monotonic() + self._seconds,
            list(mutants(program.code, [name for name in tables if isinstance(tables[name], pd.DataFrame)])),
        )

    async def _run(self, trial: MutationTrial) -> str:
        """Try the changes. Returns why not all were tried, or why none counts; "" if there is nothing to say."""
        try:
            for _ in range(LOST_WORKERS):
                if trial.is_over:
                    break
                with self._timed(CHANGES):
                    await self._setup.session.work_with_two(trial.run)
        except SandboxError as error:
            return error.what
        except Exception as error:  # odd data and values of untrusted code must not fail a verified function
            return f"they cannot be compared ({type(error).__name__})"
        if time.monotonic() >= trial.deadline:
            return TIME_IS_UP
        return NO_CHANGE if trial.is_over and all(one.with_rows for one in trial.found) else ""

    @contextmanager
    def _timed(self, layer: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[layer] = self.seconds.get(layer, 0.0) + time.monotonic() - began

    @property
    def _seconds(self) -> float:
        """At most half of what is left of the budget."""
        left = self._setup.budget.seconds_left
        return self._effort.seconds if left is None else min(self._effort.seconds, left / 2)


def _others(samples: Mapping[str, Any], program: Program, tables: Mapping[str, Any]) -> dict[str, Any]:
    names = {spec.name for spec in program.inputs}
    return {name: value for name, value in samples.items() if name in names and name not in tables}


def _with_changes(strength: Strength, trial: MutationTrial) -> Strength:
    """The strength with what became of the changes of the code."""
    ways = {_way(one): one.noticed_by for one in trial.found if one.with_rows}
    relations = [one for one in strength.relations if one not in ways]
    relations += [way for way, noticed_by in ways.items() if not noticed_by]
    changes = (_told(one) for one in trial.found if not one.with_rows)
    return strength.model_copy(update={"changes": tuple(changes), "relations": tuple(relations)})


def _way(found: TriedMutant) -> Relation:
    """A condition that more rows make another one, if no test has so many."""
    mutant = found.mutant
    said = f"line {mutant.line} ({mutant.was}) {NO_TEST_TAKES}"
    return Relation(name=found.with_rows, holds=False, said=said)


def _told(found: TriedMutant) -> CodeChange:
    mutant = found.mutant
    return CodeChange(line=mutant.line, was=mutant.was, now=mutant.now, noticed_by=found.noticed_by)
