"""Checks that the tests can fail, by running them on stubs, which compute nothing.

One stub returns empty defaults. If all tests pass on it, they prove nothing. A single test may rightly pass on it,
because it says that no rows give `[]`. So a test is named only if it passes on a stub of other values too.

A test does not run again on stubs if neither it nor the rest of its module was changed. So most have run before the
last one is written.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.kept_tests import without_tests
from autocoder_jupyter.engine.patches import test_spans
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.sandbox.protocol import Environment, Program, TestSpec
from autocoder_jupyter.types import CodePlan
from autocoder_jupyter.untrusted.parsing import parse

CAN_FAIL = "the tests can fail"

_Ids = tuple[str, ...]


def stub_program(plan: CodePlan, program: Program, *, is_empty: bool = True) -> Program:
    """A program with the same interface that only returns values of the right types, empty ones or others."""
    outputs = [(output.type, [(column.name, column.dtype) for column in output.columns]) for output in plan.outputs]
    code = program_text("stub", OUTPUTS=outputs, IS_EMPTY=is_empty)
    return Program(code, program.inputs, program.outputs, program.function, program.env_vars)


class StubRuns:
    """The tests of one generation on stubs.

    Args:
        session: the sandbox session.
        plan: the interface.
    """

    def __init__(self, session: SandboxSession, plan: CodePlan) -> None:
        self._session = session
        self._plan = plan
        self._known: dict[tuple[object, ...], tuple[_Ids, _Ids]] = {}

    async def passing(self, program: Program, suite: TestSuite) -> tuple[_Ids, _Ids]:
        """The tests of one module that pass on empty defaults; and those of them that pass on other values too."""
        keys = await call_blocking(lambda: _keys(suite, self._session.environment))
        left = [test for test in suite.ids if keys[test] not in self._known]
        needs_all = any(suite.source in keys[test] for test in left)
        source = suite.source if needs_all else without_tests(suite.source, set(suite.ids).difference(left))
        on_empty = _by_test(await self._run(program, source, left, is_empty=True) if left else ())
        again = [test for test in left if test in on_empty]
        on_others = _by_test(await self._run(program, source, again, is_empty=False) if again else ())
        for test in left:
            passed = on_empty.get(test, ())
            self._known[keys[test]] = passed, tuple(case for case in passed if case in on_others.get(test, ()))
        found = [self._known[keys[test]] for test in suite.ids]
        return tuple(case for cases, _ in found for case in cases), tuple(case for _, cases in found for case in cases)

    async def _run(self, program: Program, source: str, tests: Sequence[str], *, is_empty: bool) -> _Ids:
        stub = stub_program(self._plan, program, is_empty=is_empty)
        spec = TestSpec(source, tests, traceback=False)
        run = await self._session.work(lambda worker: worker.test(stub, spec, callee=None))
        return tuple(outcome.id for outcome in run.outcomes if outcome.outcome == "passed")


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
