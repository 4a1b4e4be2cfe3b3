"""Runs the tests on mutations of the verified function: which ones they catch, and new tests for the others.

Only a change that gives another answer on the sample or on a variation of it counts: one that raises an error there is
caught by any test, and one that changes nothing is not a mistake. All of them run in the sandbox, in workers that are
already started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

from autocoder_jupyter import codec
from autocoder_jupyter.engine.acceptance import run_acceptance
from autocoder_jupyter.engine.conversation import Messages
from autocoder_jupyter.engine.evidence.added_tests import asserts, is_complete
from autocoder_jupyter.engine.evidence.code_numbers import largest_number
from autocoder_jupyter.engine.evidence.mutants import Mutant, row_count_mutants
from autocoder_jupyter.engine.evidence.small_inputs import Differs, SmallInput, may_be_sent, simplified, smallest
from autocoder_jupyter.engine.evidence.solution_worker import (
    AT_ONCE,
    Answer,
    KnownAnswers,
    SolutionStopped,
    SolutionWorker,
    answers_of_both,
)
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import Tables, VariedSample
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.prompt import Brief, block
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES
from autocoder_jupyter.engine.tests import TestSuite, blind_id, joined, without_tests
from autocoder_jupyter.equality import equal
from autocoder_jupyter.errors import UnusableAnswer, was_killed
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.host.replies import CallAnswer
from autocoder_jupyter.sandbox.protocol import Callee, CallSpec, Program, TestSpec, Worker
from autocoder_jupyter.sandbox.worker.entries import Packed
from autocoder_jupyter.types import CodeChange, InputSpec, TestOutcome

VARIATIONS = 8
"""The maximum number of variations of the sample on which an answer may change."""

CALL_SECONDS = 5.0
"""Processor time for a call of a changed function, because a change can make it endless."""

ENDLESS = "a test that did not end"
"""What caught a change, if no test failed."""

ON_SAMPLE = "on the sample"
"""The words for the sample itself."""

NUMBER = "autocode_number"
"""The input of `programs.alternatives` that says which of the changed functions runs."""


@dataclass(frozen=True)
class TriedMutant:
    """A change that gives another answer, and what caught it.

    Args:
        tables: the input on which the answer differs.
        noticed_by: the first test or example that failed; "" if none did.
        with_rows: where a condition on the number of rows matters: `ON_SAMPLE`, or with how many more.
    """

    mutant: Mutant
    tables: Tables
    noticed_by: str = ""
    with_rows: str = ""


@dataclass(frozen=True)
class _OneOfSeveral:
    """One of several changed functions, for tests: they share a process of the function.

    Args:
        program: see `programs.alternatives`.
    """

    callee: Worker
    program: Program
    number: int

    @property
    def alive(self) -> bool:
        return self.callee.alive

    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        # Whether an input was changed in place is not watched: no mutation is of this kind.
        given = Packed()
        given.add(NUMBER, "int", codec.encode(self.number, "int"))
        whole = Packed(given.entries + packed.entries, given.pieces + packed.pieces, given.size + packed.size)
        return self.callee.answer(self.program, whole, replace(spec, watch_inputs=False))


@dataclass
class MutationRun:
    """Tries changes one after the other. After a change has ended a worker, it goes on with other workers.

    Args:
        brief: the request with the user's examples and tests, and the plan.
        suite: the tests; None if there are none but the user's.
        varied: the tables of the sample, with what is made from them.
        redaction: decides what messages may contain.
        known: the answers of the function that may be needed again.
        most: the maximum number of changes that count.
        left: the changes that were not tried.
        differing: changes that count, on which the tests did not run yet.
    """

    program: Program
    brief: Brief
    suite: TestSuite | None
    varied: VariedSample
    others: Mapping[str, Any]
    redaction: Redaction
    known: KnownAnswers
    most: int
    limit: TimeLimit
    left: list[Mutant]
    differing: list[TriedMutant] = field(default_factory=list)
    found: list[TriedMutant] = field(default_factory=list)
    _inputs: list[tuple[Tables, Mapping[str, Any]]] = field(default_factory=list)
    _numbers: dict[str, tuple[Program, int]] = field(default_factory=dict)
    _shares: bool = True

    def resume(self, earlier: Sequence[CodeChange]) -> None:
        """Go on after an earlier run: the changes that it tried are not tried again."""
        known = {(one.line, one.was, one.now): one.noticed_by for one in earlier}
        places = {mutant: (mutant.line, mutant.was, mutant.now) for mutant in self.left}
        self.found += [
            TriedMutant(mutant, self.varied.trimmed, known[place]) for mutant, place in places.items() if place in known
        ]
        self.left[:] = [mutant for mutant, place in places.items() if place not in known]

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to try, or no time."""
        is_empty = not self.left and not self.differing
        return is_empty or len(self.found) >= self.most or not self._has_time

    @property
    def _has_time(self) -> bool:
        return not self.limit.is_over

    def search(self, callee: Worker, may_continue: Callable[[], bool]) -> None:
        """Search for the changes that count, before there are tests."""
        while self.left and len(self.differing) < self.most and callee.alive and may_continue() and self._has_time:
            self._search_next(callee)

    def run(self, tester: Worker, callee: Worker) -> None:
        """Try changes until it is over, or a worker is gone."""
        while not self.is_over and callee.alive and tester.alive:
            if not self.differing:
                self._search_next(callee)
                continue
            tried = self.differing.pop(0)
            self.found += self._tried(tried, tester, callee)
        self._confirm(tester, callee)

    def again(self, tester: Worker, callee: Worker) -> None:
        """Run the tests on the changes that no test caught, because there are more tests now."""
        for place, tried in enumerate(self.found):
            if not tried.noticed_by and self._has_time and callee.alive and tester.alive:
                self.found[place : place + 1] = self._tried(tried, tester, callee) or [tried]
        self._confirm(tester, callee)

    def _tried(self, tried: TriedMutant, tester: Worker, callee: Worker) -> list[TriedMutant]:
        """A change with what caught it; nothing if the time was up before the tests ended."""
        noticed_by = self._noticed_by(tried.mutant, tester, callee)
        return [replace(tried, noticed_by=noticed_by)] if self._has_time or noticed_by != ENDLESS else []

    def _confirm(self, tester: Worker, callee: Worker) -> None:
        """Run the tests of each change in its own process, if they fail on the function itself after the others.

        Such tests leave something behind, or count how often they run, and would seem to catch every change.
        """
        if not (self._shares and any(tried.noticed_by for tried in self.found) and callee.alive and tester.alive):
            return
        failed = self._noticed_by(None, tester, callee)
        if failed == ENDLESS and not self._has_time:
            return
        self._shares = not failed
        if failed:
            again = ([one] if not one.noticed_by else self._tried(one, tester, callee) for one in self.found)
            self.found[:] = [one for found in again for one in found]

    def _search_next(self, callee: Worker) -> None:
        """Find out which of the next changes count. Without an answer of the function itself, none does."""
        if not self._inputs:
            self._inputs = list(islice(self._answered(callee), VARIATIONS + 1))
            row_counts = [*self._row_count_changes(callee)] if self._inputs else []
            self.differing += row_counts
            self.most += len(row_counts)
        if not self._inputs:
            self.left.clear()
            return
        wanted = self.most - len(self.differing) - len(self.found)
        changes, self.left = self.left[:wanted], self.left[wanted:]
        side = self.alternatives(callee, changes)
        differs: dict[int, Tables] = {}
        for inputs in (self._inputs[:1], self._inputs[1:]):  # most differ on the first one
            asked = [(number, *one) for number in range(len(changes)) if number not in differs for one in inputs]
            stopped = self._compare(side, asked, differs)
            if stopped is not None:
                self.left[:0] = [one for at, one in enumerate(changes) if at != stopped and at not in differs]
                break
        self.differing += [TriedMutant(changes[number], differs[number]) for number in sorted(differs)]

    def _answered(self, callee: Worker) -> Iterator[tuple[Tables, Mapping[str, Any]]]:
        """Inputs with the answers of the verified function: the sample, and variations that keep its profile."""
        side = SolutionWorker("the function", callee, self.program, self.known)
        inside = (one.tables for one in self.varied.variations if not one.is_outside)
        inputs = (self.varied.trimmed, *islice(inside, 2 * VARIATIONS))
        side.get_ready(({**self.others, **tables} for tables in inputs), self.limit)
        for tables in inputs:
            try:
                answer = side.on({**self.others, **tables}, self.limit, reuse=True, kept=True)
            except SolutionStopped:
                return
            if not answer.error:
                yield tables, answer.values

    def _row_count_changes(self, callee: Worker) -> Iterator[TriedMutant]:
        """Conditions that may depend on the number of rows, and that matter on the sample, or on one several times as
        large.
        """
        changes = row_count_mutants(self.program.code)
        if not changes:
            return
        side, changed = (
            SolutionWorker("the function", callee, self.program, self.known),
            self.alternatives(callee, changes),
        )
        large = self.varied.larger(largest_number(self.program.code))
        where = {ON_SAMPLE: self._inputs[0][0], **({large.name: large.tables} if large is not None else {})}
        try:
            for number, change in enumerate(changes):
                for name, tables in where.items():
                    inputs = {**self.others, **tables}
                    right = side.on(inputs, self.limit, reuse=True, kept=True)
                    other = changed.on({**inputs, NUMBER: number}, self._of_a_call, reuse=True)
                    if not right.error and not other.error and self.differ(right.values, other.values):
                        yield TriedMutant(change, tables, with_rows=name)
                        break
        except SolutionStopped:
            return

    def _compare(
        self, side: SolutionWorker, asked: Sequence[tuple[int, Tables, Mapping[str, Any]]], differs: dict[int, Tables]
    ) -> int | None:
        """Find the first input on which each of several changes gives another answer."""
        calls = [({**self.others, **tables, NUMBER: number}, number, tables, right) for number, tables, right in asked]
        side.get_ready((inputs for inputs, *_ in calls), self._of_a_call)
        for inputs, number, tables, right in calls:
            if number in differs:
                continue
            try:
                answer = side.on(inputs, self._of_a_call, reuse=True, kept=True)
            except SolutionStopped:
                return number
            if not answer.error and self.differ(right, answer.values):
                differs[number] = tables
        return None

    def differ(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Whether two answers of the function differ, in outputs that can be compared."""
        compared = (spec.name for spec in self.program.outputs if KINDS[spec.whole].is_compared)
        return any(not equal(one[name], other[name]) for name in compared)

    def alternatives(self, callee: Worker, changes: Sequence[Mutant]) -> SolutionWorker:
        """A program that runs one of several changed functions. Its first input is the number of the change."""
        defaults = {spec.name: spec.default for spec in self.program.inputs if not spec.required}
        code = program_text("alternatives", CODES=[change.code for change in changes], DEFAULTS=defaults)
        inputs = (InputSpec(name=NUMBER, type="int"), *self.program.inputs)
        program = replace(self.program, code=code, inputs=inputs)
        self._numbers |= {change.code: (program, number) for number, change in enumerate(changes)}
        return SolutionWorker("a changed function", callee, program)

    def _noticed_by(self, mutant: Mutant | None, tester: Worker, callee: Worker) -> str:
        """The first of the user's examples and tests, and of the other tests, that fails on a change (or on none)."""
        changed: Program = self.program
        called: Callee = callee
        if mutant is not None:
            changed = replace(changed, code=mutant.code)
            called = _OneOfSeveral(callee, *self._numbers[mutant.code])
        try:
            brief = self.brief
            if brief.request.has_acceptance:
                with self.limit.counting(tester, callee):
                    own = run_acceptance(tester, callee, changed, brief.request, brief.plan, self.redaction).outcomes
                if (failed := next((outcome for outcome in own if not outcome.passed), None)) is not None:
                    return failed.name
            for module in self.suite.modules if self.suite else ():
                spec = TestSpec(
                    module.source,
                    module.ids,
                    seconds=max(self.limit.clock_left, 1.0),
                    processor_seconds=max(self.limit.seconds_left, 1.0),
                    until_failure=True,
                    reuse=self._shares,
                    traceback=False,
                )
                with self.limit.counting(tester, callee):
                    run = tester.test(changed, spec, callee=called)
                if failed_test := next((o.id for o in run.outcomes if o.outcome in ("failed", "error")), ""):
                    return failed_test if module is self.suite else blind_id(failed_test)
                if not run.passed:
                    return ENDLESS
        except PROGRAM_FAILURES as error:
            if was_killed(error):
                raise
            return ENDLESS
        return ""

    @property
    def _of_a_call(self) -> TimeLimit:
        return self.limit.part(CALL_SECONDS)


# Tests for changes that no test caught
#
# The model gets, for each of them, the smallest input on which the change matters: not the code, and no answer of it. A
# test that it adds must pass on the verified function, or it is left out.

MOST_INPUTS = 5
"""The maximum number of inputs in the question."""

TRIALS = 80
"""The maximum number of runs for one smallest input."""

SEARCH_SECONDS = 10.0
"""Processor time for all inputs."""

MOST_PARTS, MOST_ROWS = 20, 12
"""How many small parts of the sample are looked at, and how many rows the tables of one may have together, so that it
can be worked out by hand."""


@dataclass(frozen=True)
class MoreTests:
    """The suite with the tests that were added.

    Args:
        added: ids of new tests that pass on the function.
        dropped: the sentences of those whose assertion fails on it. They were left out.
        broken: the sentences of those that end with another error, and were left out too.
    """

    suite: TestSuite
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    errored: tuple[str, ...]


def survivor_messages(brief: Brief, kept: str, inputs: Sequence[str]) -> Messages:
    """The question. It must never contain the solution."""
    shown = (block("input", source) for source in inputs)
    return brief.question(block("tests_that_stay", kept.strip()), *shown, prompt("tests.add for missed changes"))


async def ask_for_tests(state: GenerationState, mutation: MutationRun) -> MoreTests | None:
    """Ask for tests of the changes that no test noticed; None if there is nothing that may be asked."""
    setup, suite = state.setup, state.suite
    if suite is None:
        return None
    found = await setup.session.work_with_two(lambda tester, callee: smallest_inputs(mutation, tester, callee))
    sources = [small.source for small in found if is_complete(small, state.brief.plan) and may_be_sent(setup, small)]
    if not sources:
        return None
    kept = suite.blind or suite
    source = await setup.conversation.code("tests", survivor_messages(state.brief, kept.source, sources))
    try:
        wider = joined(kept.source, source)
    except (SyntaxError, ValueError) as error:
        raise UnusableAnswer(f"The tests that were added cannot stand below the others: {error}.") from None
    new = [test for test in wider.ids if test not in kept.ids]
    sentences = {test: wider.sentences[test] or test for test in new}
    outcomes = await _outcomes(state, wider, new)
    failing: dict[str, bool] = {}
    for one in (outcome for outcome in outcomes if outcome.outcome != "passed"):
        test = one.id.partition("[")[0]  # of one that is run several times
        failing[test] = failing.get(test, False) or asserts(one)
    if failing:
        wider = joined(without_tests(wider.source, failing), "")
    whole = wider if suite.blind is None else replace(suite, blind=wider)
    return MoreTests(
        whole,
        tuple(test for test in new if test not in failing),
        tuple(sentences[test] for test, is_wrong in failing.items() if is_wrong),
        tuple(sentences[test] for test, is_wrong in failing.items() if not is_wrong),
    )


async def _outcomes(state: GenerationState, suite: TestSuite, new: Sequence[str]) -> Sequence[TestOutcome]:
    """The outcomes of the new tests on the verified function."""
    if not new:
        return ()
    program, spec = state.program(), TestSpec(suite.source, new)
    run = await state.setup.session.work_with_two(
        lambda tester, callee: tester.test(program, spec, callee=callee), without_data=True
    )
    return run.outcomes


def smallest_inputs(mutation: MutationRun, tester: Worker, callee: Worker) -> list[SmallInput]:
    """A few rows on which many changes matter, then the smallest inputs on which those matter that no test caught.

    Each input is given once. The few rows come first, because a function that is wrong in another way than its changes
    is seldom right on them. Blocks.
    """
    limit, found = TimeLimit(SEARCH_SECONDS), dict[str, SmallInput]()
    ours = SolutionWorker("the function", callee, mutation.program, mutation.known)
    changes = [one for one in mutation.found if not one.with_rows]
    parts = _parts(mutation, ours, changes, limit)
    few = _few_rows(mutation, parts)
    if few is not None:
        found[few.source] = few
    for number, tried in enumerate(changes):
        if tried.noticed_by:
            continue
        if len(found) == MOST_INPUTS or limit.is_over or not (tester.alive and callee.alive):
            break
        other = SolutionWorker("a changed function", tester, replace(mutation.program, code=tried.mutant.code))
        tables = min((part.tables for part in parts if number in part.matter), key=_rows, default=tried.tables)
        small = _smallest(mutation, tables, partial(_differ, mutation, ours, other, limit), limit)
        if small is not None:
            found.setdefault(small.source, small)
    return list(found.values())


@dataclass(frozen=True)
class _TriedPart:
    """A small part of the sample, and the numbers of the changes that matter on it."""

    tables: Tables
    matter: frozenset[int]


def _parts(
    mutation: MutationRun, ours: SolutionWorker, changes: Sequence[TriedMutant], limit: TimeLimit
) -> list[_TriedPart]:
    """Small parts of the sample, until all changes matter on one, or as far as the time allows."""
    found = list[_TriedPart]()
    if not changes:
        return found
    few = [part for part in mutation.varied.parts[:MOST_PARTS] if _rows(part) <= MOST_ROWS]
    inputs = [(part, {**mutation.others, **part}) for part in few]
    numbers = range(len(changes))
    changed = mutation.alternatives(ours.worker, [one.mutant for one in changes])
    at_once = max(1, AT_ONCE // len(changes))
    with suppress(SolutionStopped):
        ours.get_ready((one for _, one in inputs), limit)
        for start in range(0, len(inputs), at_once):
            asked = [(part, one, [{**one, NUMBER: n} for n in numbers]) for part, one in inputs[start:][:at_once]]
            changed.get_ready((call for *_, calls in asked for call in calls), limit)
            for part, one, calls in asked:
                right = ours.on(one, limit, reuse=True, kept=True)
                others = [changed.on(call, limit, reuse=True, kept=True) for call in calls]
                matter = frozenset(n for n in numbers if _are_different(mutation, right, others[n]))
                found.append(_TriedPart(part, matter))
                if len(matter) == len(changes):
                    return found
    return found


def _few_rows(mutation: MutationRun, parts: Sequence[_TriedPart]) -> SmallInput | None:
    """The part on which the most changes matter; None if none matters on one."""
    for part in sorted(parts, key=lambda part: -len(part.matter)):
        small = SmallInput.of(part.tables, {**mutation.others, **mutation.varied.tables})
        if part.matter and small is not None:
            return small
    return None


def _rows(tables: Tables) -> int:
    return sum(map(len, tables.values()))


def _smallest(mutation: MutationRun, tables: Tables, differs: Differs, limit: TimeLimit) -> SmallInput | None:
    def has_time() -> bool:
        return not limit.is_over

    tables = smallest(tables, differs, TRIALS, has_time)
    tables = simplified(tables, differs, has_time)
    return SmallInput.of(tables, {**mutation.others, **mutation.varied.tables})


def _differ(
    mutation: MutationRun, ours: SolutionWorker, other: SolutionWorker, limit: TimeLimit, tables: Mapping[str, Any]
) -> bool:
    inputs = {**mutation.others, **tables}
    try:
        answers = answers_of_both(ours, other, inputs, limit, reuse=True)
    except SolutionStopped:
        return False
    return _are_different(mutation, *answers)


def _are_different(mutation: MutationRun, one: Answer, other: Answer) -> bool:
    return not one.error and not other.error and mutation.differ(one.values, other.values)
