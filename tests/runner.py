"""The real loop on the real local sandbox, with the real client and a scripted model over HTTP."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from autocoder_jupyter.engine import Services, generate
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engines.staged.writer import StagedWriters
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.models.replay import ReplayingModel
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.run.events import Event, Finished
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.sandbox.choice import choose
from autocoder_jupyter.sandbox.host.pool import shared_pool
from autocoder_jupyter.sandbox.protocol import Sandbox
from autocoder_jupyter.settings.choices import SandboxName
from autocoder_jupyter.types import Changes, CodePlan, OutputSpec, PlanQuestion, Report, SecondOpinion
from tests.scripted_model import CODE_MARKER, PLAN_MARKER, Answer, Script, ScriptedModel, by_marker, prompt_of

MARKERS = {
    "plan": PLAN_MARKER,
    "code": CODE_MARKER,
    "tests": "You write the tests of one Python function",
    "constraints": "You translate sentences about tables",
    "diagnose": "You find out why tests",
    "fix_code": "You fix one Python module",
    "fix_tests": "You check the expected values of tests",
    "second": "You are an experienced analyst",
    "derive": "You work out by hand what a function must return",
    "again": "This is a small exercise in arithmetic with tables",
    "match": "the columns of their results have different names",
    "name": "Two analysts answered one request",
    "more_tests": "You add tests for one Python function",
    "sort_tests": "You decide which tests of a function remain valid",
}
"""A phrase in each stage's instructions, to assign parallel questions to scripts."""


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def said(
    answers: Mapping[str, tuple[str, str]], other: Callable[[dict[str, Any]], str | Answer]
) -> Callable[[dict[str, Any]], str | Answer]:
    """A script that answers requests with one of these texts with its code or its tests, and others as `other` does."""

    def say(request: dict[str, Any]) -> str | Answer:
        prompt = prompt_of(request)
        for text, (code, tests) in answers.items():
            if text in prompt:
                return fenced(tests if MARKERS["tests"] in prompt else code)
        return other(request)

    return say


@dataclass
class Generated:
    """A finished generation, with its events."""

    report: Report
    events: list[Event]
    model: ScriptedModel
    asked: list[str] = field(default_factory=list)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def error(self) -> str:
        """The error; "" if there is none."""
        return self.report.error or ""

    @property
    def code(self) -> str:
        """The final code of the function."""
        assert self.report.solution is not None, self.error
        return self.report.solution.code

    @property
    def plan(self) -> CodePlan:
        assert self.report.plan is not None, self.error
        return self.report.plan

    @property
    def opinion(self) -> SecondOpinion:
        assert self.report.second_opinion is not None, self.error
        return self.report.second_opinion

    @property
    def changes(self) -> Changes:
        """The differences of a version from the one that it was made from."""
        assert self.report.changes is not None, self.error
        return self.report.changes


_begun: dict[bytes, tuple[Path, Generated]] = {}
"""What `Runner.begin` has generated, with a copy of its folder, by its arguments."""


class Runner:
    """Runs requests with scripts by stage."""

    def __init__(self, root: Path, sandbox: Sandbox | SandboxName) -> None:
        self.root = root
        self.sandbox = choose(sandbox) if isinstance(sandbox, str) else sandbox
        self.approvals: list[tuple[str, ...]] = []
        self.consent = True
        self.questions: list[tuple[PlanQuestion, ...]] = []
        self.answers: tuple[str, ...] | None = None
        self.drafts: list[Report | None] = []
        self.offered: list[Report | None] = []
        """What could be used before the end: reports of verified functions, and None where one was taken back."""

    async def begin(self, script: Mapping[str, Script], **arguments: Any) -> Generated:
        """What `generate` gives in an empty folder, for tests of what comes after it.

        It is generated once in this process; for another test, the folder is copied.
        """
        key = pickle.dumps((script, arguments))
        if key in _begun:
            folder, produced = _begun[key]
            shutil.copytree(folder, self.root)
            return produced
        assert not self.root.exists()
        produced = await self.generate(script, **arguments)
        folder = Path(f"{self.root}-begun-{len(_begun)}")
        shutil.copytree(self.root, folder)
        _begun[key] = (folder, produced)
        return produced

    async def generate(
        self,
        script: Mapping[str, Script],
        *,
        prompt: str = "Total revenue of @sales.",
        samples: Mapping[str, Any] | None = None,
        outputs: Sequence[OutputSpec] = (OutputSpec(name="total", type="float"),),
        settings: Mapping[str, Any] | None = None,
        hear: Callable[[Event], object] = lambda event: None,
        **fields: Any,
    ) -> Generated:
        samples = {"sales": sales()} if samples is None else samples
        asked: list[str] = []
        with ScriptedModel(by_marker({MARKERS[stage]: answers for stage, answers in script.items()})) as model:
            settings = {"max_iterations": 4, "timeout": 60.0, "effort": "quick", **model.settings, **(settings or {})}
            config = AgentConfig(**settings)
            events: list[Event] = []

            def emit(event: Event) -> None:
                events.append(event)
                hear(event)

            request = Request(name="growth", prompt=prompt, samples=samples, outputs=tuple(outputs), **fields)
            journal = Journal(self.root, "growth")
            client = LiteLLMModel(
                ModelConfig(config.model, api_base=config.api_base), on_send=lambda sent: services.add_sent(sent)
            )
            services = Services(
                model=ReplayingModel(client, journal, config.cache),
                sandbox=self.sandbox,
                pool=shared_pool(self.sandbox),
                journal=journal,
                tracker=RunTracker(FunctionRun("growth"), emit),
                approve=self._approve,
                ask=self._ask,
                offer=lambda report: (self.drafts if report and not report.success else self.offered).append(report),
            )
            try:
                report = await generate(request, config, services, StagedWriters())
            finally:
                services.tracker.finish(Finished("failed"))
            for seen in model.requests:
                asked.append(next(stage for stage, marker in MARKERS.items() if marker in prompt_of(seen)))
        return Generated(report, events, model, asked)

    async def _ask(self, questions: tuple[PlanQuestion, ...]) -> tuple[str, ...] | None:
        self.questions.append(questions)
        return self.answers

    async def _approve(self, packages: tuple[str, ...]) -> bool:
        self.approvals.append(packages)
        return self.consent


def sales() -> pd.DataFrame:
    return pd.DataFrame({"price": [10.0, 20.0, 30.0], "quantity": [1, 2, 3]})


PLAN = json.dumps(
    {
        "description": "Total revenue.",
        "approach": "Multiply and sum.",
        "outputs": [{"name": "total", "type": "float", "meaning": "sum of price times quantity"}],
        "assumptions": ["Rows with a missing price count as zero."],
    }
)

CODE = """\
import pandas as pd


def run(sales: pd.DataFrame) -> float:
    return float((sales["price"] * sales["quantity"]).sum())"""

TESTS = '''\
import pandas as pd
from solution import run


def test_sum():
    """Total revenue of @sales."""
    sales = pd.DataFrame({"price": [2.0, 3.0], "quantity": [1, 2]})
    assert run(sales=sales) == 8.0  # 2*1 + 3*2


def test_empty():
    """An empty frame has no revenue."""
    sales = pd.DataFrame({"price": pd.Series([], dtype="float64"), "quantity": pd.Series([], dtype="int64")})
    assert run(sales=sales) == 0.0'''
