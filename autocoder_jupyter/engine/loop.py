"""The loop: plan → code and tests → packages → sandbox → tests and sample → diagnosis → mending, until it holds."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar

from autocoder_jupyter.background import call_blocking
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.checks import run_checks
from autocoder_jupyter.engine.code import write_code
from autocoder_jupyter.engine.constraints import Constraints
from autocoder_jupyter.engine.conversation import Conversation
from autocoder_jupyter.engine.diagnose import diagnose
from autocoder_jupyter.engine.events import (
    ApprovalGiven,
    ApprovalNeeded,
    Diagnosed,
    EvidenceGathered,
    Finished,
    PlanReady,
    SourceWritten,
    Stage,
    StageFinished,
    StageStarted,
    TestReported,
    TestsCollected,
)
from autocoder_jupyter.engine.fix_code import fix_code
from autocoder_jupyter.engine.fix_tests import fix_tests
from autocoder_jupyter.engine.packages import missing_packages, package_needs, requirement_name
from autocoder_jupyter.engine.plan import make_plan
from autocoder_jupyter.engine.prepare import Prepared, prepare, request_record
from autocoder_jupyter.engine.sample_run import SampleRun, failures_of, run_again, run_on_sample
from autocoder_jupyter.engine.services import Services
from autocoder_jupyter.engine.tests import TestSuite, read_suite, write_tests
from autocoder_jupyter.engine.vacuity import vacuous_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.workbench import Workbench
from autocoder_jupyter.errors import BudgetSpent, PackageError, PackageRefused, UnusableAnswer
from autocoder_jupyter.request import AgentConfig, Request, secret_values
from autocoder_jupyter.sandbox.protocol import Program, TestRun
from autocoder_jupyter.types import Attempt, CheckOutcome, CodePlan, CodeSolution, ErrorDiagnosis, Report, TestFailure

T = TypeVar("T")

SAME_FAILURE_LIMIT = 4
"""Attempts with exactly the same failure after which the loop gives up."""

FIXES_BEFORE_DOUBT = 2
"""Mendings of the code for the same failing test after which the test itself is re-derived."""

VACUOUS = "Every test also passes on a function that only returns empty defaults, so they prove nothing."


async def generate(request: Request, config: AgentConfig, services: Services) -> Report:
    """Make a function from a request, and find out whether it can be trusted.

    Returns:
        The report, also of a failure: `success` is False, `error` says why, and code and tests are the best attempt's.

    Raises:
        AutocodeError: what no further attempt could change: data that cannot cross, no key, no sandbox.
        asyncio.CancelledError: cancelled; model call and sandbox are ended.
    """
    generation = Generation(request, config, services)
    try:
        return await generation.run()
    except asyncio.CancelledError:
        services.emit(Finished("cancelled"))
        raise
    except Exception as error:
        services.emit(Finished("failed", str(error)))
        raise


class Generation:
    """One run of the loop, and what it has so far."""

    def __init__(self, request: Request, config: AgentConfig, services: Services) -> None:
        self._request = request
        self._config = config
        self._services = services
        self._emit = services.emit
        self._budget = Budget(config.max_iterations, config.max_tokens, config.max_cost, config.max_seconds)
        self._talk = Conversation(services.model, self._budget, services.emit)
        self._bench = Workbench(services, config)
        self._limit = 1 if config.skip_tests else config.max_iterations
        self._number = 1
        self._began = time.monotonic()
        self._started = dt.datetime.now(dt.UTC)
        # What the stages have made
        self._prepared: Prepared
        self._constraints: Constraints
        self._plan: CodePlan | None = None
        self._code = ""
        self._suite: TestSuite | None = None
        self._stub_passes: dict[str, tuple[str, ...]] = {}
        # What the attempts have taught
        self._attempts: list[tuple[Attempt, Verdict]] = []
        self._extra_packages: set[str] = set()
        self._extra_system_packages: set[str] = set()
        self._refused: dict[str, str] = {}
        self._approved: set[str] = set(config.approved_packages)
        self._mendings: Counter[tuple[str, str]] = Counter()
        self._rederived: set[str] = set()
        self._tests_changed: list[str] = []

    async def run(self) -> Report:
        """All of it, within the seconds of the budget."""
        state, reason = "ready", ""
        try:
            async with asyncio.timeout(self._budget.seconds) as clock:
                await self._prepare()
                await self._draft()
                reason = await self._try_until_it_holds()
        except BudgetSpent as error:
            state, reason = "over_budget", str(error)
        except TimeoutError:
            if not clock.expired():
                raise
            state, reason = "over_budget", f"The {self._budget.seconds:g} seconds of the budget are over."
        except UnusableAnswer as error:
            reason = str(error)
        report = self._report(reason)
        if state == "ready" and not report.success:
            state = "failed"
        self._services.journal.write_report(report)
        self._emit(Finished(state, report.error or ""))  # type: ignore[arg-type]
        return report

    # Before the first attempt

    async def _prepare(self) -> None:
        self._prepared = await call_blocking(lambda: prepare(self._request, self._config))
        journal = self._services.journal
        await call_blocking(lambda: journal.begin(self._prepared.run_id))
        journal.write_request(request_record(self._request, self._config), self._prepared.context.sent())

    async def _draft(self) -> None:
        """Plan; then code, tests and constraints side by side, while the base environment and two workers get ready."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._provide_base())
            plan = await self._stage(
                "plan", make_plan(self._talk, self._request, self._prepared.inputs, self._prepared.context.text)
            )
            self._plan = plan
            self._emit(PlanReady(plan))
            self._constraints = Constraints.read(self._request.constraints, self._request.samples, plan)
            code = group.create_task(self._stage("code", self._write_code(plan)))
            tests = (
                None if self._config.skip_tests else group.create_task(self._stage("tests", self._write_tests(plan)))
            )
            group.create_task(self._constraints.ask_about_the_rest(self._talk))
        self._set_code(code.result())
        if tests is not None:
            self._set_suite(tests.result())

    async def _provide_base(self) -> None:
        packages = package_needs(
            (), declared=(), always=self._config.base_packages, extra=(), approved=()
        ).distributions
        await self._bench.provide(packages, ())
        self._bench.warm(count=2)

    async def _write_code(self, plan: CodePlan) -> str:
        context = self._prepared.context.text
        return await write_code(self._talk, self._request, plan, context, self._config.system_prompt)

    async def _write_tests(self, plan: CodePlan, *, refused: str = "") -> TestSuite:
        previous = self._suite.source if self._suite else ""
        context = self._prepared.context.text
        return await write_tests(self._talk, self._request, plan, context, refused=refused, previous=previous)

    # The attempts

    async def _try_until_it_holds(self) -> str:
        """Attempt and mend. Returns the reason for giving up, or "" on success."""
        for number in range(1, self._limit + 1):
            self._number = number
            verdict = await self._attempt()
            self._remember(verdict)
            if verdict.success:
                return ""
            if self._number == self._limit:
                break
            if self._same_failures() >= SAME_FAILURE_LIMIT:
                return f"No progress: the same failure {SAME_FAILURE_LIMIT} times in a row. {verdict.summary}"
            before = self._state()
            await self._mend(verdict)
            if self._state() == before:
                return f"No progress: the model changes nothing any more. {verdict.summary}"
        return f"Not solved in {self._limit} attempt{'s' if self._limit > 1 else ''}. {verdict.summary}"

    async def _attempt(self) -> Verdict:
        """Environment, tests and sample for the present code."""
        lacking = await self._stage("environment", self._provide())
        if lacking is not None:
            return Verdict(suite=self._suite, failures=(lacking,), error=lacking.error_message)
        program = self._program()
        async with asyncio.TaskGroup() as group:
            run = group.create_task(self._stage("run", self._run_tests(program)))
            rest = group.create_task(self._sample_then_stub(program))  # one after the other: two workers do for all
        sample, vacuous = rest.result()
        return await self._stage("verify", self._judge(program, run.result(), sample, vacuous))

    async def _sample_then_stub(self, program: Program) -> tuple[SampleRun | None, tuple[str, ...]]:
        sample = await run_on_sample(self._bench, program, self._request.samples)
        return sample, await self._passing_on_a_stub(program)

    async def _judge(
        self, program: Program, run: TestRun | None, sample: SampleRun | None, vacuous: tuple[str, ...]
    ) -> Verdict:
        sample = await run_again(self._bench, program, self._request.samples, sample)
        checks: tuple[CheckOutcome, ...] = ()
        if sample is not None and sample.error is None:
            own = await run_checks(self._bench, self._request.checks, program, self._request.samples, sample.values)
            checks = (*own, *self._constraints.evaluate(sample.values, self._request.samples))
        failures = (*(sample.failures if sample else ()), *failures_of(checks))
        verdict = Verdict(self._suite, run, sample, checks, vacuous, failures, tuple(self._tests_changed))
        self._emit(EvidenceGathered(self._number, verdict.evidence))
        return verdict

    async def _provide(self) -> TestFailure | None:
        """The environment for the present code. A package that cannot be had is a failure of the code that wants it."""
        assert self._plan is not None
        sources = [self._code, *([self._suite.source] if self._suite else [])]
        needs = package_needs(
            sources,
            declared=self._plan.packages,
            always=self._config.base_packages,
            extra=self._extra_packages,
            approved=self._approved,
        )
        system_packages = tuple(sorted({*self._plan.system_packages, *self._extra_system_packages}))
        try:
            for name in needs.distributions:
                if requirement_name(name) in self._refused:
                    raise PackageRefused(self._refused[requirement_name(name)], package=requirement_name(name))
            await self._ask_consent(needs.unknown)
            await self._bench.provide(needs.distributions, system_packages)
        except PackageError as error:
            return self._refuse(error)
        return None

    async def _ask_consent(self, unknown: tuple[str, ...]) -> None:
        if not unknown:
            return
        self._emit(ApprovalNeeded(unknown))
        approved = await self._services.approve(unknown)
        self._emit(ApprovalGiven(unknown, approved))
        if not approved:
            names = ", ".join(unknown)
            raise PackageRefused(f"The package {names} may not be installed here.", package=unknown[0])
        self._approved.update(unknown)

    def _refuse(self, error: PackageError) -> TestFailure:
        """Remember that a package cannot be had, so that it is not tried again, and tell the fixer."""
        name = requirement_name(error.package or "")
        if not name:
            raise error
        self._extra_packages.discard(name)
        self._refused[name] = error.what
        return TestFailure(
            test_name=f"package {name}",
            error_message=error.what,
            expected_behavior="The module uses packages that can be installed.",
            root_cause=error.why,
            suggested_fix=f"Do without {name}: take a well-known package, or pandas, numpy and the standard library.",
            error_type="logic",
        )

    async def _run_tests(self, program: Program) -> TestRun | None:
        suite = self._suite
        if suite is None:
            return None
        self._emit(TestsCollected(suite.ids))
        return await self._bench.work(
            lambda worker: worker.test(
                program, suite.source, suite.ids, on_report=lambda outcome: self._emit(TestReported(outcome))
            )
        )

    async def _passing_on_a_stub(self, program: Program) -> tuple[str, ...]:
        if self._suite is None or self._plan is None:
            return ()
        known = self._stub_passes.get(self._suite.source)
        if known is None:
            known = await vacuous_tests(self._bench, self._plan, program, self._suite)
            self._stub_passes[self._suite.source] = known
        return known

    # Mending

    async def _mend(self, verdict: Verdict) -> None:
        """Change what the verdict blames: the environment, the tests as a whole, single tests, or the code."""
        assert self._plan is not None
        if self._add_missing_package(verdict):
            return
        if verdict.error and self._only_tests_want(verdict.failures):
            refused = f"{verdict.error} Test with pytest, pandas, numpy and the standard library alone."
            self._set_suite(await self._stage("tests", self._write_tests(self._plan, refused=refused)))
        elif verdict.error:
            await self._mend_code(verdict.failures, "")
        elif verdict.toothless:
            self._set_suite(await self._stage("tests", self._write_tests(self._plan, refused=VACUOUS)))
        elif self._tests_are_broken(verdict):
            assert verdict.run is not None
            refused = f"pytest cannot collect this module: {verdict.run.collection_error}"
            self._set_suite(await self._stage("tests", self._write_tests(self._plan, refused=refused)))
        elif verdict.sample is not None and verdict.sample.error is not None:
            await self._mend_code(verdict.failures, "")
        else:
            await self._mend_by_diagnosis(verdict)

    def _add_missing_package(self, verdict: Verdict) -> bool:
        """A missing import is an environment failure, and needs no model."""
        missing = missing_packages(verdict.complaints, self._plan.packages if self._plan else ())
        installed = {
            requirement_name(line) for line in (self._bench.environment.lock if self._bench.environment else ())
        }
        new = missing - installed - self._extra_packages - set(self._refused)
        self._extra_packages |= new
        return bool(new)

    def _only_tests_want(self, failures: tuple[TestFailure, ...]) -> bool:
        """Whether the packages that cannot be had are imported by the tests and not by the code."""
        wanted = {requirement_name(name) for name in self._detected()}
        return not any(failure.test_name.removeprefix("package ") in wanted for failure in failures)

    def _tests_are_broken(self, verdict: Verdict) -> bool:
        broken = verdict.run is not None and bool(verdict.run.collection_error)
        return broken and (verdict.sample is None or verdict.sample.error is None)

    async def _mend_by_diagnosis(self, verdict: Verdict) -> None:
        assert self._plan is not None
        faults = list(verdict.failures)
        suspects: tuple[str, ...] = ()
        if verdict.failing and self._suite is not None:
            diagnosis = await self._stage(
                "diagnose",
                diagnose(
                    self._talk,
                    self._request,
                    self._plan,
                    self._prepared.context.text,
                    self._code,
                    self._suite.source,
                    verdict.failing,
                ),
            )
            diagnosis = self._reconsider(diagnosis)
            self._note(diagnosis)
            self._extra_packages |= {requirement_name(name) for name in diagnosis.needs_language_packages} - {""}
            self._extra_system_packages |= set(diagnosis.needs_system_packages)
            faults += diagnosis.of_type("logic")
            suspects = tuple(failure.test_name for failure in diagnosis.of_type("test_error"))
        async with asyncio.TaskGroup() as group:
            if faults:
                group.create_task(self._mend_code(tuple(faults), self._insist(faults)))
            if suspects:
                group.create_task(self._mend_tests(suspects))

    def _reconsider(self, diagnosis: ErrorDiagnosis) -> ErrorDiagnosis:
        """Change the mind about who is at fault where the same blame has not helped.

        Guarded both ways: doubt in a test only has it re-derived, and a test that was re-derived once is not doubted
        again, so that the code is at fault from then on.
        """
        failures = []
        for failure in diagnosis.failures:
            kind = failure.error_type
            if kind == "logic" and self._mendings[failure.test_name, failure.error_message] >= FIXES_BEFORE_DOUBT:
                kind = "test_error"
            if kind == "test_error" and failure.test_name in self._rederived:
                kind = "logic"
            failures.append(failure.model_copy(update={"error_type": kind}))
        return diagnosis.model_copy(update={"failures": tuple(failures)})

    def _insist(self, faults: list[TestFailure]) -> str:
        tries = max((self._mendings[fault.test_name, fault.error_message] for fault in faults), default=0)
        if not tries:
            return ""
        return (
            f"The same failure is there after {tries} earlier mending{'s' if tries > 1 else ''}, so the cause is not "
            "where it was looked for. Work the expected value out by hand and follow the code line by line to where it "
            "departs from that."
        )

    async def _mend_code(self, faults: tuple[TestFailure, ...], notes: str) -> None:
        assert self._plan is not None
        for fault in faults:
            self._mendings[fault.test_name, fault.error_message] += 1
        context = self._prepared.context.text
        fixed = fix_code(self._talk, self._request, self._plan, context, self._code, faults, notes=notes)
        self._set_code(await self._stage("fix", fixed))

    async def _mend_tests(self, names: tuple[str, ...]) -> None:
        assert self._plan is not None and self._suite is not None
        self._rederived.update(names)
        fixing = fix_tests(
            self._talk, self._request, self._plan, self._prepared.context.text, self._suite.source, names
        )
        fix = await self._stage("fix", fixing)
        self._tests_changed += [name for name in fix.changed if name not in self._tests_changed]
        for name in fix.upheld:
            self._mendings[name, "upheld"] += 1
        self._set_suite(read_suite(fix.source))

    # Keeping track

    async def _stage(self, stage: Stage, work: Coroutine[Any, Any, T]) -> T:
        self._emit(StageStarted(stage, self._number, self._limit))
        began = len(self._talk.exchanges)
        try:
            outcome = await work
        except BaseException:
            self._emit(StageFinished(stage, self._number, False))
            raise
        exchanges = [e for e in self._talk.exchanges[began:] if e.stage == stage]
        replayed = bool(exchanges) and all(exchange.replayed for exchange in exchanges)
        self._emit(StageFinished(stage, self._number, True, replayed=replayed))
        return outcome

    def _program(self) -> Program:
        assert self._plan is not None
        variables = {**self._config.env_vars, **secret_values(self._config.secrets)}
        return Program(self._code, self._plan.inputs, self._plan.outputs, env_vars=variables)

    def _set_code(self, code: str) -> None:
        self._code = code
        self._emit(SourceWritten("solution", self._number, code))

    def _set_suite(self, suite: TestSuite) -> None:
        self._suite = suite
        self._emit(SourceWritten("tests", self._number, suite.source))

    def _state(self) -> tuple[object, ...]:
        """All that the next attempt depends on."""
        suite = self._suite.source if self._suite else ""
        blamed = frozenset(self._mendings.items()) if self._rederived else frozenset()
        packages = frozenset(self._extra_packages), frozenset(self._extra_system_packages), frozenset(self._refused)
        return self._code, suite, packages, frozenset(self._rederived), blamed

    def _note(self, diagnosis: ErrorDiagnosis) -> None:
        attempt, verdict = self._attempts[-1]
        self._attempts[-1] = attempt.model_copy(update={"diagnosis": diagnosis}), verdict
        self._emit(Diagnosed(diagnosis))

    def _remember(self, verdict: Verdict) -> None:
        attempt = Attempt(
            number=self._number,
            code=self._code,
            tests=self._suite.source if self._suite else "",
            evidence=verdict.evidence,
            error=None if verdict.success else verdict.summary,
        )
        self._attempts.append((attempt, verdict))

    def _same_failures(self) -> int:
        """How many attempts up to now failed in exactly the same way."""
        latest = self._attempts[-1][1].signature
        count = 0
        for _, verdict in reversed(self._attempts):
            if verdict.signature != latest:
                break
            count += 1
        return count

    def _report(self, reason: str) -> Report:
        """The outcome, from the best attempt; of equals, the later one."""
        plan, prepared = self._plan, self._prepared
        best = max(self._attempts, key=lambda pair: (pair[1].score, pair[0].number), default=None)
        attempt, verdict = best if best else (None, Verdict())
        success = bool(best) and verdict.success
        environment = self._bench.environment
        lock = environment.lock if environment else ()
        code = attempt.code if attempt else self._code
        run = verdict.run
        return Report(
            name=self._request.name,
            run_id=prepared.run_id,
            prompt=self._request.prompt,
            success=success,
            solution=CodeSolution(code=code, system_packages=environment.system_packages if environment else ())
            if code
            else None,
            tests=attempt.tests if attempt else (self._suite.source if self._suite else ""),
            plan=plan,
            output=run.output if run else "",
            exit_code=run.exit_code if run else (0 if success else -1),
            error=None if success else reason,
            attempts=len(self._attempts),
            history=tuple(attempt for attempt, _ in self._attempts),
            evidence=verdict.evidence,
            conversation_history=tuple(self._talk.exchanges),
            detected_packages=self._detected(),
            detected_system_packages=environment.system_packages if environment else (),
            lock=lock,
            python_version=self._bench.python_version,
            image=environment.location if environment else None,
            sandbox=self._services.sandbox.name,
            declared_inputs=plan.inputs if plan else prepared.inputs,
            declared_outputs=plan.outputs if plan else self._request.outputs,
            data_context=prepared.context.text or None,
            generated_schemas=dict(prepared.context.schemas) or None,
            sample_shapes=dict(prepared.context.shapes),
            usage=self._budget.used,
            seconds=time.monotonic() - self._began,
            started=self._started,
        )

    def _detected(self) -> tuple[str, ...]:
        if self._plan is None or not self._code:
            return ()
        return package_needs(
            (self._code,),
            declared=self._plan.packages,
            always=self._config.base_packages,
            extra=self._extra_packages,
            approved=self._approved,
        ).distributions
