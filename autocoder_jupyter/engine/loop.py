"""The loop: plan → code and tests → packages → sandbox → tests and sample → diagnosis → mending, until it holds."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine import surroundings
from autocoder_jupyter.engine.attempt import Trials
from autocoder_jupyter.engine.compare import changes_since
from autocoder_jupyter.engine.constraints import Constraints
from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.events import (
    Compared,
    EndState,
    Finished,
    KeptHolds,
    Noticed,
    OpinionGiven,
    PlanReady,
    SuiteChanged,
    VersionBegun,
)
from autocoder_jupyter.engine.prepare import prepare, request_record
from autocoder_jupyter.engine.report import Clock, Turn, build_report, kept_report, sample_schemas
from autocoder_jupyter.engine.second_opinion.opinion import Adviser
from autocoder_jupyter.engine.services import Services
from autocoder_jupyter.engine.staged import StagedWriter
from autocoder_jupyter.engine.start import Draft, Start, start_of
from autocoder_jupyter.engine.tests import TestSuite, read_suites
from autocoder_jupyter.engine.work import Work
from autocoder_jupyter.errors import AutocodeError, BudgetSpent, Locked, UnusableAnswer
from autocoder_jupyter.request import AgentConfig, Earlier, Request
from autocoder_jupyter.sandbox.environments.locking import cache_folder
from autocoder_jupyter.types import Report
from autocoder_jupyter.versions.turns import lock_of, turn

_ELSEWHERE = "Another kernel works on the same request; this one waits, and takes what comes of it."

SAME_FAILURE_LIMIT = 4
"""Attempts with exactly the same failure after which the loop gives up."""


async def generate(request: Request, config: AgentConfig, services: Services, draft: Draft | None = None) -> Report:
    """Make a function from a request, and find out whether it can be trusted.

    A function that is kept for the request is verified on today's samples, and no model is asked unless it fails.

    Args:
        request: what was asked.
        config: how.
        services: what the engine works with.
        draft: what to start from in place of what is kept. What it has is taken, what it lacks the model is asked for.

    Returns:
        The report, also of a failure: `success` is False, `error` says why, and code and tests are the best attempt's.

    Raises:
        AutocodeError: what no further attempt could change: data that cannot cross, no key, no sandbox.
        asyncio.CancelledError: cancelled; model call and sandbox are ended.
    """
    generation = _Generation(Work(request, config, services), draft)
    try:
        return await generation.run()
    except asyncio.CancelledError as cancelled:
        services.emit(Finished("cancelled", str(cancelled)))
        raise
    except Exception as error:
        raised = _innermost(error)
        if isinstance(raised, Locked):
            raised.why = generation.why_asked
    services.emit(Finished("failed", str(raised)))
    # Raised out here and without its context: IPython prints a whole stack for an error that came out of a group.
    raised.__context__ = None
    raise raised


class _Generation:
    def __init__(self, work: Work, given: Draft | None) -> None:
        self._work = work
        self._given = given
        self._packages = Packages(work)
        self._trials = Trials(work, self._packages)
        self._writer = (work.services.writer or StagedWriter)(work, self._packages)
        self._adviser = Adviser(work)
        self._turns: list[Turn] = []
        self._clock = Clock()
        self._limit = ""  # the setting that ended it

    @property
    def why_asked(self) -> str:
        """Why what is recorded does not do, as a sentence."""
        work = self._work
        if work.services.journal.is_empty:
            return f"Nothing is recorded under {work.request.name} in this .autocode folder."
        if not work.start.why:
            return "The prompts, the samples or an earlier answer are not as they were recorded."
        return f"What changed since it was recorded: {work.start.why}."

    async def run(self) -> Report:
        """All of it, as soon as no other kernel works on the same request: the second one finds what the first made."""
        work = self._work
        work.prepared = await call_blocking(lambda: prepare(work.request, work.config))
        work.session.pinned = work.prepared.pinned
        if work.config.cache == "disable":
            return await self._generated()
        journal, key = work.services.journal, work.prepared.key.id
        lock = await call_blocking(lambda: lock_of(cache_folder(), journal.root, journal.name, key))
        async with turn(lock, lambda: work.emit(Noticed(_ELSEWHERE))):
            return await self._generated()

    async def _generated(self) -> Report:
        """All of it, within the seconds of the budget."""
        await self._start()
        work, over, reason = self._work, False, ""
        try:
            async with asyncio.timeout(work.budget.seconds_left) as deadline:
                await self._make_draft()
                reason = await self._try_until_it_holds()
                await self._compare()
        except TimeoutError:
            if not deadline.expired():
                raise
            over, self._limit = True, "max_seconds"
            reason = f"The {work.budget.seconds:g} seconds of the budget are over. Raise max_seconds and run again."
        except Exception as error:
            raised = _innermost(error)
            if not isinstance(raised, BudgetSpent | UnusableAnswer):
                raise
            over, reason = isinstance(raised, BudgetSpent), str(raised)
            self._limit = getattr(raised, "limit", "")
            if self._turns:
                reason += f"\nWhat was to be mended: {self._turns[-1].verdict.summary}"
        finally:
            self._adviser.stop()
            await self._writer.close()
        if reason and not over and not self._packages.way_out:
            work.services.journal.reject(work.last_words)
        reason = "\n".join(line for line in (reason, self._packages.way_out) if line)
        schemas = await call_blocking(lambda: sample_schemas(work))
        report = build_report(work, self._packages, self._turns, self._clock, reason, self._writer.trace, schemas)
        report = self._recorded(report)
        state: EndState = "ready" if report.success else ("over_budget" if over else "failed")
        work.emit(Finished(state, report.error or report.overspent, self._limit))
        return report

    def _recorded(self, report: Report) -> Report:
        """The report as it is given back; on disk, when it is that of a new version."""
        work = self._work
        if (kept := work.start.kept) is not None:
            if not report.success:
                return report
            self._keep_sources(kept.report)
            report = kept_report(report, work, kept)
            work.emit(KeptHolds(report.kept or ""))
            if report.second_opinion is not None:
                work.emit(OpinionGiven(report.second_opinion))
            if report.trace is not None and report.trace.suite_changed:
                work.emit(SuiteChanged(report.trace.suite_changed))
        elif work.config.cache != "disable":
            self._keep(report)
        return report

    async def _start(self) -> None:
        work = self._work
        arguments = work.request, work.config, work.prepared, work.services.journal.versions, self._given
        await self._begin(await call_blocking(lambda: start_of(*arguments)))

    def _keep(self, report: Report) -> None:
        """Write the report down. A function that passed is not lost because a disk is full."""
        try:
            self._work.services.journal.write_report(report)
            if report.success:
                self._work.services.journal.versions.made(report.request_key, report.run_id)
        except AutocodeError as error:
            self._work.emit(
                Noticed(
                    f"The report of {report.name} could not be written ({error.why.rstrip('.')}): it is lost with this "
                    "kernel unless there is room when you run the cell again, which asks no model."
                )
            )
        self._tell_notes()

    def _keep_sources(self, report: Report) -> None:
        """Put back what is lost or damaged of a kept version; the function needs none of these files."""
        with suppress(AutocodeError):
            self._work.services.journal.write_sources(report)
        self._tell_notes()

    def _tell_notes(self) -> None:
        for note in self._work.services.journal.take_notes():
            self._work.emit(Noticed(note))

    async def _begin(self, start: Start) -> None:
        """Open the folder of a version. What was asked is written down before anything leaves the machine."""
        work, journal = self._work, self._work.services.journal
        work.start = start
        await call_blocking(lambda: journal.begin(start.version))
        work.versions = self._told_versions()
        if start.kept is None and not work.config.locked:  # a run that asks nothing has nothing to say before
            record = request_record(work.request, work.config, work.prepared.key)
            journal.write_request(record, work.prepared.context.sent())
        self._tell_notes()
        is_kept = start.kept is not None
        author = start.draft.author if start.draft is not None else "model"
        is_new = start.has_before and start.draft is None and work.request.earlier is None
        is_new = is_new and work.config.cache == "auto"
        work.emit(VersionBegun(start.version, start.why, is_kept, start.has_before, author, is_new))

    def _told_versions(self) -> str:
        """What the model is told about the environment: what it was told before, where that is in the journal."""
        work, key = self._work, self._work.prepared.key.id
        before = surroundings.recalled(work.services.journal, key) if work.config.cache == "auto" else ""
        lock = work.prepared.pinned or work.session.recorded_lock(self._packages.of_the_base(), ())
        return before or surroundings.versions(work.config, lock)

    async def _make_draft(self) -> None:
        """What the first attempt is made with: what is there already, else what the model is asked for."""
        draft = self._work.start.draft
        if draft is None:
            await self._ask_for_draft()
        else:
            self._take(draft)

    def _take(self, draft: Draft) -> None:
        work = self._work
        if draft.author == "you" and work.start.kept is None:
            work.services.journal.write_draft(draft.code, draft.tests)
        work.plan = draft.plan
        work.emit(PlanReady(draft.plan))
        work.constraints = Constraints.read(work.request.constraints, work.told_samples, draft.plan)
        work.constraints.recall(work.services.journal)
        if draft.tests:
            work.set_suite(read_suites(draft.tests, draft.blind))
        work.set_code(draft.code)

    async def _ask_for_draft(self) -> None:
        """Plan; then code, tests and constraints side by side, while the base environment gets ready."""
        work = self._work
        if work.config.cache != "disable":
            surroundings.record(work.services.journal, work.prepared.key.id, work.versions)
        self._adviser.begin()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._packages.provide_base())
            work.plan = plan = await work.stage("plan", self._writer.plan)
            work.emit(PlanReady(plan))
            work.constraints = Constraints.read(work.request.constraints, work.told_samples, plan)
            group.create_task(work.constraints.ask_about_the_rest(work.talk, work.services.journal))
            await self._writer.write()

    async def _try_until_it_holds(self) -> str:
        """Attempt and mend. Returns the reason for giving up, or "" on success."""
        work = self._work
        number = 0
        while number < work.attempts_allowed:
            work.attempt = number = number + 1
            verdict = await self._trials.attempt(self._writer.tests_changed)
            tests, blind = _sources(work.suite)
            self._turns.append(Turn(work.attempt, work.code, tests, verdict, blind))
            if verdict.success:
                verdict = await self._adviser.weigh(verdict)
                self._turns[-1] = replace(self._turns[-1], verdict=verdict)
            if verdict.success or work.start.as_is:
                return "" if verdict.success else verdict.summary
            if verdict.accepted.broken:
                return verdict.accepted.broken
            if work.start.kept is not None:
                await self._ask_anew(verdict.summary)
            said = len(work.talk.exchanges)
            if number == 1:
                work.last_words = work.talk.exchanges[:]
            if number == work.attempts_allowed:
                break
            if self._same_failures() >= SAME_FAILURE_LIMIT:
                return f"No progress: the same failure {SAME_FAILURE_LIMIT} times in a row. {verdict.summary}"
            before = self._writer.state
            diagnosis = await self._writer.mend(verdict)
            self._turns[-1] = replace(self._turns[-1], diagnosis=diagnosis)
            work.last_words = work.talk.exchanges[said:] or work.last_words
            if self._writer.state == before:
                return f"No progress: the model changes nothing any more. {verdict.summary}"
        self._limit = "" if work.config.skip_tests else "max_iterations"
        attempts = f"{work.attempts_allowed} attempt{'s' if work.attempts_allowed > 1 else ''}"
        reason = f"Not solved in {attempts}. {verdict.summary}"
        return "\n".join([reason, *map(str, self._writer.unusable[-1:])])

    async def _compare(self) -> None:
        """Say what is otherwise than in the version that this one was made from."""
        work, turn = self._work, self._turns[-1]
        earlier = await call_blocking(self._made_from)
        if earlier is None:
            return
        if (kept := work.start.kept) is not None and kept.report.changes is not None:
            work.choices = kept.report.changes.tests
        values = turn.verdict.sample.values if turn.verdict.sample else {}
        work.changes = await changes_since(work, earlier, values, turn.blind or turn.tests)
        work.emit(Compared(work.changes))

    def _made_from(self) -> Earlier | None:
        """The version that this one is compared with: of a person's edit the one that was edited."""
        start = self._work.start
        if start.kept is not None or start.draft is None or start.draft.author != "you":
            return self._work.request.earlier
        parent = self._work.services.journal.versions.get(start.parent)
        return Earlier.of(parent.report) if parent and parent.report.plan and parent.report.solution else None

    async def _ask_anew(self, failure: str) -> None:
        """The kept function does not hold today: it becomes the first attempt of a new version, and costs none."""
        work = self._work
        version = await call_blocking(lambda: work.services.journal.versions.free_id(work.prepared.key.id))
        await self._begin(work.start.failed(version, failure))
        if not work.config.skip_tests:
            work.attempts_allowed += 1

    def _same_failures(self) -> int:
        """How many attempts up to now failed in exactly the same way."""
        signatures = [turn.verdict.signature for turn in reversed(self._turns)]
        return next((n for n, signature in enumerate(signatures) if signature != signatures[0]), len(signatures))


def _sources(suite: TestSuite | None) -> tuple[str, str]:
    """The tests, and the blind tests; "" for what there is not."""
    return (suite.source if suite else "", suite.blind.source if suite and suite.blind else "")


def _innermost(error: Exception) -> Exception:
    """What a task group wraps: the first error of its first failed task."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
