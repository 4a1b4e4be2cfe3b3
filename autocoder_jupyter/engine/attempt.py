"""One attempt: the tests, the sample, the user's checks and the constraints; and the examination of one that passed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.acceptance import Acceptance, run_acceptance
from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.evidence.examiner import LAYERS, Examiner
from autocoder_jupyter.engine.evidence.rows_used import FollowedRun
from autocoder_jupyter.engine.evidence.second_opinion import SecondOpinionStage
from autocoder_jupyter.engine.evidence.split import run_split
from autocoder_jupyter.engine.first_run import FirstRun, show_outputs
from autocoder_jupyter.engine.generation import GenerationSetup, GenerationState
from autocoder_jupyter.engine.queries import with_queries
from autocoder_jupyter.engine.sample_run import (
    SampleRun,
    apply_contracts,
    checks_of,
    failures_of,
    remarks,
    run_again,
    run_checks,
    run_on_sample,
    watch_of,
)
from autocoder_jupyter.engine.tests import TestSuite, blind_id
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.version_record import VerifiedTurn, VersionRecord, sources_of
from autocoder_jupyter.run.events import DatabasesUsed, EvidenceGathered, TestReported, TestsCollected
from autocoder_jupyter.run.of_report import SECOND, TRIAL
from autocoder_jupyter.sandbox.protocol import Program, TestRun, TestSpec, Worker
from autocoder_jupyter.types import CheckOutcome, Exchange, LayerCost, Report, Strength, TestFailure, TestOutcome, Usage
from autocoder_jupyter.versions.verification import shown

_Runs = tuple[TestRun | None, TestRun | None]
"""The runs of the tests and of the blind tests."""

_Outcomes = tuple[CheckOutcome, ...]


@dataclass(frozen=True)
class _Checked:
    """The user's checks and contracts on the sample.

    Args:
        values: the outputs, after their contracts were applied.
    """

    outcomes: _Outcomes = ()
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _WithoutTests:
    """The part of an attempt that needs no result of a test.

    Args:
        sample: the run on the sample, with its repetition; None if there is no sample.
        on_empty: the tests that pass on empty defaults.
        vacuous: those that pass on other values too.
    """

    sample: SampleRun | None
    checked: _Checked
    remarks: tuple[str, ...]
    on_empty: tuple[str, ...]
    vacuous: tuple[str, ...]


class Attempts:
    """Runs the attempts of one generation.

    Args:
        offer_draft: lets the current code be run although it is not verified.
        describe: prepares what the record of a verified function needs.
        first: the run of the first code that began before the tests were written; None if there is none.
    """

    def __init__(
        self,
        state: GenerationState,
        packages: GenerationPackages,
        offer_draft: Callable[[], Awaitable[None]],
        describe: Callable[[], Awaitable[object]],
        first: FirstRun | None = None,
    ) -> None:
        self._offer_draft = offer_draft
        self._describe = describe
        self._first = first
        self._state = state
        self._setup = state.setup
        self._packages = packages

    async def run(self, tests_changed: tuple[str, ...], *, shows_rows: bool = True) -> Verdict:
        """Run all tests and checks on the current code."""
        state, setup, session = self._state, self._setup, self._setup.session
        if self._first is not None:
            self._first.ahead.stop()  # the tests come first
        providing = partial(self._packages.provide, state.brief.plan, state.sources)
        lacking = await setup.stages.run("environment", providing)
        if lacking is not None:
            return Verdict(suite=state.suite, failures=(lacking,), error=lacking.error_message)
        databases, wrong = await call_blocking(lambda: with_queries(state.code, state.brief.request.databases))
        if wrong:
            return Verdict(suite=state.suite, failures=wrong)
        environment = session.environment
        verdict = await self._attempted(tests_changed, shows_rows=shows_rows)
        # A damaged environment must not lead to a fix of the code.
        if not verdict.success and await session.heal(environment):
            verdict = await self._attempted(tests_changed, shows_rows=shows_rows)
        setup.emit(EvidenceGathered(setup.stages.attempt, verdict.evidence))
        if databases and verdict.success:
            setup.emit(DatabasesUsed(databases))
        if shows_rows and verdict.success:
            await show_outputs(state, verdict.sample, is_verified=True)
        return verdict

    async def _attempted(self, tests_changed: tuple[str, ...], *, shows_rows: bool) -> Verdict:
        state, setup, program = self._state, self._setup, self._state.program()
        called = set[str]()  # workers in which tests call it
        async with asyncio.TaskGroup() as group:
            # One after the other, so that three workers are enough.
            rest = group.create_task(self._run_without_tests(program, called, shows_rows=shows_rows))
            run = setup.stages.run("run", lambda: self._run_tests(program, called))
            accepted, (tested, blind), promised = await run
            beside, divided, stated = await setup.stages.run("verify", lambda: self._verify(program, rest))
        sample, own = beside.sample, (*beside.checked.outcomes, *divided)
        failures = (
            *accepted.failures,
            *failures_of((*own, *promised)),
            *(sample.failures(state.redaction) if sample else ()),
            *failures_of(stated),
        )
        accepted = replace(accepted, outcomes=(*accepted.outcomes, *own, *promised), failures=())
        return Verdict(
            state.suite,
            tested,
            sample,
            stated,
            beside.vacuous,
            failures,
            tests_changed,
            "",
            accepted,
            blind,
            beside.remarks,
            on_empty=beside.on_empty,
        )

    def _remarks(self, sample: SampleRun | None) -> tuple[str, ...]:
        state = self._state
        if sample is None or sample.error is not None:
            return ()
        declared = {column.name for output in state.brief.plan.outputs for column in output.columns}
        shows = state.redaction.shows_values
        found = remarks(sample.values, state.brief.request.samples, None if shows else declared)
        return tuple(map(state.redaction.masked, found))

    async def _run_tests(self, program: Program, called: set[str]) -> tuple[Acceptance, _Runs, _Outcomes]:
        """The results of the user's examples and tests, and of the other tests; and whether the outputs of all these
        calls satisfied their contracts. The id of the worker in which they call the function is added to `called`.
        """
        state, setup, suite, redaction = self._state, self._setup, self._state.suite, self._state.redaction
        brief = state.brief
        if suite is None and not brief.request.has_acceptance:
            return Acceptance(), (None, None), ()
        if suite is not None:
            setup.emit(TestsCollected(suite.all_ids))

        def report(outcome: TestOutcome) -> None:
            setup.emit(TestReported(outcome))

        def report_blind(outcome: TestOutcome) -> None:
            report(outcome.model_copy(update={"id": blind_id(outcome.id)}))

        watch = watch_of(brief.request.contracts, [spec.name for spec in program.outputs], self._setup.hidden_values)

        def accept(worker: Worker, callee: Worker) -> Acceptance:
            called.add(callee.id)
            return run_acceptance(worker, callee, program, brief.request, brief.plan, redaction, watch)

        def test(worker: Worker, callee: Worker) -> _Runs:
            called.add(callee.id)

            def tested(module: TestSuite | None, on_report: Callable[[TestOutcome], None]) -> TestRun | None:
                if module is None:
                    return None
                spec = TestSpec(module.source, module.ids, on_report=on_report, on_call=watch)
                return worker.test(program, spec, callee=callee)

            blind = tested(suite.blind, report_blind) if suite else None
            return tested(suite, report), blind

        session = setup.session
        accepted = await session.work_with_two(accept) if brief.request.has_acceptance else Acceptance()
        runs = await session.work_with_two(test, without_data=True) if suite is not None else (None, None)
        return accepted, runs, watch.outcomes(redaction) if watch else ()

    async def _run_without_tests(self, program: Program, called: set[str], *, shows_rows: bool) -> _WithoutTests:
        """The sample, the user's checks of it, and the tests on stubs."""
        state, session, again = self._state, self._setup.session, None
        samples, redaction = state.brief.request.samples, state.redaction
        sample = await self._first.take(program) if self._first is not None else None
        if self._first is not None and sample is not None:  # its rows are shown
            again = await self._first.take_repetition()
        else:
            sample = await run_on_sample(session, program, samples, redaction)
            if shows_rows and sample is not None and sample.error is None:
                await self._offer_draft()  # the card says that a draft runs the code whose rows it shows
                await show_outputs(state, sample, is_verified=False)
        checked, stubs = await self._checked(program, sample), await self._stubs_pass(program)
        if again is None:
            seen_by = {*called, *([sample.worker] if sample else [])}
            again = await run_again(session, program, samples, sample, redaction, other_than=seen_by)
        found = await call_blocking(lambda: self._remarks(again))
        await self._describe()
        return _WithoutTests(again, checked, found, *stubs)

    async def _checked(self, program: Program, sample: SampleRun | None) -> _Checked:
        """The user's checks and contracts on the sample."""
        if sample is None or sample.error is not None:
            return _Checked()
        session, request, redaction = self._setup.session, self._state.brief.request, self._state.redaction
        checks = checks_of(request, self._state.brief.plan)
        values, promised = await apply_contracts(request.contracts, sample, redaction, self._setup.hidden_values)
        own = await run_checks(session, checks, program, request.samples, values, redaction=redaction)
        return _Checked((*own, *promised), values)

    async def _stubs_pass(self, program: Program) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tests that pass on empty defaults, and those that pass on other values too."""
        suite = self._state.suite
        if suite is None:
            return (), ()
        runs = self._state.stub_runs
        own = await runs.passing(program, suite)
        if suite.blind is None:
            return own
        blind = await runs.passing(program, suite.blind)
        return (*own[0], *map(blind_id, blind[0])), (*own[1], *map(blind_id, blind[1]))

    async def _verify(
        self, program: Program, rest: asyncio.Task[_WithoutTests]
    ) -> tuple[_WithoutTests, _Outcomes, _Outcomes]:
        """The part without tests, then the demanded split and the constraints on the outputs."""
        state, session, request = self._state, self._setup.session, self._state.brief.request
        samples, redaction = request.samples, state.redaction
        beside = await rest
        sample = beside.sample
        if sample is None or sample.error is not None:
            return beside, (), ()
        divided = await run_split(session, request.split, program, samples, redaction)
        values = beside.checked.values
        stated = await state.constraints.evaluate(session, values, samples, show_values=redaction.shows_values)
        return beside, divided, stated


# Examination
#
# The verdict on a function is worth as much as its tests. These are examined while a second opinion is got.


class Examination:
    """Examines the verified functions of one generation, with its second opinion.

    Args:
        second_opinion: gets the second opinion.
        record: the record of the generation; the function that can be used already is offered there.
    """

    def __init__(self, setup: GenerationSetup, second_opinion: SecondOpinionStage, record: VersionRecord) -> None:
        self._setup = setup
        self._second_opinion = second_opinion
        self._record = record
        self._seconds_left = setup.config.second_opinion_seconds
        """How long verified functions of this generation may still wait. While one is changed, none waits."""
        self.examiner = Examiner(setup)

    async def examine(
        self, state: GenerationState, attempts: Attempts, verdict: Verdict
    ) -> tuple[VerifiedTurn, Verdict]:
        """Find out what the verdict on a verified function is worth, and get the second opinion meanwhile."""
        record, suite, turn = self._record, state.suite, self._record.turns[-1]
        until = time.monotonic() + self._seconds_left
        known = await call_blocking(self._verified_before)
        found = known.evidence.strength if known is not None else None
        is_examined = self.examiner.lacks(found)
        beside = (*((SECOND,) if self._second_opinion.is_wanted else ()), *((TRIAL,) if is_examined else ()))
        if beside:
            await record.offer_verified(beside)
        examining = asyncio.create_task(self._examined(state, verdict, found))
        try:
            extended = await self._second_opinion.compare(
                state, verdict, self._seconds_left, may_doubt=record.may_be_changed
            )
            run, strength = await examining
        finally:
            examining.cancel()
        self._seconds_left = max(until - time.monotonic(), 0.0)
        fault: TestFailure | None = None
        if strength is not None:
            agreed, may_doubt = self._second_opinion.agreed, record.may_be_changed and extended.success
            strength = await self.examiner.judged(strength, agreed)
            strength, fault = await self.examiner.on_properties(
                state, strength, agreed, self._seconds_left, may_doubt=may_doubt
            )
        verdict = replace(verdict, strength=strength, followed=run)
        verified = VerifiedTurn(replace(turn, verdict=verdict), suite)
        extended = replace(extended, strength=strength, followed=run)
        if extended.success and strength is not None and record.may_be_changed:
            fault = fault or await self.examiner.doubt(state, self._second_opinion.agreed)
            if fault is not None:
                extended = replace(extended, failures=(*extended.failures, fault))
            else:
                extended = await self._with_further_tests(state, attempts, extended, strength)
        before = {cost.layer: _paid_before(cost) for cost in (known.evidence.costs if known is not None else ())}
        now = {cost.layer: cost for cost in self._costs(extended)}
        extended = replace(extended, costs=tuple({**now, **before}.values()))
        self._setup.emit(EvidenceGathered(turn.number, extended.evidence))
        return verified, extended

    def _verified_before(self) -> Report | None:
        """The report of a kept function that was verified here before: it has the same tests."""
        kept, versions = self._record.start.kept, self._setup.services.journal.versions
        known = shown(versions, kept) if kept is not None else None
        return known[1] if known is not None and known[0] == "ready" else None

    async def _examined(
        self, state: GenerationState, verdict: Verdict, found: Strength | None
    ) -> tuple[FollowedRun, Strength | None]:
        """Which rows of this sample are used and lost, and what the tests are worth. Of a kept function, the latter is
        what was found before, and is completed if that lacks something.
        """
        run = await self.examiner.follow(state, verdict.sample)
        return run, await self.examiner.examine(state, found) if self.examiner.lacks(found) else found

    async def _with_further_tests(
        self, state: GenerationState, attempts: Attempts, verdict: Verdict, strength: Strength
    ) -> Verdict:
        """Add tests of changes that no test noticed, and test the function with them."""
        before = state.suite
        suite, strength = await self.examiner.further_tests(state, strength, self._seconds_left)
        if suite is None or before is None:
            return replace(verdict, strength=strength)
        state.set_suite(suite)
        wider = None
        with suppress(Exception):  # a sandbox that fails now loses no function that was verified
            wider = await attempts.run(verdict.tests_changed, shows_rows=False)
        if wider is None or not wider.success:  # each new test passed alone; the function stays as it was verified
            state.set_suite(before)
            self._setup.emit(TestsCollected(before.all_ids))
            return replace(verdict, strength=strength.model_copy(update={"added": ()}))
        _, tests, blind = sources_of(state)
        self._record.change_last(tests=tests, blind=blind)
        strength = await self.examiner.again(suite, strength)
        return replace(wider, strength=strength, followed=verdict.followed)

    def _costs(self, verdict: Verdict) -> tuple[LayerCost, ...]:
        """What each layer of the evidence took, the tests first."""
        setup, tests = self._setup, verdict.evidence.tests
        asked = [exchange for exchange in setup.conversation.exchanges if exchange.stage == "tests"]
        ran = _cost("tests", asked, sum(outcome.seconds for outcome in tests))
        second = _cost(SECOND, setup.second_conversation.exchanges, self._second_opinion.seconds)
        took = self.examiner.seconds
        others = (_cost(layer, (), took[layer]) for layer in LAYERS if layer in took)
        has_second = second.tokens or second.recorded or second.seconds
        return (*((ran,) if tests else ()), *((second,) if has_second else ()), *others)


def _cost(layer: str, asked: Sequence[Exchange], seconds: float) -> LayerCost:
    """What a layer took, with its questions."""
    paid, recorded = (_tokens(usages) for usages in ([e.usage for e in asked], [e.recorded for e in asked]))
    return LayerCost(layer=layer, tokens=paid, recorded=recorded, seconds=seconds)


def _tokens(usages: Iterable[Usage]) -> int:
    return sum(usage.input_tokens + usage.output_tokens for usage in usages)


def _paid_before(cost: LayerCost) -> LayerCost:
    """A cost that an earlier run had."""
    return cost.model_copy(update={"tokens": 0, "recorded": cost.tokens + cost.recorded})
