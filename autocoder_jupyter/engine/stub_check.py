"""Checks that the tests can fail, by running them on stubs, which compute nothing.

One stub returns empty defaults. If all tests pass on it, they prove nothing. A single test may rightly pass on it,
because it says that no rows give `[]`. So a test is named only if it passes on a stub of other values too.

A test does not run again on stubs if neither it nor the rest of its module was changed, so most have run before the
last one is written.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.sandbox_session import DeferredWork, SandboxSession
from autocoder_jupyter.engine.tests import TestSuite, test_spans, without_tests
from autocoder_jupyter.sandbox.protocol import Environment, Program, TestSpec, Worker
from autocoder_jupyter.types import CodePlan
from autocoder_jupyter.untrusted.parsing import parse

CAN_FAIL = "the tests can fail"

VACUOUS = "Every test also passes on a function that only returns empty defaults, so they prove nothing."
"""The failure, as text for the model."""

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

    def cancel(self) -> None:
        """End the waiting process, if there is one."""
        if self._process is not None:
            self._process.cancel()
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
            found = await process.start((source, tests))
            if found is not None:
                return found
        elif process is not None:
            process.cancel()
        return await self._work(program, lambda: (source, tests))

    async def _work(self, program: Program, wait: Callable[[], tuple[str, Sequence[str]]]) -> tuple[_Ids, _Ids]:
        """Run the tests on both stubs, in one process."""
        empty, other = (stub_program(self._plan, program, is_empty=is_empty) for is_empty in (True, False))
        asked = TestSpec("", (), traceback=False, other_stub=other.code)

        def load() -> TestSpec:
            source, tests = wait()
            return replace(asked, source=source, expected=tests)

        def job(worker: Worker) -> tuple[_Ids, _Ids]:
            run = worker.test(empty, replace(asked, load=load), callee=None)
            passed = tuple(outcome.id for outcome in run.outcomes if outcome.outcome == "passed")
            return passed, run.on_other_stub

        return await self._session.work(job, without_data=True)


WaitingStubs = DeferredWork[tuple[str, Sequence[str]], tuple[_Ids, _Ids]]
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
