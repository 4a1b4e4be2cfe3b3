"""The verdict of one attempt: its outcomes, and whether they make a success."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.acceptance import Acceptance
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.repair import last_line, test_spans
from autocoder_jupyter.engine.sample_run import SampleRun
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.tests import TestSuite, blind_id, without_tests
from autocoder_jupyter.errors import Cancelled
from autocoder_jupyter.sandbox.protocol import Environment, Program, TestRun, TestSpec, Worker
from autocoder_jupyter.types import CheckOutcome, CodePlan, Evidence, LayerCost, Strength, TestFailure, TestOutcome
from autocoder_jupyter.untrusted.parsing import parse

# Work in the sandbox that begins before all that it needs is there.


Given = TypeVar("Given")
Found = TypeVar("Found")


class Waiting(Generic[Given, Found]):
    """Work that has begun, and waits for what it needs. Whoever makes it lets it go on, or leaves it.

    Args:
        work: begins. It gets a function that waits, on the thread of a worker, for what is given later, and raises
            `Cancelled` if that will not come.
    """

    def __init__(
        self, environment: Environment | None, work: Callable[[Callable[[], Given]], Awaitable[Found]]
    ) -> None:
        self._environment = environment
        self._given = Future[Given]()
        self._has_gone_on = False
        self._work = asyncio.ensure_future(work(self._wait))
        self._work.add_done_callback(_take_error)

    def is_in(self, environment: Environment | None) -> bool:
        """Whether it waits in this environment."""
        return self._environment == environment and not self._work.done()

    async def go_on(self, given: Given) -> Found | None:
        """Give it what it waits for. Returns what it found; None if it ended before it could wait."""
        self._given.set_result(given)
        found = await self._work
        return found if self._has_gone_on else None

    def leave(self) -> None:
        """End it. Its workers stay."""
        self._given.set_exception(Cancelled("It is not needed."))

    def _wait(self) -> Given:
        given = self._given.result()
        self._has_gone_on = True
        return given


def _take_error(work: asyncio.Future[Found]) -> None:
    """Take the error of work that was left, so that asyncio does not show it."""
    if not work.cancelled():
        work.exception()


# Checks that the tests can fail, by running them on stubs, which compute nothing.
#
# One stub returns empty defaults. If all tests pass on it, they prove nothing. A single test may rightly pass on it,
# because it says that no rows give `[]`. So a test is named only if it passes on a stub of other values too.
#
# A test does not run again on stubs if neither it nor the rest of its module was changed. So most have run before the
# last one is written.


CAN_FAIL = "the tests can fail"

_Ids = tuple[str, ...]


def stub_program(plan: CodePlan, program: Program, *, is_empty: bool = True) -> Program:
    """A program with the same interface that only returns values of the right types, empty ones or others."""
    outputs = [(output.type, [(column.name, column.dtype) for column in output.columns]) for output in plan.outputs]
    code = program_text("stub", OUTPUTS=outputs, IS_EMPTY=is_empty)
    return Program(code, program.inputs, program.outputs, program.function, program.env_vars)


class StubRuns:
    """The tests of one generation on stubs."""

    def __init__(self, session: SandboxSession, plan: CodePlan) -> None:
        self._session = session
        self._plan = plan
        self._known: dict[tuple[object, ...], tuple[_Ids, _Ids]] = {}
        self._process: WaitingStubs | None = None

    def prepare(self, program: Program) -> None:
        """Start pytest in a process that waits for the next tests, unless one waits."""
        if self._process is None:
            self._process = WaitingStubs(self._session.environment, lambda wait: self._work(program, wait))

    def leave(self) -> None:
        """End the process that waits, if there is one."""
        if self._process is not None:
            self._process.leave()
            self._process = None

    async def passing(self, program: Program, suite: TestSuite) -> tuple[_Ids, _Ids]:
        """The tests of one module that pass on empty defaults; and those of them that pass on other values too."""
        keys = await call_blocking(lambda: _keys(suite, self._session.environment))
        left = [test for test in suite.ids if keys[test] not in self._known]
        needs_all = any(suite.source in keys[test] for test in left)
        source = suite.source if needs_all else without_tests(suite.source, set(suite.ids).difference(left))
        on_empty, on_others = map(_by_test, await self._run(program, source, left) if left else ((), ()))
        for test in left:
            passed = on_empty.get(test, ())
            self._known[keys[test]] = passed, tuple(case for case in passed if case in on_others.get(test, ()))
        found = [self._known[keys[test]] for test in suite.ids]
        return tuple(case for cases, _ in found for case in cases), tuple(case for _, cases in found for case in cases)

    async def _run(self, program: Program, source: str, tests: Sequence[str]) -> tuple[_Ids, _Ids]:
        """The cases that pass on empty defaults; and if some do, those that pass on other values."""
        process, self._process = self._process, None
        if process is not None and process.is_in(self._session.environment):
            found = await process.go_on((source, tests))
            if found is not None:
                return found
        elif process is not None:
            process.leave()
        return await self._work(program, lambda: (source, tests))

    async def _work(self, program: Program, wait: Callable[[], tuple[str, Sequence[str]]]) -> tuple[_Ids, _Ids]:
        """Run the tests on both stubs, in one process."""
        empty, other = (stub_program(self._plan, program, is_empty=is_empty) for is_empty in (True, False))
        asked = TestSpec("", (), traceback=False, other_stub=other.code)

        def later() -> TestSpec:
            source, tests = wait()
            return replace(asked, source=source, expected=tests)

        def job(worker: Worker) -> tuple[_Ids, _Ids]:
            run = worker.test(empty, replace(asked, later=later), callee=None)
            passed = tuple(outcome.id for outcome in run.outcomes if outcome.outcome == "passed")
            return passed, run.on_other_stub

        return await self._session.work(job)


WaitingStubs = Waiting[tuple[str, Sequence[str]], tuple[_Ids, _Ids]]
"""A process in which pytest has started, and waits for tests that are run on stubs."""


def _keys(suite: TestSuite, environment: Environment | None) -> Mapping[str, tuple[object, ...]]:
    """For each test everything on which its outcome depends. A test that names another one depends on all."""
    lines, spans = suite.source.split("\n"), dict(test_spans(parse(suite.source)))
    sources = {test: "\n".join(lines[spans[test][0] - 1 : spans[test][1]]) for test in suite.ids}
    rest = "\n".join(line for line in without_tests(suite.source, suite.ids).split("\n") if line.strip())
    names = {test.rpartition("::")[2] for test in suite.ids}
    alone = {test: len(names.intersection(re.findall(r"\w+", source))) == 1 for test, source in sources.items()}
    return {test: (environment, rest, test, sources[test] if alone[test] else suite.source) for test in suite.ids}


def _by_test(cases: Sequence[str]) -> Mapping[str, _Ids]:
    """The ids of cases by their test; a test without parameters is its only case."""
    found: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        found[case.partition("[")[0]].append(case)
    return {test: tuple(ids) for test, ids in found.items()}


# What the docstring of this file says.


_WORDS = {"missing": "it never ended (the time was up, or something stopped the test run)"}


@dataclass(frozen=True)
class Verdict:
    """The outcome of one attempt.

    Args:
        suite: the tests that must pass; None if tests are skipped.
        run: their outcomes; None if they could not run.
        sample: the run on the real sample; None if there is no sample, or it was not reached.
        failures: failures of the function outside of the tests.
        tests_changed: ids of tests that were changed or dropped before this attempt.
        error: why nothing could run; "" if it could.
        accepted: the outcomes of the user's examples, tests and checks.
        blind: the outcomes of the blind tests, if there are any.
        remarks: which outputs on the sample say nothing.
        strength: what the tests are worth; None if that was not examined.
        costs: what the layers of the evidence took.
        on_empty: tests that pass on a stub of empty defaults.
    """

    suite: TestSuite | None = None
    run: TestRun | None = None
    sample: SampleRun | None = None
    checks: tuple[CheckOutcome, ...] = ()
    vacuous: tuple[str, ...] = ()
    failures: tuple[TestFailure, ...] = ()
    tests_changed: tuple[str, ...] = ()
    error: str = ""
    accepted: Acceptance = Acceptance()
    blind: TestRun | None = None
    remarks: tuple[str, ...] = ()
    strength: Strength | None = None
    costs: tuple[LayerCost, ...] = ()
    on_empty: tuple[str, ...] = ()

    @property
    def is_vacuous(self) -> bool:
        """Whether all tests of a module pass on a stub of empty defaults. Then they prove nothing."""
        return self.own_is_vacuous or self.blind_is_vacuous

    @property
    def own_is_vacuous(self) -> bool:
        """Whether this is so for the first module."""
        return self.suite is not None and bool(self.on_empty) and set(self.on_empty) >= set(self.suite.ids)

    @property
    def blind_is_vacuous(self) -> bool:
        """Whether this is so for the blind tests."""
        blind = self.suite.blind if self.suite is not None else None
        return blind is not None and bool(self.on_empty) and set(self.on_empty) >= set(map(blind_id, blind.ids))

    @property
    def failing(self) -> tuple[TestOutcome, ...]:
        """The tests that did not pass, without the blind ones."""
        return _failing(self.run)

    @property
    def blind_failing(self) -> tuple[TestOutcome, ...]:
        """The blind tests that did not pass, by the ids of their own module."""
        return _failing(self.blind)

    @property
    def success(self) -> bool:
        """Whether all required parts are there and passed."""
        tested = self.suite is None or (self._passed and not self.is_vacuous)
        evidence = self.evidence
        holds = all(check.passed for check in evidence.conditions)
        return tested and holds and not self.error and not self.failures and not self.accepted.broken

    @property
    def _passed(self) -> bool:
        """Whether all tests that must pass passed."""
        wanted = self.suite.modules if self.suite is not None else ()
        runs = (self.run, self.blind)[: len(wanted)]
        return all(run is not None and run.passed for run in runs)

    @property
    def evidence(self) -> Evidence:
        """The outcomes as plain records."""
        checks = (*(self.sample.checks if self.sample else ()), *self.checks)
        if self.run is not None and self.suite is not None:
            message = "Every test passes on a function that does nothing." if self.is_vacuous else ""
            checks = (CheckOutcome(name=CAN_FAIL, passed=not self.is_vacuous, message=message), *checks)
        return Evidence(
            acceptance=self.accepted.outcomes,
            tests=self._outcomes(),
            checks=checks,
            vacuous_tests=self.vacuous,
            tests_changed=self.tests_changed,
            remarks=self.remarks,
            strength=self.strength,
            costs=self.costs,
        )

    def _outcomes(self) -> tuple[TestOutcome, ...]:
        if self.run is None or self.suite is None:
            return ()
        told = _with_sentences(self.run, self.suite)
        if self.blind is None or self.suite.blind is None:
            return told
        blind = _with_sentences(self.blind, self.suite.blind)
        return (*told, *(outcome.model_copy(update={"id": blind_id(outcome.id)}) for outcome in blind))

    @property
    def score(self) -> tuple[bool, int, int, int]:
        """A key to choose the best attempt: success, the user's demands, passed tests, passed other checks."""
        evidence = self.evidence
        accepted = sum(outcome.passed for outcome in evidence.acceptance)
        passed = sum(outcome.outcome == "passed" for outcome in evidence.tests)
        return self.success, accepted, passed, sum(check.passed for check in evidence.checks)

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The failures in a form that can be compared, to see whether the same failure occurs again."""
        tests = [(outcome.id, outcome.message) for outcome in self.failing]
        tests += [(blind_id(outcome.id), outcome.message) for outcome in self.blind_failing]
        others = [(failure.test_name, failure.error_message) for failure in self.failures]
        broken = [("collection", run.collection_error) for run in self._runs if run.collection_error]
        return tuple(sorted((*tests, *others, *broken, *([("vacuous", "")] if self.is_vacuous else []))))

    @property
    def complaints(self) -> tuple[str, ...]:
        """All error messages of the tests. They may name a missing package."""
        told = [outcome.message for outcome in (*self.failing, *self.blind_failing)]
        for run in self._runs:
            told.append(run.collection_error)
            if run.missing_module:
                told.append(f"No module named '{run.missing_module}'")
        return tuple(told)

    @property
    def _runs(self) -> tuple[TestRun, ...]:
        return tuple(run for run in (self.run, self.blind) if run is not None)

    @property
    def complaint_on_sample(self) -> str:
        """The error message of the function on the sample. It may contain values of the data: never show or send it."""
        return str(self.sample.error) if self.sample is not None and self.sample.error is not None else ""

    @property
    def summary(self) -> str:
        """The reason for a failure, in one or two sentences."""
        if self.error:
            return self.error
        if self.accepted.broken:
            return self.accepted.broken
        refused = [outcome for outcome in self.accepted.outcomes if not outcome.passed]
        if refused:
            return f"This does not hold: {refused[0].name}. {refused[0].message}".strip()
        if self.run is not None and self.run.collection_error:
            return f"The tests could not be run: {self.run.collection_error.strip().splitlines()[-1]}"
        if self.blind is not None and self.blind.collection_error:
            return f"The blind tests could not be run: {self.blind.collection_error.strip().splitlines()[-1]}"
        if self.failing:
            return _summed(self.run, self.failing, "tests")
        if self.blind_failing:
            return _summed(self.blind, self.blind_failing, "blind tests")
        failed = [check for check in self.evidence.checks if not check.passed]
        if failed:
            return f"This does not hold: {failed[0].name}. {failed[0].message}".strip()
        return self.failures[0].error_message if self.failures else ""


def _failing(run: TestRun | None) -> tuple[TestOutcome, ...]:
    return tuple(outcome for outcome in (run.outcomes if run else ()) if outcome.outcome != "passed")


def _with_sentences(run: TestRun, suite: TestSuite) -> tuple[TestOutcome, ...]:
    return tuple(
        outcome.model_copy(update={"sentence": suite.sentences.get(outcome.id, outcome.sentence)})
        for outcome in run.outcomes
    )


def _summed(run: TestRun | None, failing: tuple[TestOutcome, ...], what: str) -> str:
    first = failing[0]
    told = last_line(first.message) or _WORDS.get(first.outcome, first.outcome)
    return f"{len(failing)} of {len(run.outcomes) if run else 0} {what} fail, first {first.id}: {told}"
