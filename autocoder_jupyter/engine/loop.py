"""The loop of a generation: plan, code and tests, packages, attempts in the sandbox, fixes; until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.data.foreign import drawn_samples
from autocoder_jupyter.engine import surroundings
from autocoder_jupyter.engine.attempt import Trials
from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.compare import changes_since
from autocoder_jupyter.engine.constraints import Constraints
from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.first_run import FirstRun
from autocoder_jupyter.engine.first_tests import write_further_tests
from autocoder_jupyter.engine.generation_setup import GenerationSetup
from autocoder_jupyter.engine.generation_state import GenerationState
from autocoder_jupyter.engine.planning import Planned, make_brief
from autocoder_jupyter.engine.prepare import prepare, request_record
from autocoder_jupyter.engine.report import (
    GenerationOutcome,
    Turn,
    build_report,
    carried_report,
    kept_report,
    sample_schemas,
    sources_of,
)
from autocoder_jupyter.engine.sample_values import recordable_values, sample_drift
from autocoder_jupyter.engine.second_opinion.opinion import SOLUTION, Adviser
from autocoder_jupyter.engine.services import Services
from autocoder_jupyter.engine.splitting.demanded import declared
from autocoder_jupyter.engine.stage_runner import innermost
from autocoder_jupyter.engine.start import Draft, Start, start_of
from autocoder_jupyter.engine.strength.examiner import Examiner
from autocoder_jupyter.engine.tests import TestSuite, read_suites
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.writer import Writer, WriterFactory
from autocoder_jupyter.errors import AutocodeError, BudgetSpent, DataDrift, Locked, UnusableAnswer
from autocoder_jupyter.request import AgentConfig, Earlier, Request
from autocoder_jupyter.run.events import (
    DriftFound,
    EndState,
    EvidenceGathered,
    Finished,
    FunctionVerified,
    KeptHolds,
    Noticed,
    OpinionGiven,
    OptionOffered,
    PlanReady,
    SamplesDrawn,
    SuiteChanged,
    VersionBegun,
    VersionsCompared,
)
from autocoder_jupyter.run.verified import SECOND, TRIAL
from autocoder_jupyter.sandbox.environments import cleanup
from autocoder_jupyter.settings.efforts import EFFORTS
from autocoder_jupyter.types import LayerCost, Report, SecondOpinion, Strength
from autocoder_jupyter.versions.request_lock import hold_lock, holder_words, lock_of, remove_old
from autocoder_jupyter.versions.verification import keep_evidence, shown, untold_problem

_ELSEWHERE = "Another kernel{holder} works on the same request. This one waits for its result, and uses it."

SECOND_AFTER = 1.0
"""Seconds after the plan in which a second solution is not asked for yet, unless the code is there."""

SAME_FAILURE_LIMIT = 4
"""The number of attempts with exactly the same failure after which the loop gives up."""


async def generate(
    request: Request, config: AgentConfig, services: Services, writers: WriterFactory, draft: Draft | None = None
) -> Report:
    """Generate a function for a request, and verify it.

    A function that is kept for the request is verified on today's samples. A model is asked only if it fails.

    Args:
        request: the request.
        config: the settings.
        services: model, sandbox, journal, and the tracker of the run.
        writers: makes the writer of code and tests, by stages or as an agent.
        draft: a function to start from instead of the kept one. The model is asked only for the parts that it lacks.

    Returns:
        The report, also of a failure: then `success` is False, `error` says why, and code and tests are those of the
        best attempt.

    Raises:
        AutocodeError: an error that no further attempt could fix: data that cannot cross, no key, no sandbox.
        asyncio.CancelledError: cancelled; the model call and the sandbox are stopped.
    """
    begun = _Begun(writers, draft)
    budget = Budget(config.max_tokens, config.max_cost, config.max_seconds)
    try:
        prepared = await call_blocking(lambda: prepare(request, config))
        setup = GenerationSetup.of(request, config, services, prepared, budget)
        return await _in_turn(setup, begun)
    except asyncio.CancelledError as cancelled:
        services.emit(Finished("cancelled", str(cancelled)))
        raise
    except Exception as error:
        raised = innermost(error)
    if isinstance(raised, DataDrift) and raised.option:
        services.emit(OptionOffered(raised.option))
    services.emit(Finished("failed", str(raised)))
    # Raised here without its context, because IPython prints a long stack for an error from a task group.
    raised.__context__ = None
    raise raised


@dataclass(frozen=True)
class _Begun:
    """A generation that has begun.

    Args:
        writers: makes its writer.
        draft: a function to start from instead of the kept one.
    """

    writers: WriterFactory
    draft: Draft | None


async def _in_turn(setup: GenerationSetup, begun: _Begun) -> Report:
    """Generate when no other kernel works on the same request: the second one then finds the first one's result."""
    if setup.config.cache == "disable":
        return await _generated(setup, begun)
    journal, key = setup.services.journal, setup.prepared.key.id
    lock = await call_blocking(lambda: lock_of(cache_folder(), journal.root, journal.name, key))
    await call_blocking(lambda: cleanup.daily("request_locks", lambda before: remove_old(cache_folder(), before)))
    async with hold_lock(lock, lambda: setup.emit(Noticed(_ELSEWHERE.format(holder=holder_words(lock))))):
        return await _generated(setup, begun)


async def _generated(setup: GenerationSetup, begun: _Begun) -> Report:
    versions, packages = setup.services.journal.versions, Packages(setup)
    start = await call_blocking(lambda: start_of(setup.request, setup.config, setup.prepared, versions, begun.draft))
    opened = await _open_version(setup, packages, start)
    return await _Generation(setup, packages, opened, begun).run()


@dataclass(frozen=True)
class _OpenVersion:
    """The version whose folder is open.

    Args:
        start: where it starts from.
        environment: the text about versions of Python and packages for the model.
        context: the text about the data and the environment for the model.
    """

    start: Start
    environment: str
    context: str


async def _open_version(setup: GenerationSetup, packages: Packages, start: Start) -> _OpenVersion:
    """Open the folder of a version. The request is written there before anything is sent."""
    journal, config = setup.services.journal, setup.config
    await call_blocking(lambda: journal.begin(start.version))
    environment = _told_environment(setup, packages)
    is_made = start.kept is None and (not config.locked or start.carried is not None)
    if is_made:  # a run that asks no model sends nothing
        record = request_record(setup.request, config, setup.prepared.key)
        journal.write_request(record, setup.prepared.context.sent())
    setup.services.tell_notes()
    is_kept = start.kept is not None
    author = start.draft.author if start.draft is not None else "model"
    is_new = start.has_before and start.draft is None and setup.request.earlier is None
    is_new = is_new and config.cache == "auto"
    written = start.written or (config.model if start.kept is None and author == "model" else "")
    setup.emit(VersionBegun(start.version, start.why, is_kept, start.has_before, author, is_new, written))
    if drawn := drawn_samples(setup.request.samples):
        setup.emit(SamplesDrawn(drawn))
    if start.withheld:
        setup.emit(Noticed(start.withheld))
    return _OpenVersion(start, environment, surroundings.with_versions(setup.prepared.context.text, environment))


def _told_environment(setup: GenerationSetup, packages: Packages) -> str:
    """The text about the environment for the model: the recorded one, if the journal has one."""
    journal, key = setup.services.journal, setup.prepared.key.id
    before = surroundings.recalled(journal, key) if setup.config.cache == "auto" else ""
    lock = setup.prepared.pinned or setup.session.recorded_lock(packages.of_the_base(), ())
    return before or surroundings.versions(setup.config, lock)


@dataclass(frozen=True)
class _Verified:
    """An attempt that passed, with its tests."""

    turn: Turn
    suite: TestSuite | None


_Described = tuple[Constraints | None, Mapping[str, dict[str, Any]], Mapping[str, dict[str, Any]]]
"""The constraints, and the schemas and values of the samples under them."""


class _Generation:
    """One generation, from its open version to its report.

    Args:
        setup: the setup of the generation.
        packages: its packages.
        version: the open version. It is replaced by a new one if a kept function fails.
        begun: its writers, and the function that it starts from.
    """

    def __init__(self, setup: GenerationSetup, packages: Packages, version: _OpenVersion, begun: _Begun) -> None:
        self._setup = setup
        self._packages = packages
        self._version = version
        self._begun = begun
        self._adviser = Adviser(setup, packages)
        self._examiner = Examiner(setup)
        self._state: GenerationState | None = None  # it may end before there is a plan
        self._writer: Writer | None = None  # like the state
        self._first: FirstRun | None = None  # begins with the first code
        self._turns: list[Turn] = []
        self._limit = ""  # the setting whose limit ended it
        self._doubted: _Verified | None = None  # verified, and then doubted by a second opinion
        self._overturned: _OpenVersion | None = None  # the version of that function
        self._offered: Report | None = None  # of a function that can be used already
        self._described: _Described | None = None  # the samples, which are read once

    async def run(self) -> Report:
        """Run the generation, within the seconds of the budget."""
        setup, over, reason = self._setup, False, ""
        try:
            async with asyncio.timeout(setup.budget.seconds_left) as deadline:
                state, writer = await self._drafted()
                reason = await self._try_until_it_holds(state, writer)
                if self._doubted is None:
                    await self._compare(state, self._turns[-1])
        except asyncio.CancelledError:
            if self._offered is not None:
                self._adviser.stop("It was cancelled.")
                told = {"second_opinion": self._adviser.opinion or self._offered.second_opinion}
                self._offer(self._offered.model_copy(update={**told, "usage": setup.budget.used}))
                setup.emit(Finished("ready"))
            raise
        except TimeoutError:
            if not deadline.expired():
                raise
            over, self._limit = True, "max_seconds"
            reason = f"The {setup.budget.seconds:g} seconds of the budget are over. Raise max_seconds and run again."
        except Exception as error:
            raised = innermost(error)
            if isinstance(raised, Locked):
                raised.why = self._why_asked
            has_one = self._doubted is not None or (self._turns and self._turns[-1].verdict.success)
            if not has_one and not isinstance(raised, BudgetSpent | UnusableAnswer):
                raise
            over, reason = isinstance(raised, BudgetSpent), str(raised)
            self._limit = getattr(raised, "limit", "")
            if self._turns:
                reason += f"\nStill to fix: {self._turns[-1].verdict.summary}"
        finally:
            self._adviser.stop()
            if self._first is not None:
                self._first.stop()
            if self._writer is not None:
                await self._writer.close()
        if self._doubted is not None and self._state is not None:
            await self._restore(self._state, self._doubted)
            over, reason, self._limit = False, "", ""
        if reason and not over and not self._packages.way_out:
            setup.services.journal.reject(setup.stages.answers_at_fault)
        setup.services.tracker.stop()
        report = self._recorded(await self._report(reason))
        state_at_end: EndState = "ready" if report.success else ("over_budget" if over else "failed")
        setup.emit(Finished(state_at_end, report.error or report.overspent, self._limit, report.attempts))
        return report

    async def _report(self, reason: str, turns: Sequence[Turn] | None = None) -> Report:
        setup, state, version = self._setup, self._state, self._version
        constraints = state.constraints if state is not None else None
        if self._described is None or self._described[0] is not constraints:
            schemas = await call_blocking(lambda: sample_schemas(setup, constraints))
            self._described = constraints, schemas, await call_blocking(lambda: recordable_values(setup))
        outcome = GenerationOutcome(
            reason="\n".join(line for line in (reason, self._packages.way_out) if line),
            trace=self._writer.trace if self._writer is not None else None,
            schemas=self._described[1],
            values=self._described[2],
        )
        context = state.brief.context if state is not None else version.context
        tried = self._turns if turns is None else turns
        return build_report(setup, version.start, context, state, self._packages, tried, outcome)

    @property
    def _why_asked(self) -> str:
        """A sentence about why the recorded answers cannot be used."""
        setup = self._setup
        if setup.services.journal.is_empty:
            return f"Nothing is recorded under {setup.request.name} in this .autocode folder."
        if not self._version.start.why:
            return "The prompts, the samples or an earlier answer are not as they were recorded."
        return f"What changed since it was recorded: {self._version.start.why}."

    def _recorded(self, report: Report) -> Report:
        """The report that the caller gets. That of a new version is written to disk."""
        setup = self._setup
        if (kept := self._version.start.kept) is not None:
            if not report.success:
                return report
            self._keep_sources(kept.report)
            report = kept_report(report, setup, kept)
            keep_evidence(setup.services.journal.versions, kept, report)
            self._tell_key_problem()
            setup.emit(KeptHolds(report.kept or ""))
            if report.second_opinion is not None:
                setup.emit(OpinionGiven(report.second_opinion))
            if report.trace is not None and report.trace.suite_changed:
                setup.emit(SuiteChanged(report.trace.suite_changed))
        elif setup.config.cache != "disable":
            if (carried := self._version.start.carried) is not None and report.success:
                report = carried_report(report, setup, carried)
                if report.second_opinion is not None:
                    setup.emit(OpinionGiven(report.second_opinion))
                if report.trace is not None and report.trace.suite_changed:
                    setup.emit(SuiteChanged(report.trace.suite_changed))
            self._keep(report)
        return report

    def _keep(self, report: Report, *, is_last: bool = True) -> None:
        """Write the report. If the disk is full, a function that passed is still returned."""
        try:
            self._setup.services.journal.write_report(report, is_last=is_last)
            if report.success:
                self._setup.services.journal.versions.made(report.request_key, report.run_id)
                self._tell_key_problem()
            self._setup.services.journal.show_current()
            if report.author == "you" and not report.success:
                where = self._setup.services.journal.folder
                self._setup.emit(Noticed(f"Your edit is kept in {where}. Edit it there, or again what runs now."))
        except AutocodeError as error:
            self._setup.emit(
                Noticed(
                    f"The report of {report.name} could not be written ({error.why.rstrip('.')}). It is lost when this "
                    "kernel ends. Free space and run the cell again; that asks no model."
                )
            )
        self._setup.services.tell_notes()

    def _tell_key_problem(self) -> None:
        if problem := untold_problem():
            self._setup.emit(Noticed(problem))

    def _keep_sources(self, report: Report) -> None:
        """Restore lost or damaged files of a kept version. The function itself needs none of them."""
        with suppress(AutocodeError):
            self._setup.services.journal.write_sources(report)
            self._setup.services.journal.show_current()
        self._setup.services.tell_notes()

    async def _drafted(self) -> tuple[GenerationState, Writer]:
        """State and writer of the first attempt, from the draft or from the model."""
        draft = self._version.start.draft
        if draft is None:
            return await self._asked_for()
        if (before := self._version.start.existing) is not None and self._setup.config.drift == "on":
            found = await call_blocking(lambda: sample_drift(self._setup, before))
            if found:
                self._setup.emit(DriftFound(found))
        state, writer = self._taken(draft)
        await self._test_what_was_added(state)
        return state, writer

    async def _test_what_was_added(self, state: GenerationState) -> None:
        """Ask for tests of the added constraints that no rule can read, if an existing function is tested first."""
        setup, added = self._setup, self._version.start.added
        if not any(sentence in state.constraints.unread for sentence in added):
            return
        await state.constraints.ask_about_the_rest(setup.talk, setup.services.journal)
        left = [sentence for sentence in added if sentence in state.constraints.unread]
        if left and not setup.config.skip_tests:
            state.set_suite(await setup.stages.run("tests", partial(write_further_tests, state, left)))

    def _taken(self, draft: Draft) -> tuple[GenerationState, Writer]:
        setup, version = self._setup, self._version
        if draft.author == "you" and version.start.kept is None:
            setup.services.journal.write_draft(draft.code, draft.tests, draft.parent)
        state, writer = self._planned(Planned(Brief(setup.request, draft.plan, version.context)))
        if self._lacks_answers and not setup.config.locked:
            self._adviser.begin(setup.request, version.context)
        state.constraints.recall(setup.services.journal)
        if draft.tests:
            state.set_suite(read_suites(draft.tests, draft.blind))
        state.set_code(draft.code)
        return state, writer

    @property
    def _lacks_answers(self) -> bool:
        """Whether a question of the second opinion had no answer when the kept function was made."""
        kept = self._version.start.kept
        opinion = kept.report.second_opinion if kept is not None else None
        return opinion is not None and bool(opinion.unanswered)

    async def _asked_for(self) -> tuple[GenerationState, Writer]:
        """Plan; then code, tests, constraints and a second solution, while the base environment is built."""
        setup, version = self._setup, self._version
        if setup.config.cache != "disable":
            surroundings.record(setup.services.journal, setup.prepared.key.id, version.environment)
        async with asyncio.TaskGroup() as group:
            self._packages.begin_base(group)
            state, writer = self._planned(await setup.stages.run("plan", self._make_brief))
            self._first = FirstRun(state, self._packages, self._offer_draft)
            writing = group.create_task(writer.write())
            group.create_task(state.constraints.ask_about_the_rest(setup.talk, setup.services.journal))
            with suppress(TimeoutError):  # many local models answer one question after the other
                await asyncio.wait_for(state.has_code.wait(), SECOND_AFTER)
            self._adviser.begin(state.brief.request, version.context)
            await writing
        return state, writer

    async def _offer_draft(self) -> None:
        """Let the code be run as it is, for whoever does not want to wait until it is verified."""
        setup, version, state = self._setup, self._version, self._state
        outcome = GenerationOutcome("It is a draft: it has passed no test yet.")
        context = state.brief.context if state is not None else version.context
        setup.services.offer(build_report(setup, version.start, context, state, self._packages, (), outcome))

    async def _make_brief(self) -> Planned:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._begun.writers.prepare())
            return await make_brief(self._setup, self._version.context)

    def _planned(self, planned: Planned) -> tuple[GenerationState, Writer]:
        """The state and the writer, once there is a plan."""
        setup, brief = self._setup, planned.brief
        text, samples = brief.request.split, brief.request.samples
        split = declared(text, brief.plan.inputs, samples) if text else None
        brief = replace(brief, plan=brief.plan.model_copy(update={"split": split}))
        setup.emit(PlanReady(brief.plan))
        constraints = Constraints.read(brief.request.constraints, setup.told_samples, brief.plan)
        self._state = state = GenerationState(setup, brief, constraints, planned.choices)
        self._writer = writer = self._begun.writers.create(state, self._packages)
        return state, writer

    async def _try_until_it_holds(self, state: GenerationState, writer: Writer) -> str:
        """Attempt and fix. Returns the reason for giving up, or "" on success."""
        setup, stages, trials = self._setup, self._setup.stages, Trials(state, self._packages, self._first)
        number = 0
        while number < stages.attempts_allowed:
            stages.attempt = number = number + 1
            verdict = await trials.attempt(writer.tests_changed)
            code, tests, blind = sources_of(state)
            self._turns.append(Turn(number, code, tests, verdict, blind))
            if verdict.success:
                verified, verdict = await self._examined(state, trials, verdict)
                self._doubted = None if verdict.success else verified
                if self._doubted is not None:
                    await self._begin_another(self._doubted)
                self._turns[-1] = replace(self._turns[-1], verdict=verdict)
            if self._version.start.carried is not None:
                self._judge_carried(verdict)
            if verdict.success or self._version.start.as_is:
                return "" if verdict.success else self._as_it_is(verdict)
            if verdict.accepted.broken:
                return verdict.accepted.broken
            if self._version.start.kept is not None:
                await self._ask_anew(state, verdict.summary)
            exchanges = setup.talk.exchanges
            said = len(exchanges)
            if number == 1:
                stages.answers_at_fault = exchanges[:]
            if number == stages.attempts_allowed:
                break
            if self._same_failures() >= SAME_FAILURE_LIMIT:
                return f"No progress: the same failure {SAME_FAILURE_LIMIT} times in a row. {verdict.summary}"
            before = writer.snapshot
            diagnosis = await writer.fix(verdict)
            self._turns[-1] = replace(self._turns[-1], diagnosis=diagnosis)
            stages.answers_at_fault = exchanges[said:] or stages.answers_at_fault
            if writer.snapshot == before:
                return f"No progress: the model made no further change. {verdict.summary}"
        self._limit = "" if setup.config.skip_tests else "max_iterations"
        attempts = f"{stages.attempts_allowed} attempt{'s' if stages.attempts_allowed > 1 else ''}"
        reason = f"Not solved in {attempts}. {verdict.summary}"
        return "\n".join([reason, *map(str, writer.unusable[-1:])])

    async def _examined(self, state: GenerationState, trials: Trials, verdict: Verdict) -> tuple[_Verified, Verdict]:
        """Find out what the verdict on a verified function is worth, and get the second opinion meanwhile.

        Returns:
            The attempt that passed; and the verdict, which is a failed one if the second opinion shows an error.
        """
        suite, turn = state.suite, self._turns[-1]
        known = await call_blocking(self._examined_before)
        is_examined = EFFORTS[self._setup.config.effort].is_examined and known is None
        beside = (*((SECOND,) if self._adviser.is_wanted else ()), *((TRIAL,) if is_examined else ()))
        if beside:
            await self._use_already(beside)
        examining = asyncio.create_task(self._strength(state, known))
        try:
            weighed = await self._adviser.weigh(state, verdict, may_doubt=self._may_be_changed)
            strength = await examining
        finally:
            examining.cancel()
        verified = _Verified(replace(turn, verdict=replace(verdict, strength=strength)), suite)
        weighed = replace(weighed, strength=strength)
        if weighed.success and strength is not None and self._may_be_changed:
            fault = await self._examiner.doubt(state, self._adviser.agreed)
            if fault is not None:
                weighed = replace(weighed, failures=(*weighed.failures, fault))
            else:
                weighed = await self._with_further_tests(state, trials, weighed, strength)
        weighed = replace(weighed, costs=self._costs(weighed))
        self._setup.emit(EvidenceGathered(turn.number, weighed.evidence))
        return verified, weighed

    def _costs(self, verdict: Verdict) -> tuple[LayerCost, ...]:
        """What each layer of the evidence took, the tests first."""
        setup, tests = self._setup, verdict.evidence.tests
        asked = [exchange.usage for exchange in setup.talk.exchanges if exchange.stage == "tests"]
        tokens = sum(usage.input_tokens + usage.output_tokens for usage in asked)
        ran = LayerCost(layer="tests", tokens=tokens, seconds=sum(outcome.seconds for outcome in tests))
        spent = setup.second_talk.spent
        second = LayerCost(
            layer="second opinion", tokens=spent.input_tokens + spent.output_tokens, seconds=self._adviser.seconds
        )
        others = (LayerCost(layer=layer, seconds=seconds) for layer, seconds in self._examiner.seconds.items())
        return (*((ran,) if tests else ()), *((second,) if second.tokens or second.seconds else ()), *others)

    async def _with_further_tests(
        self, state: GenerationState, trials: Trials, verdict: Verdict, strength: Strength
    ) -> Verdict:
        """Add tests of changes that no test noticed, and test the function with them."""
        before = state.suite
        suite, strength = await self._examiner.further_tests(state, strength)
        if suite is None or before is None:
            return replace(verdict, strength=strength)
        state.set_suite(suite)
        wider = None
        with suppress(Exception):  # a sandbox that fails now loses no function that was verified
            wider = await trials.attempt(verdict.tests_changed)
        if wider is None or not wider.success:  # each new test passed alone; the function stays as it was verified
            state.set_suite(before)
            return replace(verdict, strength=strength.model_copy(update={"added": ()}))
        _, tests, blind = sources_of(state)
        self._turns[-1] = replace(self._turns[-1], tests=tests, blind=blind)
        return replace(wider, strength=await self._examiner.again(suite, strength))

    async def _use_already(self, beside: tuple[str, ...]) -> None:
        """Let the verified function be used while the rest runs, and record it, so that nothing loses it."""
        setup, start = self._setup, self._version.start
        report = await self._report("")
        waits = SECOND in beside
        if start.kept is not None:
            report = kept_report(report, setup, start.kept)
        elif start.carried is not None:
            report = carried_report(report, setup, start.carried)
        if start.kept is None and setup.config.cache != "disable":
            note = "It was still running when this was recorded."
            missing = SecondOpinion(note=note, unanswered=(SOLUTION,)) if waits else report.second_opinion
            self._keep(report.model_copy(update={"second_opinion": missing}), is_last=False)
        running = SecondOpinion(state="running") if waits else report.second_opinion
        self._offer(report.model_copy(update={"second_opinion": running}))
        setup.emit(FunctionVerified(setup.stages.attempt, beside))

    def _offer(self, report: Report | None) -> None:
        self._offered = report
        self._setup.services.offer(report)

    async def _begin_another(self, doubted: _Verified) -> None:
        """The second opinion found an error: the verified function stays a version, and its change is a new one."""
        setup, journal = self._setup, self._setup.services.journal
        if setup.config.cache != "disable":
            report = await self._report("", (*self._turns[:-1], doubted.turn))
            opinion = self._adviser.doubt or self._adviser.opinion
            self._keep(report.model_copy(update={"second_opinion": opinion}), is_last=False)
            key, made = setup.prepared.key.id, self._version.start.version
            version = await call_blocking(lambda: journal.versions.free_id(key))
            known = await call_blocking(lambda: journal.versions.get(made))
            self._overturned = self._version
            by = "the second opinion" if self._adviser.doubt else "a change of the data"
            start = self._version.start.overturned(version, known.number if known else 1, by)
            self._version = await _open_version(setup, self._packages, start)
        self._offer(None)
        setup.emit(FunctionVerified(setup.stages.attempt))

    def _examined_before(self) -> Report | None:
        """The report of a kept function that was examined here before: it has the same tests."""
        kept, versions = self._version.start.kept, self._setup.services.journal.versions
        known = shown(versions, kept) if kept is not None else None
        return known[1] if known is not None and known[0] == "ready" else None

    async def _strength(self, state: GenerationState, known: Report | None) -> Strength | None:
        """What the tests are worth; of a kept function, what was found before."""
        return await self._examiner.examine(state) if known is None else known.evidence.strength

    def _as_it_is(self, verdict: Verdict) -> str:
        """The failure of a function that is not sent to be fixed."""
        way = " It was not sent to be fixed; --refresh writes it with what is shared now."
        return f"{verdict.summary}{way if self._version.start.withheld else ''}"

    async def _restore(self, state: GenerationState, verified: _Verified) -> None:
        """Return to the function that was verified, because no attempt after the doubt about it passed."""
        turn = verified.turn
        if self._overturned is not None:
            await self._return_to(self._overturned, turn)
        self._turns = [turn if other.number == turn.number else other for other in self._turns]
        state.set_code(turn.code)
        if verified.suite is not None:
            state.set_suite(verified.suite)
        await self._packages.provide(state.brief.plan, state.sources)
        self._setup.emit(EvidenceGathered(turn.number, turn.verdict.evidence))
        self._adviser.restore()
        await self._compare(state, turn)

    async def _return_to(self, version: _OpenVersion, verified: Turn) -> None:
        """Record the attempts to change a version as a failed one, and open that version again."""
        setup = self._setup
        later = [turn for turn in self._turns if turn.number != verified.number]
        self._keep(await self._report("No change of the function passed.", later))
        self._version = version
        journal = setup.services.journal
        await call_blocking(lambda: journal.begin(version.start.version))
        record = request_record(setup.request, setup.config, setup.prepared.key)
        journal.write_request(record, setup.prepared.context.sent())
        start = version.start
        setup.emit(VersionBegun(start.version, start.why, False, start.has_before, writer=start.written))

    async def _compare(self, state: GenerationState, turn: Turn) -> None:
        """Compare with the version that this one was made from, and emit the differences."""
        choices = state.choices
        earlier = await call_blocking(self._made_from)
        if earlier is None:
            return
        if (kept := self._version.start.kept) is not None and kept.report.changes is not None:
            choices = kept.report.changes.tests
        values = turn.verdict.sample.values if turn.verdict.sample else {}
        changes = await changes_since(state, earlier, values, turn.blind or turn.tests, choices)
        self._setup.emit(VersionsCompared(changes))

    def _made_from(self) -> Earlier | None:
        """The version to compare with; for the user's edit, the version that was edited."""
        start = self._version.start
        is_edit = start.draft is not None and start.draft.author == "you" and start.carried is None
        is_changed = self._overturned is not None and self._overturned is not self._version
        if self._setup.request.earlier is None and is_changed:
            is_edit = True
        if start.kept is not None or not is_edit:
            return self._setup.request.earlier
        parent = self._setup.services.journal.versions.get(start.parent)
        return Earlier.of(parent.report) if parent and parent.report.plan and parent.report.solution else None

    def _judge_carried(self, verdict: Verdict) -> None:
        """An existing function was tested with what is demanded now. That attempt does not count if it failed."""
        start, setup = self._version.start, self._setup
        start = start.holds() if verdict.success else start.lacks(verdict.summary)
        if not verdict.success:
            setup.stages.attempts_allowed += 1
        self._version = replace(self._version, start=start)
        author = start.draft.author if start.draft is not None else "model"
        writer = start.written or (setup.config.model if author == "model" and not start.as_is else "")
        setup.emit(VersionBegun(start.version, start.why, False, start.has_before, author, writer=writer))

    async def _ask_anew(self, state: GenerationState, failure: str) -> None:
        """The kept function failed today: it becomes the first attempt of a new version. It does not count as one."""
        setup = self._setup
        versions, key = setup.services.journal.versions, setup.prepared.key.id
        version = await call_blocking(lambda: versions.free_id(key))
        self._version = await _open_version(setup, self._packages, self._version.start.failed(version, failure))
        state.brief = replace(state.brief, context=self._version.context)
        if not setup.config.skip_tests:
            setup.stages.attempts_allowed += 1

    @property
    def _may_be_changed(self) -> bool:
        """Whether the function is new. One that was verified before, or that the user wrote, is only compared."""
        return self._version.start.kept is None and not self._version.start.as_is

    def _same_failures(self) -> int:
        """How many of the last attempts failed in exactly the same way."""
        signatures = [turn.verdict.signature for turn in reversed(self._turns)]
        return next((n for n, signature in enumerate(signatures) if signature != signatures[0]), len(signatures))
