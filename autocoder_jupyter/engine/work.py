"""One generation: what it was given, what it works with, and what its stages have made so far."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from autocoder_jupyter.data.constraints import tables_of
from autocoder_jupyter.data.withheld import Withheld
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.constraints import Constraints
from autocoder_jupyter.engine.conversation import Conversation
from autocoder_jupyter.engine.events import Emit, SourceWritten, Stage, StageFinished, StageStarted
from autocoder_jupyter.engine.own_tests import for_judges
from autocoder_jupyter.engine.prepare import Prepared
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.services import Services
from autocoder_jupyter.engine.start import Start
from autocoder_jupyter.engine.surroundings import with_versions
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.engine.timeline import Timeline
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.redaction.words import Redaction
from autocoder_jupyter.request import AgentConfig, Request, Share, secret_values
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import Changes, CodePlan, Exchange, SecondOpinion, TestChoice

T = TypeVar("T")


class Work:
    """The state that the stages share. Each attribute under "made" is there from the stage on that makes it.

    `last_words` are the answers to which a failure would be due: those behind the newest sources, or the unusable ones.

    Args:
        request: what was asked.
        config: how it is to be done.
        services: model, sandbox, journal, listeners.
    """

    prepared: Prepared
    start: Start
    plan: CodePlan
    constraints: Constraints
    versions: str
    code: str = ""
    suite: TestSuite | None = None
    choices: tuple[TestChoice, ...] = ()
    changes: Changes | None = None
    second_opinion: SecondOpinion | None = None

    def __init__(self, request: Request, config: AgentConfig, services: Services) -> None:
        self.request = request
        self.config = config
        self.timeline = Timeline(services.emit)
        self.services = services = replace(services, emit=self.timeline)
        self.budget = Budget(config.max_tokens, config.max_cost, config.max_seconds)
        self.talk = Conversation(services.model, self.budget, services.emit)
        self.second_talk = Conversation(services.second_model or services.model, self.budget, services.emit)
        self.session = SandboxSession(services, config)
        self.attempt = 1
        unguided = config.skip_tests and not request.has_acceptance
        self.attempts_allowed = 1 if unguided else config.max_iterations
        self.last_words: Sequence[Exchange] = ()

    @property
    def emit(self) -> Emit:
        """Tells the listeners."""
        return self.services.emit

    @property
    def context(self) -> str:
        """What the model is told about the data, and the versions that the function will meet."""
        return with_versions(self.prepared.context.text, self.versions)

    @property
    def judges_context(self) -> str:
        """The same for who decides between code and tests: the person's own tests too, as far as they may be shown."""
        told = (self.context, for_judges(self.request.own_tests, self.share_of_runs))
        return "\n\n".join(text for text in told if text)

    @property
    def redaction(self) -> Redaction:
        """What may be told of a run of the present solution on the real sample."""
        tables = tables_of(self.told_samples, self.plan.outputs).columns
        columns = [column for names in tables.values() for column in names]
        inputs, outputs = self.plan.inputs, self.plan.outputs
        names = (*(spec.name for spec in inputs), *(spec.name for spec in outputs), *columns)
        return Redaction.over(self.share_of_runs, self.code, names)

    @property
    def told_samples(self) -> Mapping[str, Any]:
        """The samples as far as the model may know of them."""
        return Withheld.of(self.config.hide, self.config.mask).told(self.request.samples)

    @property
    def share_of_runs(self) -> Share:
        """How much the words of a run may tell: where something is held back of the data, no value of a cell."""
        held_back = self.config.hide or self.config.mask
        return "stats" if held_back and self.config.share == "rows" else self.config.share

    @property
    def sources(self) -> tuple[str, ...]:
        """The modules that run in the sandbox."""
        own = (self.request.own_tests,) if self.request.own_tests else ()
        return (self.code, *(suite.source for suite in (self.suite.modules if self.suite else ())), *own)

    def set_code(self, code: str) -> None:
        """Take a new version of the solution."""
        self.code = code
        self.emit(SourceWritten("solution", self.attempt, code))

    def set_suite(self, suite: TestSuite) -> None:
        """Take a new version of the tests."""
        self.suite = suite
        self.emit(SourceWritten("tests", self.attempt, suite.source))

    def program(self) -> Program:
        """The present solution, as the sandbox takes it."""
        variables = {**self.config.env_vars, **secret_values(self.config.secrets)}
        return Program(self.code, self.plan.inputs, self.plan.outputs, env_vars=variables)

    async def stage(self, stage: Stage, work: Callable[[], Awaitable[T]]) -> T:
        """Await a stage's work, telling the listeners when it begins and how it ends."""
        self.emit(StageStarted(stage, self.attempt, self.attempts_allowed))
        began = len(self._said(stage))
        try:
            outcome = await work()
        except BaseException as error:
            if isinstance(error, UnusableAnswer):
                self.last_words = self._said(stage, began)
            self.emit(StageFinished(stage, self.attempt, False))
            raise
        exchanges = self._said(stage, began)
        replayed = bool(exchanges) and all(exchange.replayed for exchange in exchanges)
        self.emit(StageFinished(stage, self.attempt, True, replayed=replayed))
        return outcome

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All that was said with models; what was said of the second opinion comes last."""
        return (*self.talk.exchanges, *self.second_talk.exchanges)

    def _said(self, stage: Stage, began: int = 0) -> list[Exchange]:
        return [exchange for exchange in self.exchanges if exchange.stage == stage][began:]
