"""The loop of a generation: plan, code and tests, attempts in the sandbox, and fixes, until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.data.value_drift import TableValues, recorded_values, value_drift
from autocoder_jupyter.engine.attempt import Attempts, Examination
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.constraints import Constraints
from autocoder_jupyter.engine.difference_words import changes
from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.evidence.properties import PREFIX
from autocoder_jupyter.engine.evidence.second_opinion import SecondOpinionStage
from autocoder_jupyter.engine.evidence.split import declared
from autocoder_jupyter.engine.first_run import EarlyEvidence, FirstRun, show_outputs
from autocoder_jupyter.engine.generation import GenerationSetup, GenerationState, innermost
from autocoder_jupyter.engine.planning import Asked, Planned, effort_summary, first_question, make_brief
from autocoder_jupyter.engine.prepare import prepare, record_environment
from autocoder_jupyter.engine.probes import probed_names
from autocoder_jupyter.engine.prompt import Brief
from autocoder_jupyter.engine.sample_run import run_on_sample
from autocoder_jupyter.engine.sandbox_session import Services
from autocoder_jupyter.engine.start import Draft, as_recorded, start_of
from autocoder_jupyter.engine.tests import read_suites, same_test
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.version_record import Turn, VerifiedTurn, VersionRecord, open_version, sources_of
from autocoder_jupyter.engine.writer import Writer, WriterFactory, write_further_tests
from autocoder_jupyter.equality import compare
from autocoder_jupyter.errors import BudgetSpent, DataDrift, Locked, UnusableAnswer
from autocoder_jupyter.models.offers import offer_others
from autocoder_jupyter.request import AgentConfig, Earlier, Request
from autocoder_jupyter.run.events import (
    DriftFound,
    EffortPlanned,
    EndState,
    EvidenceGathered,
    Finished,
    Noticed,
    OptionOffered,
    PlanReady,
    TestsCollected,
    VersionsCompared,
    WaitsForRun,
)
from autocoder_jupyter.sandbox.environments import installed
from autocoder_jupyter.settings.choices import ENGINES
from autocoder_jupyter.types import Changes, OutputChange, Report, SecondOpinion, TestChoice
from autocoder_jupyter.versions.request_lock import hold_lock, lock_of, remove_old
from autocoder_jupyter.versions.store import Version
from autocoder_jupyter.versions.verification import without_others_evidence

SECOND_AFTER = 1.0
"""Seconds after the plan before a second solution is asked for, unless the code is there earlier."""

SAME_FAILURE_LIMIT = 4
"""The number of attempts with exactly the same failure after which the loop gives up."""


async def generate(
    request: Request, config: AgentConfig, services: Services, writers: WriterFactory, draft: Draft | None = None
) -> Report:
    """Generate a function for a request, and verify it.

    A function that is kept for the request is verified on today's samples. A model is asked only if it fails.
    """
    begun = _Begun(writers, draft)
    budget = Budget(config.max_tokens, config.max_cost, config.max_seconds)
    try:
        prepared = await call_blocking(lambda: prepare(request, config))
        for sentence in prepared.left_out:
            services.emit(Noticed(sentence))
        setup = GenerationSetup.of(prepared.request, config, services, prepared, budget)
        return await _generate_in_turn(setup, begun)
    except asyncio.CancelledError as cancelled:
        services.emit(Finished("cancelled", str(cancelled)))
        raise
    except Exception as error:
        raised = innermost(error)
    if isinstance(raised, DataDrift) and raised.option:
        services.emit(OptionOffered(raised.option))
    await offer_others(raised, services.emit)
    services.emit(Finished("failed", str(raised)))
    # Raised here without its context, because IPython prints a long stack for an error from a task group.
    raised.__context__ = None
    raise raised


@dataclass(frozen=True)
class _Begun:
    """A generation that has begun.

    Args:
        draft: a function to start from instead of the kept one.
    """

    writers: WriterFactory
    draft: Draft | None


async def _generate_in_turn(setup: GenerationSetup, begun: _Begun) -> Report:
    """Generate when no other kernel works on the same request: the second one then finds the first one's result.

    A run that only verifies a recorded version makes no result to wait for. It can last long, in spare time too.
    """
    if setup.config.cache == "disable" or (begun.draft is not None and begun.draft.kept is not None):
        return await _generate(setup, begun)
    journal, key = setup.services.journal, setup.prepared.key.id
    lock = await call_blocking(lambda: lock_of(cache_folder(), journal.root, journal.name, key))
    await call_blocking(lambda: installed.daily("request_locks", lambda before: remove_old(cache_folder(), before)))
    async with hold_lock(lock, lambda words: setup.emit(WaitsForRun(words))):
        return await _generate(setup, begun)


async def _generate(setup: GenerationSetup, begun: _Begun) -> Report:
    versions, packages = setup.services.journal.versions, GenerationPackages(setup)
    start = await call_blocking(lambda: start_of(setup.request, setup.config, setup.prepared, versions, begun.draft))
    record = VersionRecord(setup, packages, await open_version(setup, packages, start))
    return await _Generation(setup, packages, record, begun).run()


class _Generation:
    """One generation, from its open version to its report.

    Args:
        record: what it made so far, and the version that keeps it.
        begun: its writers, and the function that it starts from.
    """

    def __init__(
        self, setup: GenerationSetup, packages: GenerationPackages, record: VersionRecord, begun: _Begun
    ) -> None:
        self._setup = setup
        self._packages = packages
        self._record = record
        self._begun = begun
        self._second_opinion = SecondOpinionStage(setup, packages)
        self._examination = Examination(setup, self._second_opinion, record)
        self._first: FirstRun | None = None  # begins with the first code
        self._limit = ""  # the setting whose limit ended it
        self._least_needed = 0.0  # the least that its next question may take of it
        self._doubted: VerifiedTurn | None = None  # verified, and then doubted by a second opinion

    async def run(self) -> Report:
        """Run the generation, within the seconds of the budget."""
        setup, record, is_over, reason = self._setup, self._record, False, ""
        try:
            async with asyncio.timeout(setup.budget.seconds_left) as deadline:
                state, writer = await self._first_draft()
                reason = await self._try_until_verified(state, writer)
                if self._doubted is None:
                    await self._compare(state, record.turns[-1])
        except asyncio.CancelledError:
            if record.is_offered:
                self._second_opinion.stop("It was cancelled.")
                record.end_with_offered(self._second_opinion.opinion)
            raise
        except TimeoutError:
            if not deadline.expired():
                raise
            is_over, self._limit = True, "max_seconds"
            reason = f"The {setup.budget.seconds:g} seconds of the budget are over. Raise max_seconds and run again."
        except Exception as error:
            raised = innermost(error)
            if isinstance(raised, Locked):
                raised.why = self._why_not_replayed
            has_one = self._doubted is not None or (record.turns and record.turns[-1].verdict.success)
            if not has_one and not isinstance(raised, BudgetSpent | UnusableAnswer):
                raise
            is_over, reason = isinstance(raised, BudgetSpent), str(raised)
            self._limit, self._least_needed = getattr(raised, "limit", ""), getattr(raised, "needs", 0.0)
            if record.turns:
                reason += f"\nStill to fix: {record.turns[-1].verdict.summary}"
        finally:
            self._second_opinion.stop()
            if self._first is not None:
                self._first.stop()
            if record.writer is not None:
                await record.writer.close()
        if self._doubted is not None and record.state is not None:
            await self._restore(record.state, self._doubted)
            is_over, reason, self._limit = False, "", ""
        if reason and not is_over and not self._packages.advice:
            setup.services.journal.reject(setup.stages.answers_at_fault)
        setup.services.tracker.stop()
        report = record.finished(await record.report(reason))
        state_at_end: EndState = "ready" if report.success else ("over_budget" if is_over else "failed")
        reason = report.error or report.overspent
        setup.emit(Finished(state_at_end, reason, self._limit, report.attempts, self._least_needed))
        return report

    @property
    def _why_not_replayed(self) -> str:
        """Why the recorded answers cannot be used, in one sentence."""
        setup = self._setup
        if setup.services.journal.is_empty:
            return f"Nothing is recorded under {setup.request.name} in this .autocode folder."
        if not self._record.start.why:
            return "The prompts, the samples or an earlier answer are not as they were recorded."
        return f"What changed since it was recorded: {self._record.start.why}."

    async def _first_draft(self) -> tuple[GenerationState, Writer]:
        """State and writer of the first attempt, from the draft or from the model."""
        draft = self._record.start.draft
        if draft is None:
            return await self._from_model()
        if (before := self._record.start.existing) is not None and self._setup.config.drift == "on":
            found = await call_blocking(lambda: sample_drift(self._setup, before))
            if found:
                self._setup.emit(DriftFound(found))
        state, writer = self._from_draft(draft)
        await self._test_added_constraints(state)
        return state, writer

    async def _test_added_constraints(self, state: GenerationState) -> None:
        """Ask for tests of the added constraints that no rule can read, if an existing function is tested first."""
        setup, added = self._setup, self._record.start.added
        if not any(sentence in state.constraints.unread for sentence in added):
            return
        await state.constraints.ask_about_unread(setup.conversation, setup.services.journal)
        left = [sentence for sentence in added if sentence in state.constraints.unread]
        if left and not setup.config.skip_tests:
            state.set_suite(await setup.stages.run("tests", partial(write_further_tests, state, left)))

    def _from_draft(self, draft: Draft) -> tuple[GenerationState, Writer]:
        setup, version = self._setup, self._record.version
        if draft.author == "you" and version.start.kept is None:
            setup.services.journal.write_draft(draft.code, draft.tests, draft.parent)
        existing = version.start.existing
        request = as_recorded(setup.request, existing) if existing is not None else setup.request
        request = replace(request, helpers=version.start.helpers(setup.request))
        state, writer = self._planned(Planned(Brief(request, draft.plan, version.context)))
        recorded = self._recorded_opinion()
        if recorded is not None and recorded.cut and setup.config.wants_second_opinion:
            self._second_opinion.resume(setup.request, recorded)
        elif recorded is not None and recorded.unanswered and not setup.config.locked:
            self._second_opinion.begin(setup.request, version.context)
        state.constraints.recall(setup.services.journal)
        if draft.tests:
            state.set_suite(read_suites(draft.tests, draft.blind))
        state.set_code(draft.code)
        return state, writer

    def _recorded_opinion(self) -> SecondOpinion | None:
        """The second opinion on the kept function, as far as it counts here."""
        kept, versions = self._record.start.kept, self._setup.services.journal.versions
        return without_others_evidence(versions, kept).second_opinion if kept is not None else None

    async def _from_model(self) -> tuple[GenerationState, Writer]:
        """Plan and code in one answer, then tests, constraints and a second solution, while the base is built."""
        setup, version = self._setup, self._record.version
        if setup.config.cache != "disable":
            record_environment(setup.services.journal, setup.prepared.key.id, version.environment)
        first = first_question(setup.prepared, setup.config, version.context)
        may_probe = bool(probed_names(setup.request.samples, setup.config))
        setup.emit(EffortPlanned(effort_summary(setup.config, first, may_probe=may_probe)))
        asked = Asked(plan_only=ENGINES[setup.config.backend].plans_only, ready=self._packages.base_is_there)
        try:
            async with asyncio.TaskGroup() as group:
                self._packages.begin_base(group)
                state, writer = self._planned(await setup.stages.run("plan", partial(self._make_brief, asked)))
                self._first = FirstRun(
                    state,
                    self._packages,
                    self._record.offer_draft,
                    EarlyEvidence(state, self._packages, self._second_opinion, self._examination.examiner),
                )
                writing = group.create_task(writer.write())
                group.create_task(state.constraints.ask_about_unread(setup.conversation, setup.services.journal))
                with suppress(TimeoutError):  # many local models answer one question after the other
                    async with asyncio.timeout(SECOND_AFTER):
                        await state.has_code.wait()
                self._second_opinion.begin(state.brief.request, version.context)
                await writing
        finally:
            asked.stop()
        return state, writer

    async def _make_brief(self, asked: Asked) -> Planned:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._begun.writers.prepare())
            return await make_brief(self._setup, self._record.version.context, asked)

    def _planned(self, planned: Planned) -> tuple[GenerationState, Writer]:
        """The state and the writer, once there is a plan."""
        setup, brief = self._setup, planned.brief
        text, samples = brief.request.split, brief.request.samples
        split = declared(text, brief.plan.inputs, samples) if text else None
        brief = replace(brief, plan=brief.plan.model_copy(update={"split": split}))
        setup.emit(PlanReady(brief.plan))
        constraints = Constraints.read(brief.request.constraints, setup.shared_samples, brief.plan)
        self._record.state = state = GenerationState(setup, brief, constraints, planned.choices, answer=planned.answer)
        self._record.writer = writer = self._begun.writers.create(state, self._packages)
        return state, writer

    async def _try_until_verified(self, state: GenerationState, writer: Writer) -> str:
        """Attempt and fix. Returns the reason for giving up, or "" on success."""
        setup, stages, record = self._setup, self._setup.stages, self._record
        attempts, number = Attempts(state, self._packages, record.offer_draft, record.describe, self._first), 0
        while number < stages.attempts_allowed:
            stages.attempt = number = number + 1
            verdict = await attempts.run(writer.tests_changed)
            code, tests, blind = sources_of(state)
            record.turns.append(Turn(number, code, tests, verdict, blind))
            if verdict.success:
                verified, verdict = await self._examination.examine(state, attempts, verdict)
                self._doubted = None if verdict.success else verified
                if self._doubted is not None:
                    opinion = self._second_opinion.doubt or self._second_opinion.opinion
                    by = "the second opinion" if self._second_opinion.doubt else _doubted_by(verdict)
                    await record.begin_another(self._doubted, opinion, by)
                record.change_last(verdict=verdict)
            if record.start.previous is not None:
                record.judge_previous(verdict)
            if verdict.success or record.start.as_is:
                return "" if verdict.success else self._unfixed_failure(verdict)
            if verdict.accepted.broken:
                return verdict.accepted.broken
            if record.start.kept is not None:
                await record.ask_anew(state, verdict.summary)
            exchanges = setup.conversation.exchanges
            asked_before = len(exchanges)
            if number == 1:
                stages.answers_at_fault = exchanges[:]
            if number == stages.attempts_allowed:
                break
            if record.same_failures >= SAME_FAILURE_LIMIT:
                return f"No progress: the same failure {SAME_FAILURE_LIMIT} times in a row. {verdict.summary}"
            before = writer.snapshot
            diagnosis = await writer.fix(verdict)
            record.change_last(diagnosis=diagnosis)
            stages.answers_at_fault = exchanges[asked_before:] or stages.answers_at_fault
            if writer.snapshot == before:
                return f"No progress: the model made no further change. {verdict.summary}"
        self._limit = "" if setup.config.skip_tests else "max_iterations"
        allowed = f"{stages.attempts_allowed} attempt{'s' if stages.attempts_allowed > 1 else ''}"
        reason = f"Not solved in {allowed}. {verdict.summary}"
        return "\n".join([reason, *map(str, writer.unusable[-1:])])

    def _unfixed_failure(self, verdict: Verdict) -> str:
        """The failure of a function that is not sent to be fixed."""
        way = " It was not sent to be fixed; --refresh writes it with what is shared now."
        return f"{verdict.summary}{way if self._record.start.withheld else ''}"

    async def _restore(self, state: GenerationState, verified: VerifiedTurn) -> None:
        """Return to the function that was verified, because no attempt after the doubt about it passed."""
        turn = verified.turn
        await self._record.return_to(turn)
        state.set_code(turn.code)
        if verified.suite is not None:
            state.set_suite(verified.suite)
            self._setup.emit(TestsCollected(verified.suite.all_ids))  # the later attempts had more
        await self._packages.provide(state.brief.plan, state.sources)
        self._setup.emit(EvidenceGathered(turn.number, turn.verdict.evidence))
        await show_outputs(state, turn.verdict.sample, is_verified=True)
        self._second_opinion.restore()
        await self._compare(state, turn)

    async def _compare(self, state: GenerationState, turn: Turn) -> None:
        """Compare with the version that this one was made from, and emit the differences."""
        choices = state.choices
        earlier = await call_blocking(self._version_before)
        if earlier is None:
            return
        if (kept := self._record.start.kept) is not None and kept.report.changes is not None:
            choices = kept.report.changes.tests
        values = turn.verdict.sample.values if turn.verdict.sample else {}
        changes = await changes_since(state, earlier, values, turn.blind or turn.tests, choices)
        self._setup.emit(VersionsCompared(changes))

    def _version_before(self) -> Earlier | None:
        """The version to compare with; for the user's edit, the version that was edited."""
        start = self._record.start
        is_edit = start.draft is not None and start.draft.author == "you" and start.previous is None
        is_second = self._record.is_second and self._setup.request.earlier is None
        if start.kept is not None or not (is_edit or is_second):
            return self._setup.request.earlier
        parent = self._setup.services.journal.versions.get(start.parent)
        return Earlier.of(parent.report) if parent and parent.report.plan and parent.report.solution else None


# Comparison with the version before


async def changes_since(
    state: GenerationState,
    earlier: Earlier,
    values: Mapping[str, Any],
    tests: str,
    choices: tuple[TestChoice, ...],
) -> Changes:
    """Run the earlier version on the same sample, and compare."""
    return Changes(
        plan=earlier.plan,
        code=earlier.code,
        tests=_final_choices(choices, earlier.tests, tests),
        outputs=await _output_changes(state, earlier, values),
    )


def _final_choices(choices: tuple[TestChoice, ...], before: str, now: str) -> tuple[TestChoice, ...]:
    """The final choices: a test that was to be kept but was re-derived later counts as changed."""
    return tuple(
        choice if choice.fate == "dropped" or same_test(before, now, choice.id) else _rederived(choice)
        for choice in choices
    )


def _rederived(choice: TestChoice) -> TestChoice:
    return choice.model_copy(update={"fate": "changed", "reason": "It failed, and was derived again."})


async def _output_changes(
    state: GenerationState, earlier: Earlier, values: Mapping[str, Any]
) -> tuple[OutputChange, ...] | None:
    if not values:
        return None
    now = state.program()
    program = replace(now, code=earlier.code, inputs=earlier.plan.inputs, outputs=earlier.plan.outputs)
    run = await run_on_sample(state.setup.session, program, state.brief.request.samples, state.redaction)
    if run is None or run.error is not None:
        return None
    shows = state.redaction.shows_values
    changed = []
    for name in (name for name in values if name in run.values):
        before, after = run.values[name], values[name]
        found = await call_blocking(partial(compare, before, after))
        lines = changes(found, show_values=shows)
        if lines:
            changed.append(OutputChange(name=name, lines=lines))
    return tuple(changed)


def _doubted_by(verdict: Verdict) -> str:
    """What found an error in a verified function, beside the second opinion."""
    return "a property" if verdict.failures[-1].test_name.startswith(PREFIX) else "a change of the data"


def sample_drift(setup: GenerationSetup, version: Version) -> tuple[str, ...]:
    """How the values of the samples differ from those of a version. Its record is untrusted."""
    report, config = version.report, setup.config
    reads = columns_read(report.solution.code if report.solution else "", report.declared_inputs)
    withheld, words = {*config.hide, *config.mask}, []
    for name, record in report.sample_values.items():
        value, then = setup.request.samples.get(name), recorded_values(record)
        if not isinstance(value, pd.DataFrame) or then is None:
            continue
        if config.share == "schema":  # numbers of rows may be told
            then = TableValues(rows=then.rows)
        shown = value[[label for label in value.columns if str(label) not in withheld]] if withheld else value
        shows = setup.share_of_runs == "rows"
        words += [one.words for one in value_drift(name, shown, then, reads, is_sample=True, show_values=shows)]
    return tuple(words)
