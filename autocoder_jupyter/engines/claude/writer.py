"""The Claude Agent SDK as the writer of code and tests. Its files are tested like any other draft.

The plain stages make the plan, and tests that the agent never sees. The agent works in one session on its own files. A
failed verdict is sent to it as the next question of the same session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.fault_attribution import FaultAttribution
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.prompt import interface_problem
from autocoder_jupyter.engine.repair import last_line
from autocoder_jupyter.engine.tests import VACUOUS, TestSuite, blind_id, read_suite, write_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.writer import write_first_tests
from autocoder_jupyter.engines.claude.agent import Agent
from autocoder_jupyter.engines.claude.prompts import TESTS
from autocoder_jupyter.engines.claude.session import preload
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.run.events import SuiteChanged
from autocoder_jupyter.types import ErrorDiagnosis, TestFailure, TestOutcome, Trace


@dataclass(frozen=True)
class ClaudeWriters:
    """A `WriterFactory` of agents.

    Args:
        model: which model, and how it is reached.
    """

    model: ModelConfig

    async def prepare(self) -> None:
        """Import the SDK."""
        await preload()

    def create(self, state: GenerationState, packages: GenerationPackages) -> ClaudeWriter:
        """The writer of one generation."""
        return ClaudeWriter(state, packages, self.model)


class ClaudeWriter:
    """A `Writer` that is an agent.

    Args:
        model: which model, and how it is reached.
    """

    def __init__(self, state: GenerationState, packages: GenerationPackages, model: ModelConfig) -> None:
        self._state = state
        self._setup = state.setup
        self._packages = packages
        self._attribution = FaultAttribution(state, packages)
        self._blind = BlindTests(state, self._attribution)
        self._agent = Agent(state, packages, model, self._on_change)

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of blind tests that were replaced or dropped after a re-derivation."""
        return self._blind.changed

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The answers that could not be used."""
        return self._attribution.unusable

    @property
    def snapshot(self) -> object:
        """All that the next attempt depends on."""
        return self._state.sources, self._packages.snapshot, frozenset(self._attribution.rederived), len(self.unusable)

    @property
    def trace(self) -> Trace | None:
        """What the agent did; None if it was not asked."""
        return self._agent.trace

    async def write(self) -> None:
        """Let the agent write code and tests, and the plain stage concurrently the blind tests."""
        stages, earlier = self._setup.stages, self._setup.request.earlier
        files = (earlier.code, self._wanted(earlier.agent_tests or earlier.tests)) if earlier else ()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._blind.write())
            await stages.run("code", lambda: self._agent.begin(*files))
        self._take_files()

    async def fix(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Send the failures to the agent. The plain stages diagnose blind tests first."""
        if self._packages.learn(self._state.brief.plan, self._state.code, verdict):  # a missing package needs no agent
            return None
        await self._adopt_tests()
        diagnosis, hidden = await self._blind.judge(verdict)
        others = [*_own_test_failures(verdict), *verdict.failures]
        if faults := [*hidden, *others]:
            again = self._attribution.tries(faults) > 0
            with self._attribution.tolerating_unusable():
                await self._setup.stages.run(
                    "fix", lambda: self._send_failures([*map(_as_unseen, hidden), *others], again)
                )
                self._attribution.note_fix(faults)
        self._take_files()
        return diagnosis

    async def close(self) -> None:
        """End the session and its program."""
        await self._agent.close()

    async def _send_failures(self, failures: Sequence[TestFailure], again: bool) -> None:
        if self._agent.has_begun:
            await self._agent.go_on(failures, again=again)
        else:  # the kept function failed
            tests = self._state.suite.source if self._state.suite else ""
            await self._agent.begin(self._state.code, self._wanted(tests), failures)

    def _wanted(self, tests: str) -> str:
        return "" if self._setup.config.skip_tests else tests

    def _on_change(self) -> None:
        """After a tool call: show the current files, if they parse."""
        code = self._agent.code
        if code != self._state.code and not interface_problem(code, self._state.brief.plan):
            self._state.set_code(code)
        with suppress(SyntaxError):
            self._take_tests()

    def _take_files(self) -> None:
        """Take the agent's files into the state, for the next attempt."""
        if self._agent.code and self._agent.code != self._state.code:
            self._state.set_code(self._agent.code)
        self._take_tests()

    def _take_tests(self) -> None:
        tests = self._wanted(self._agent.tests) or (self._state.suite.source if self._state.suite else "")
        if not tests:
            return
        watch = self._agent.watch
        before = watch.changed
        watch.see(tests)
        if watch.changed != before:
            self._setup.emit(SuiteChanged(watch.changed))
        suite = replace(read_suite(tests), blind=self._blind.suite)
        if suite != self._state.suite:
            self._state.set_suite(suite)

    async def _adopt_tests(self) -> None:
        """Take tests that the agent did not write: kept blind tests, the counterexample of a second opinion."""
        suite = self._state.suite
        if suite is None:
            return
        self._blind.suite = suite.blind
        if self._agent.has_begun and suite.source != self._agent.tests:
            await self._agent.put_tests(suite.source)


def _own_test_failures(verdict: Verdict) -> list[TestFailure]:
    """Failures of the agent's own tests, or of the function in these tests."""
    if verdict.run is not None and verdict.run.collection_error:
        return [_failure(TESTS, verdict.run.collection_error)]
    if verdict.own_is_vacuous:
        return [_failure(TESTS, VACUOUS)]
    return [_failure(outcome.id, last_line(outcome.message), outcome) for outcome in verdict.failing]


def _failure(name: str, message: str, outcome: TestOutcome | None = None) -> TestFailure:
    return TestFailure(
        test_name=name,
        error_message=message or (outcome.outcome if outcome else ""),
        actual_behavior=outcome.message if outcome else "",
        error_type="logic",
    )


# Blind tests
#
# The agent never sees them. The plain stages write, diagnose and re-derive them.


class BlindTests:
    """The blind tests of a generation.

    Args:
        attribution: decides whether code or test is at fault.
    """

    def __init__(self, state: GenerationState, attribution: FaultAttribution) -> None:
        self._state = state
        self._setup = state.setup
        self._attribution = attribution
        self.suite: TestSuite | None = None
        """The current blind tests; None if there are none."""

    @property
    def changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped after a re-derivation."""
        return tuple(map(blind_id, self._attribution.tests_changed))

    async def write(self) -> None:
        """Ask for them, if they are wanted."""
        config = self._setup.config
        if not config.skip_tests and config.blind_tests == "on":
            self.suite = await self._setup.stages.run("tests", partial(write_first_tests, self._state))

    async def judge(self, verdict: Verdict) -> tuple[ErrorDiagnosis | None, list[TestFailure]]:
        """Diagnose the failing ones. Wrong tests are fixed here."""
        if self.suite is None or verdict.blind is None:
            return None, []
        if verdict.blind.collection_error or verdict.blind_is_vacuous:
            await self._rewrite(self.suite, verdict.blind.collection_error)
            return None, []
        if not verdict.blind_failing:
            return None, []
        diagnosis = await self._attribution.diagnosed(verdict.blind_failing, self.suite)
        blamed = {failure.test_name for failure in diagnosis.of_type("test_error")}
        if suspects := [outcome for outcome in verdict.blind_failing if outcome.id in blamed]:
            self.suite = read_suite(await self._attribution.rederive(self.suite.source, suspects))
        return diagnosis, list(diagnosis.of_type("logic"))

    async def _rewrite(self, before: TestSuite, broken: str) -> None:
        setup, state = self._setup, self._state
        writing = partial(
            write_tests,
            *(setup.conversation, state.brief),
            refused=f"pytest cannot collect this module:\n{broken}\n" if broken else VACUOUS,
            previous=before.source,
            variant=len(self._attribution.unusable),
        )
        with self._attribution.tolerating_unusable():
            self.suite = await setup.stages.run("tests", writing)


def _as_unseen(failure: TestFailure) -> TestFailure:
    """The failure of a blind test in the form that the agent gets."""
    return failure.model_copy(update={"test_name": f"a test that you do not see ({failure.test_name})"})
