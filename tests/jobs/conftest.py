from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.jobs import registry
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.run.events import StageStarted
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types import CodeSolution, OutputSpec, Report


class StandInEngine:
    """An engine that generates given results, stage by stage; each stage waits until the test releases it."""

    def __init__(self) -> None:
        self.stage_reached = {stage: threading.Event() for stage in ("plan", "code", "environment", "run")}
        self.go_on = threading.Event()
        self.killed = threading.Event()
        self.outcome: Report | Exception | None = None
        self.asks: tuple[str, ...] = ()
        self.answer: bool | None = None
        self.questions: tuple[Any, ...] = ()
        self.answers: tuple[str, ...] | None = None
        self.stop_at: str | None = None
        self.offers: list[Report | None] = []
        self.offered = threading.Event()
        self.context: Any = None

    async def __call__(
        self,
        request: Request,
        config: AgentConfig,
        *,
        journal: Any,
        tracker: RunTracker[FunctionRun],
        approve: Any,
        ask: Any = None,
        draft: Any = None,
        offer: Any = None,
        silence: Any = None,
    ) -> Report:
        for stage, reached in self.stage_reached.items():
            tracker(StageStarted(stage, 1, 1))  # type: ignore[arg-type]
            reached.set()
            if self.stop_at == stage:
                await background.call_blocking(lambda: self.go_on.wait(30), on_cancel=self.killed.set)
        for report in self.offers:
            offer(report)
        if self.offers:
            self.offered.set()
            await background.call_blocking(lambda: self.go_on.wait(30), on_cancel=self.killed.set)
        if self.asks:
            self.answer = await approve(self.asks)
        if self.questions:
            self.answers = await ask(self.questions)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome or done(request.name)


def done(name: str, **more: Any) -> Report:
    fields: dict[str, Any] = {
        "name": name,
        "run_id": "abc",
        "prompt": "…",
        "success": True,
        "solution": CodeSolution(code="def run(): return 1.0"),
        "declared_outputs": (OutputSpec(name="value", type="float"),),
    }
    return Report(**{**fields, **more})


@pytest.fixture
def finished() -> Callable[..., Report]:
    return done


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInEngine]:
    engine = StandInEngine()
    monkeypatch.setattr("autocoder_jupyter.jobs.job.generate_report", engine)
    yield engine
    engine.go_on.set()
    for job in registry.all_jobs():
        job.cancel()
    registry._jobs.clear()


@pytest.fixture
def submit(engine: StandInEngine, tmp_path: Path) -> Callable[..., Any]:
    def submitted(name: str = "growth", listeners: tuple[Any, ...] = ()) -> Any:
        tracker = RunTracker(FunctionRun(name), *listeners)
        return registry.submit(
            Request(name=name, prompt="…"), AgentConfig(), journal_root=tmp_path / ".autocode", tracker=tracker
        )

    return submitted
