"""One generation: its stages, its setup, and its state after the plan."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pandas as pd

from autocoder_jupyter.data.constraints import tables_of
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.engine.acceptance import own_tests_for_diagnosis
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.constraints import Constraints
from autocoder_jupyter.engine.conversation import Conversation
from autocoder_jupyter.engine.evidence.solution_worker import KnownAnswers
from autocoder_jupyter.engine.evidence.variations import VariedSample
from autocoder_jupyter.engine.first_answer import FirstAnswer
from autocoder_jupyter.engine.prepare import Prepared
from autocoder_jupyter.engine.prompt import Brief
from autocoder_jupyter.engine.sandbox_session import SandboxSession, Services
from autocoder_jupyter.engine.tests import StubRuns, TestSuite
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.silence import SilenceWatch
from autocoder_jupyter.redaction.messages import Redaction, hidden_values
from autocoder_jupyter.request import AgentConfig, Request, Share, secret_values
from autocoder_jupyter.run.events import Emit, SourceWritten, StageFinished, StageStarted
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import Exchange, TestChoice
from autocoder_jupyter.types.records import Glimpse, StageName

# Stages

T = TypeVar("T")


class StageRunner:
    """Runs stages, and counts attempts.

    Args:
        emit: called with an event when a stage begins or ends.
        exchanges: returns all exchanges with models so far.

    Attributes:
        attempt: the number of the current attempt, from 1.
        attempts_allowed: the most attempts; the loop may raise it.
        answers_at_fault: the answers that would cause a failure: those of the newest sources, or the unusable ones.
    """

    def __init__(self, emit: Emit, exchanges: Callable[[], Sequence[Exchange]], attempts_allowed: int) -> None:
        self._emit = emit
        self.exchanges = exchanges
        self.attempt = 1
        self.attempts_allowed = attempts_allowed
        self.answers_at_fault: Sequence[Exchange] = ()

    def started(self, stage: StageName) -> None:
        """Emit that a stage begins."""
        self._emit(StageStarted(stage, self.attempt, self.attempts_allowed))

    def finished(self, stage: StageName, ok: bool, *, replayed: bool = False) -> None:
        """Emit how a stage ended."""
        self._emit(StageFinished(stage, self.attempt, ok, replayed=replayed))

    async def run(self, stage: StageName, work: Callable[[], Awaitable[T]], *, since: int | None = None) -> T:
        """Run the work of a stage. Its exchanges are those after the first `since`; None stands for those until now."""
        self.started(stage)
        before = len(self._exchanges_of(stage)) if since is None else since
        try:
            outcome = await work()
        except BaseException as error:
            if isinstance(error, Exception) and isinstance(innermost(error), UnusableAnswer):
                self.answers_at_fault = self._exchanges_of(stage)[before:]
            self.finished(stage, False)
            raise
        exchanges = self._exchanges_of(stage)[before:]
        replayed = bool(exchanges) and all(exchange.replayed for exchange in exchanges)
        self.finished(stage, True, replayed=replayed)
        return outcome

    def _exchanges_of(self, stage: StageName) -> list[Exchange]:
        stages = ("plan", "code") if stage == "plan" else (stage,)  # one answer has the plan and the code
        return [exchange for exchange in self.exchanges() if exchange.stage in stages]


def innermost(error: Exception) -> Exception:
    """The first error of the first failed task, if a task group has wrapped it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


# The setup
#
# It is complete before the first question to the model, and does not change.


@dataclass(frozen=True)
class GenerationSetup:
    """The request, the settings, and the tools of one generation.

    Args:
        services: model, sandbox, journal, and the tracker of the run.
        prepared: the inputs, the data context and the key of the request.
        budget: the budget of all questions to models.
        second_conversation: the conversation for the second opinion.
    """

    request: Request
    config: AgentConfig
    services: Services
    prepared: Prepared
    budget: Budget
    conversation: Conversation
    second_conversation: Conversation
    session: SandboxSession
    stages: StageRunner

    @classmethod
    def of(
        cls,
        request: Request,
        config: AgentConfig,
        services: Services,
        prepared: Prepared,
        budget: Budget,
    ) -> GenerationSetup:
        """Make the tools from the services. The time of `budget` has already started."""
        emit = services.emit
        record = services.journal.add_stopped
        silence = services.silence or SilenceWatch(emit)
        conversation = Conversation(services.model, budget, emit, record, silence)
        second_model = services.second_model or services.model
        second_conversation = Conversation(second_model, budget, emit, record, silence)
        session = SandboxSession(services, config, prepared.pinned)
        unguided = config.skip_tests and not (request.has_acceptance or request.split)
        attempts_allowed = 1 if unguided else config.max_iterations
        stages = StageRunner(emit, lambda: (*conversation.exchanges, *second_conversation.exchanges), attempts_allowed)
        return cls(request, config, services, prepared, budget, conversation, second_conversation, session, stages)

    @property
    def emit(self) -> Emit:
        """The function that sends an event to the listeners."""
        return self.services.emit

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges with models; those of the second opinion are last."""
        return tuple(self.stages.exchanges())

    @property
    def shared_samples(self) -> Mapping[str, Any]:
        """The samples without the hidden columns."""
        return WithheldColumns.of(self.config.hide, self.config.mask).without_hidden(self.request.samples)

    @property
    def hidden_values(self) -> dict[str, str]:
        """The values of secrets and variables by name. They are never shown."""
        return hidden_values(secret_values(self.config.secrets), self.config.env_vars)

    @property
    def share_of_runs(self) -> Share:
        """The sharing level for the output of runs: no values where columns are hidden or masked."""
        held_back = self.config.hide or self.config.mask
        return "stats" if held_back and self.config.share == "rows" else self.config.share


# The state
#
# The brief, and code and tests, which change with each attempt.

MOST_PROGRAMS = 2
"""The function and the second solution. Answers of earlier attempts are not kept."""


@dataclass
class GenerationState:
    """The state of a generation that has a plan.

    Args:
        brief: the request, the plan and the data context.
        constraints: the request's constraints, as checks on the outputs of the plan.
        choices: for each test of an earlier version whether it is kept or dropped; empty if there is no such version.
        code: the current solution; "" until it is written.
        suite: the current tests; None until they are written, or if tests are skipped.
        answer: the answer that has the first code; None for a function that exists already.

    Attributes:
        stub_runs: the tests on stubs.
        varied: the tables among the inputs of the function, with what is made from them.
        seen: the outputs that were shown last, and their previews.
    """

    setup: GenerationSetup
    brief: Brief
    constraints: Constraints
    choices: tuple[TestChoice, ...] = ()
    code: str = ""
    suite: TestSuite | None = None
    answer: FirstAnswer | None = None
    has_code: asyncio.Event = field(default_factory=asyncio.Event)
    stub_runs: StubRuns = field(init=False)
    varied: VariedSample = field(init=False)
    seen: tuple[Mapping[str, Any], tuple[Glimpse, ...]] | None = None
    _known: list[tuple[Program, KnownAnswers]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.stub_runs = StubRuns(self.setup.session, self.brief.plan)
        samples = self.brief.request.samples
        given = {spec.name: samples[spec.name] for spec in self.brief.plan.inputs if spec.name in samples}
        tables = {name: value for name, value in given.items() if isinstance(value, pd.DataFrame | pd.Series)}
        self.varied = VariedSample(tables, EFFORTS[self.setup.config.effort].parts)

    @property
    def diagnosis_brief(self) -> Brief:
        """The brief for stages that blame code or tests, with the user's own tests if they may be shown."""
        own = own_tests_for_diagnosis(self.brief.request.own_tests, self.setup.share_of_runs)
        parts = (self.brief.context, own)
        return replace(self.brief, context="\n\n".join(part for part in parts if part))

    @property
    def redaction(self) -> Redaction:
        """The redaction of messages from a run of the current solution on the real sample."""
        plan = self.brief.plan
        tables = tables_of(self.setup.shared_samples, plan.outputs).columns
        columns = [column for names in tables.values() for column in names]
        names = (*(spec.name for spec in plan.inputs), *(spec.name for spec in plan.outputs), *columns)
        return Redaction.over(self.setup.share_of_runs, self.code, names, self.setup.hidden_values)

    @property
    def sources(self) -> tuple[str, ...]:
        """The modules that run in the sandbox."""
        own_tests = self.brief.request.own_tests
        suites = self.suite.modules if self.suite else ()
        return (self.code, *(suite.source for suite in suites), *((own_tests,) if own_tests else ()))

    def set_code(self, code: str) -> None:
        """Replace the solution and emit the event."""
        self.code = code
        self.has_code.set()
        self.setup.emit(SourceWritten("solution", self.setup.stages.attempt, code))

    def set_suite(self, suite: TestSuite) -> None:
        """Replace the tests and emit the event."""
        self.suite = suite
        self.setup.emit(SourceWritten("tests", self.setup.stages.attempt, suite.source))

    def program(self) -> Program:
        """The current solution as a program for the sandbox."""
        config, plan = self.setup.config, self.brief.plan
        variables = {**config.env_vars, **secret_values(config.secrets)}
        helpers = self.brief.request.helpers
        return Program(self.code, plan.inputs, plan.outputs, env_vars=variables, helpers=helpers)

    def known_answers(self, program: Program) -> KnownAnswers:
        """The answers of a program that may be needed again. Those of the last few programs are kept."""
        with self._lock:
            for one, known in self._known:
                if one == program:
                    return known
            self._known[:] = [*self._known[1 - MOST_PROGRAMS :], (program, KnownAnswers())]
            return self._known[-1][1]
