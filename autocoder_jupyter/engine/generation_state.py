"""The state of a generation after its plan: the brief, and code and tests, which change with each attempt."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from autocoder_jupyter.data.constraints import tables_of
from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.constraints import Constraints
from autocoder_jupyter.engine.evidence.sides import KnownAnswers
from autocoder_jupyter.engine.evidence.small_inputs import VariedSample
from autocoder_jupyter.engine.generation_setup import GenerationSetup
from autocoder_jupyter.engine.own_tests import for_judges
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.engine.vacuity import StubRuns
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.request import secret_values
from autocoder_jupyter.run.events import SourceWritten
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import TestChoice
from autocoder_jupyter.types.records import Glimpse

MOST_PROGRAMS = 2
"""The function and the second solution: of earlier attempts no answer is kept."""


@dataclass
class GenerationState:
    """The state of a generation that has a plan.

    Args:
        setup: the setup of the generation.
        brief: the request, the plan and the data context.
        constraints: the request's constraints, as checks on the outputs of the plan.
        choices: for each test of an earlier version whether it is kept or dropped; empty if there is no such version.
        code: the current solution; "" until it is written.
        suite: the current tests; None until they are written, or if tests are skipped.
        has_code: set when there is code.

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
    def judges_brief(self) -> Brief:
        """The brief for stages that blame code or tests, with the user's own tests if they may be shown."""
        own = for_judges(self.brief.request.own_tests, self.setup.share_of_runs)
        told = (self.brief.context, own)
        return replace(self.brief, context="\n\n".join(text for text in told if text))

    @property
    def redaction(self) -> Redaction:
        """The redaction of messages from a run of the current solution on the real sample."""
        plan = self.brief.plan
        tables = tables_of(self.setup.told_samples, plan.outputs).columns
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
        return Program(self.code, plan.inputs, plan.outputs, env_vars=variables)

    def known_answers(self, program: Program) -> KnownAnswers:
        """The answers of a program that may be needed again. Those of the last few programs are kept."""
        with self._lock:
            for one, known in self._known:
                if one == program:
                    return known
            self._known[:] = [*self._known[1 - MOST_PROGRAMS :], (program, KnownAnswers())]
            return self._known[-1][1]
