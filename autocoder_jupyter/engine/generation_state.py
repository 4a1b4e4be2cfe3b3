"""What a generation has from its plan on: the brief, and the code and tests that change from attempt to attempt."""

from __future__ import annotations

from dataclasses import dataclass, replace

from autocoder_jupyter.data.constraints import tables_of
from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.constraints import Constraints
from autocoder_jupyter.engine.events import SourceWritten
from autocoder_jupyter.engine.generation_setup import GenerationSetup
from autocoder_jupyter.engine.own_tests import for_judges
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.redaction.words import Redaction
from autocoder_jupyter.request import secret_values
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import TestChoice


@dataclass
class GenerationState:
    """The state of a generation whose plan stands.

    Args:
        setup: what it works with.
        brief: the request, the plan and the data context.
        constraints: those of the request, as checks on the outputs of the plan.
        choices: what became of each test of an earlier version; empty where there is none.
        code: the present solution; "" until it is written.
        suite: the present tests; None until they are written, and where tests are skipped.
    """

    setup: GenerationSetup
    brief: Brief
    constraints: Constraints
    choices: tuple[TestChoice, ...] = ()
    code: str = ""
    suite: TestSuite | None = None

    @property
    def judges_brief(self) -> Brief:
        """The brief for stages that decide between code and tests, with the user's own tests if they may be shown."""
        own = for_judges(self.brief.request.own_tests, self.setup.share_of_runs)
        told = (self.brief.context, own)
        return replace(self.brief, context="\n\n".join(text for text in told if text))

    @property
    def redaction(self) -> Redaction:
        """What may be told of a run of the present solution on the real sample."""
        plan = self.brief.plan
        tables = tables_of(self.setup.told_samples, plan.outputs).columns
        columns = [column for names in tables.values() for column in names]
        names = (*(spec.name for spec in plan.inputs), *(spec.name for spec in plan.outputs), *columns)
        return Redaction.over(self.setup.share_of_runs, self.code, names)

    @property
    def sources(self) -> tuple[str, ...]:
        """The modules that run in the sandbox."""
        own_tests = self.brief.request.own_tests
        suites = self.suite.modules if self.suite else ()
        return (self.code, *(suite.source for suite in suites), *((own_tests,) if own_tests else ()))

    def set_code(self, code: str) -> None:
        """Replace the solution, and tell the listeners."""
        self.code = code
        self.setup.emit(SourceWritten("solution", self.setup.stages.attempt, code))

    def set_suite(self, suite: TestSuite) -> None:
        """Replace the tests, and tell the listeners."""
        self.suite = suite
        self.setup.emit(SourceWritten("tests", self.setup.stages.attempt, suite.source))

    def program(self) -> Program:
        """The present solution, as the sandbox takes it."""
        config, plan = self.setup.config, self.brief.plan
        variables = {**config.env_vars, **secret_values(config.secrets)}
        return Program(self.code, plan.inputs, plan.outputs, env_vars=variables)
