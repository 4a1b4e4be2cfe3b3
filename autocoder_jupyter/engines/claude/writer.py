"""The Claude Agent SDK as the writer of code and tests; what it leaves is tried like any other draft.

The plan, and tests that the agent never sees, are made by the plain stages. The agent works in one session on files of
its own; a verdict that is no success goes back to it as the next question of the same session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from autocoder_jupyter import parameters
from autocoder_jupyter.background import call_blocking
from autocoder_jupyter.data.sample_files import sample_files
from autocoder_jupyter.data.withheld import Withheld
from autocoder_jupyter.engine.blame import Blame
from autocoder_jupyter.engine.diagnose import last_line
from autocoder_jupyter.engine.entry import without_entry
from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.events import AgentSaid, Retrying, SuiteChanged, TurnBegun
from autocoder_jupyter.engine.interface import interface_problem
from autocoder_jupyter.engine.lookalikes import refuse_lookalikes
from autocoder_jupyter.engine.staged import drafter_of
from autocoder_jupyter.engine.tests import TestSuite, blind_id, read_suite, suite_problem, write_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.work import Work
from autocoder_jupyter.engines.claude import prompts
from autocoder_jupyter.engines.claude.gateway import Gateway, Listener
from autocoder_jupyter.engines.claude.prompts import PACKAGES, SOLUTION, TESTS
from autocoder_jupyter.engines.claude.report_of_tests import told_of
from autocoder_jupyter.engines.claude.service import Service, plain_name
from autocoder_jupyter.engines.claude.session import Session, preload
from autocoder_jupyter.engines.claude.suite_watch import SuiteWatch
from autocoder_jupyter.engines.claude.toolbox import Hands, Toolbox
from autocoder_jupyter.errors import InvalidRequest, UnusableAnswer
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.parsing import complaint
from autocoder_jupyter.sandbox.workspace import Observation, Workspace
from autocoder_jupyter.types import CodePlan, ErrorDiagnosis, TestFailure, TestOutcome, Trace
from autocoder_jupyter.versions.keys import content_key

REMINDERS = 2
"""How often the agent is told in a row that something it must leave is missing."""

_TOOTHLESS = "Every test also passes on a function that only returns empty defaults, so they prove nothing."


class ClaudeWriter:
    """A `Writer` that is an agent.

    Args:
        work: the generation.
        packages: its packages.
        model: which model, and how it is reached.
    """

    def __init__(self, work: Work, packages: Packages, model: ModelConfig) -> None:
        self._work = work
        self._packages = packages
        self._model = model
        self._drafter = drafter_of(work)
        self._blame = Blame(work, packages)
        self._watch = SuiteWatch()
        self._blind: TestSuite | None = None
        self._provided: object = None
        self._gateway: Gateway | None = None
        self._session: Session | None = None
        self._toolbox: Toolbox | None = None
        self._workspace = Workspace(work.bench.command)  # until there is something to do in it

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of blind tests that were replaced or dropped after a re-derivation."""
        return tuple(map(blind_id, self._blame.tests_changed))

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The answers that could not be used."""
        return self._blame.unusable

    @property
    def state(self) -> object:
        """All that the next attempt depends on."""
        return self._work.sources, self._packages.state, frozenset(self._blame.rederived), len(self.unusable)

    @property
    def trace(self) -> Trace | None:
        """What the agent has done; None when it was not asked."""
        if self._toolbox is None or self._gateway is None or self._session is None:
            return None
        return Trace(
            calls=tuple(self._toolbox.calls),
            turns=self._gateway.turn,
            max_turns=self._work.config.agent_max_turns,
            session=self._session.id,
            suite_changed=self._watch.changed,
        )

    async def plan(self) -> CodePlan:
        """The interface and the assumptions, by the plain stage, while the SDK is imported."""
        async with asyncio.TaskGroup() as group:
            group.create_task(preload())
            return await self._drafter.plan()

    async def write(self) -> None:
        """Code and tests by the agent, blind tests by the plain stage beside it."""
        work = self._work
        await self._open()
        earlier = work.request.earlier
        if earlier is not None:
            await self._lay_out(earlier.code, earlier.agent_tests or earlier.tests)
        async with asyncio.TaskGroup() as group:
            blind = group.create_task(self._blind_tests())
            await work.stage("code", lambda: self._first(earlier=earlier is not None))
        self._blind = blind.result()
        self._take()

    async def mend(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Tell the agent what does not hold; blind tests are looked at by the plain stages first."""
        if self._packages.learn(verdict):  # a missing import needs nobody
            return None
        await self._take_up_tests()
        if verdict.blind_toothless or (verdict.blind is not None and verdict.blind.collection_error):
            await self._rewrite_blind_tests(verdict)
        diagnosis, faults = await self._judged(verdict)
        faults = [*faults, *_failures_of_own(verdict), *verdict.failures]
        if not faults:
            return diagnosis
        self._watch.failed()
        again = self._blame.tries(faults) > 0
        with self._blame.taken_note_of():
            await self._work.stage("fix", lambda: self._mended(faults, again))
            self._blame.mended(faults)
        return diagnosis

    async def close(self) -> None:
        """End the session, and with it the program."""
        if self._session is not None:
            await self._session.close()

    # The agent

    async def _first(self, *, earlier: bool = False, failures: Sequence[TestFailure] = ()) -> None:
        system, question = prompts.first_question(self._work, self._given, earlier=earlier, failures=failures)
        await self._begin(system, question)
        await self._asked(question)

    async def _mended(self, faults: Sequence[TestFailure], again: bool) -> None:
        if self._session is not None and self._gateway is not None:
            self._gateway.stage = "fix"
            await self._asked(prompts.mending_question(faults, again=again))
            self._take()
            return
        suite = self._work.suite  # the function that was kept does not hold any more
        self._blind = suite.blind if suite else None
        await self._open()
        await self._lay_out(self._work.code, suite.source if suite else "")
        await self._first(failures=faults)
        self._take()

    async def _asked(self, text: str) -> None:
        """Ask the agent, and remind it of what it must leave.

        Raises:
            UnusableAnswer: it stopped without.
        """
        assert self._session is not None
        for _ in range(REMINDERS + 1):
            await self._session.ask(text)
            problem = self._missing()
            if not problem:
                return
            text = prompts.missing_question(problem)
        raise UnusableAnswer(f"The agent stopped although {problem}.", hint="Try another model.")

    async def _begin(self, system: str, question: str) -> None:
        work = self._work
        identity = content_key(self._model.model, system, question)
        listener = Listener(
            begun=lambda turn: work.emit(TurnBegun(turn, work.config.agent_max_turns)),
            said=lambda turn, text: work.emit(AgentSaid(turn, text)),
            exchanged=work.talk.note,
            retrying=lambda reason, seconds: work.emit(Retrying(gateway.stage, reason, seconds)),
        )
        gateway = self._gateway = Gateway(
            Service(self._model),
            journal=work.services.journal,
            policy=work.config.cache,
            locked=work.config.locked,
            meter=work.budget,
            most_turns=work.config.agent_max_turns,
            on_send=work.services.journal.add_sent,
            listener=listener,
        )
        hands = Hands(
            ready=self._ready,
            test=self._tested,
            changed=self._seen,
            failed=gateway.stop,
            failure_seen=self._watch.failed,
        )
        self._toolbox = Toolbox(work, self._workspace, hands, identity, lambda: gateway.turn)
        self._session = Session(gateway, self._toolbox.tools, system, plain_name(self._model.model))
        await self._session.start()

    # Its files

    async def _open(self) -> None:
        """A workspace of this generation alone, with the rows that the model may see."""
        work = self._work
        given = await call_blocking(lambda: given_files(work))
        self._workspace = Workspace(work.bench.command, given=given, most_seconds=work.config.timeout)
        self._given = sorted(given)

    async def _lay_out(self, code: str, tests: str) -> None:
        await self._workspace.write(SOLUTION, code)
        if tests and not self._work.config.skip_tests:
            await self._workspace.write(TESTS, tests)
            self._watched(tests)

    def _watched(self, tests: str) -> None:
        before = self._watch.changed
        self._watch.see(tests)
        if self._watch.changed != before:
            self._work.emit(SuiteChanged(self._watch.changed))

    def _missing(self) -> str:
        """What the agent must leave and has not, in words for it; "" when all is there."""
        code = self._workspace.text(SOLUTION)
        if code is None:
            return f"there is no {SOLUTION}"
        problem = interface_problem(without_entry(code), self._work.plan)
        if problem:
            return f"{SOLUTION} does not keep to the interface: {problem}"
        if problem := self._declare():
            return problem
        return "" if self._work.config.skip_tests else self._tests_problem()

    def _tests_problem(self) -> str:
        tests = self._workspace.text(TESTS)
        if tests is None:
            return f"there is no {TESTS}"
        try:
            problem = suite_problem(read_suite(tests))
        except SyntaxError as error:
            return f"{TESTS} does not parse: {complaint(error)}"
        return f"{TESTS} proves nothing: {problem}".rstrip(".") if problem else ""

    def _seen(self) -> None:
        """After a call: what is there now is shown, as far as it can be read."""
        work = self._work
        code = self._workspace.text(SOLUTION)
        if code is not None and without_entry(code) != work.code and not interface_problem(code, work.plan):
            work.set_code(without_entry(code))
        tests = self._workspace.text(TESTS)
        if tests is not None and not work.config.skip_tests and (work.suite is None or tests != work.suite.source):
            self._watched(tests)
            with suppress(SyntaxError):
                work.set_suite(replace(read_suite(tests), blind=self._blind))

    def _take(self) -> None:
        """What the next attempt is made with."""
        work = self._work
        code, tests = self._workspace.text(SOLUTION) or "", self._workspace.text(TESTS)
        if (code := without_entry(code)) != work.code:
            work.set_code(code)
        if tests is not None and not work.config.skip_tests:
            self._watched(tests)
            suite = replace(read_suite(tests), blind=self._blind)
            if suite != work.suite:
                work.set_suite(suite)

    # What its tools need

    async def _ready(self) -> str:
        """The environment for what the files import and packages.txt names; why there is none, or ""."""
        await self._packages.based()
        state = (self._work.sources, self._workspace.text(PACKAGES))
        if state == self._provided:
            return ""
        if problem := self._declare():
            return problem
        lacking = await self._packages.provide()
        if lacking is not None:
            return f"{lacking.error_message} {lacking.suggested_fix}".strip()
        self._provided = state
        return ""

    def _declare(self) -> str:
        """Take down the packages that it names; what is wrong with them, or ""."""
        lines = map(str.strip, (self._workspace.text(PACKAGES) or "").splitlines())
        try:
            wanted = parameters.requirements(PACKAGES, [line for line in lines if line and not line.startswith("#")])
            refuse_lookalikes(wanted)
        except InvalidRequest as error:
            return str(error)
        self._packages.declare(wanted)
        return ""

    async def _tested(self) -> Observation:
        """The agent's tests, by the runner that counts."""
        if self._work.config.skip_tests:
            return Observation("No tests are wanted for this function, so none are run.", ok=False)
        if problem := self._missing():
            return Observation(f"The tests were not run: {problem}.", ok=False)
        suite, program = read_suite(self._workspace.text(TESTS) or ""), self._work.program()
        run = await self._work.bench.work_with_two(
            lambda worker, callee: worker.test(program, suite.source, suite.ids, callee=callee)
        )
        return Observation(told_of(run, suite), ok=run.passed)

    # Tests that it does not see

    async def _blind_tests(self) -> TestSuite | None:
        work = self._work
        if work.config.skip_tests or work.config.blind_tests == "off":
            return None
        return await work.stage("tests", self._drafter.tests)

    async def _rewrite_blind_tests(self, verdict: Verdict) -> None:
        work, before = self._work, self._blind
        if before is None:
            return
        broken = verdict.blind.collection_error if verdict.blind else ""
        refused = f"pytest cannot collect this module:\n{broken}\n" if broken else _TOOTHLESS
        with self._blame.taken_note_of():
            self._blind = await work.stage(
                "tests",
                lambda: write_tests(
                    *(work.talk, work.request, work.plan, work.context),
                    refused=refused,
                    previous=before.source,
                    variant=len(self.unusable),
                ),
            )
            self._take()

    async def _take_up_tests(self) -> None:
        """Tests that came from elsewhere since: the blind ones, and what a second opinion has put below the others."""
        suite = self._work.suite
        if suite is None:
            return
        self._blind = suite.blind
        if self._session is not None and suite.source != self._workspace.text(TESTS):
            await self._workspace.write(TESTS, suite.source)
            self._watch.take(suite.source)

    async def _judged(self, verdict: Verdict) -> tuple[ErrorDiagnosis | None, list[TestFailure]]:
        """Who is at fault where blind tests fail; the tests that are doubted are worked out anew."""
        blind = self._blind
        if blind is None or not verdict.blind_failing or (verdict.blind and verdict.blind.collection_error):
            return None, []
        diagnosis = await self._blame.diagnosed(verdict.blind_failing, blind)
        suspects = tuple(failure.test_name for failure in diagnosis.of_type("test_error"))
        if suspects and (source := await self._blame.rederive(blind.source, suspects)) != blind.source:
            self._blind = read_suite(source)
            self._work.set_suite(replace(self._work.suite or read_suite(""), blind=self._blind))
        return diagnosis, list(diagnosis.of_type("logic"))


def given_files(work: Work) -> Mapping[str, bytes]:
    """The sample rows that the model may see, as files."""
    config = work.config
    withheld = Withheld.of(config.hide, config.mask)
    return sample_files(
        work.request.samples, share=config.share, max_sample_rows=config.max_sample_rows, withheld=withheld
    )


def _failures_of_own(verdict: Verdict) -> list[TestFailure]:
    """What is wrong with the agent's own tests, or with the function by their word."""
    if verdict.run is not None and verdict.run.collection_error:
        return [_failure(TESTS, verdict.run.collection_error)]
    if verdict.own_toothless:
        return [_failure(TESTS, _TOOTHLESS)]
    return [_failure(outcome.id, last_line(outcome.message), outcome) for outcome in verdict.failing]


def _failure(name: str, message: str, outcome: TestOutcome | None = None) -> TestFailure:
    return TestFailure(
        test_name=name,
        error_message=message or (outcome.outcome if outcome else ""),
        actual_behavior=outcome.message if outcome else "",
        error_type="logic",
    )
