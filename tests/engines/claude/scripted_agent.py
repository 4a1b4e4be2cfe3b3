"""Runs requests with the real SDK and program, the real engine and a real sandbox; only the answers are scripted."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.agent.generation import generate_report
from autocoder_jupyter.agent.settings import agent_config
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.request import Request
from autocoder_jupyter.run.events import Event, Finished
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types import OutputSpec, Report, ToolUse
from tests.runner import MARKERS, fenced
from tests.scripted_model import Answer, Call, ScriptedModel, Unforeseen, prompt_of

if importlib.util.find_spec("claude_agent_sdk") is None:
    pytest.skip("the extra [agent] is not installed", allow_module_level=True)

SALES = pd.DataFrame({"v": [1.0, 2.0, None], "kind": ["a", "b", "a"]})

PLAN = {
    "description": "The sum of v.",
    "approach": "Sum the column.",
    "inputs": [{"name": "sales", "type": "DataFrame"}],
    "outputs": [{"name": "total", "type": "float", "meaning": "the sum"}],
    "assumptions": ["missing values count as zero"],
}

GOOD = '''\
import pandas as pd


def run(sales: pd.DataFrame) -> float:
    """The sum of v."""
    return float(sales["v"].sum())
'''

WRONG = GOOD.replace('["v"].sum()', '["v"].sum(skipna=False)')

TESTS = '''\
import pandas as pd
from solution import run


def test_sum():
    """The sum of v."""
    assert run(sales=pd.DataFrame({"v": [1.0, 2.0]})) == 3.0


def test_missing():
    """Missing values count as zero."""
    assert run(sales=pd.DataFrame({"v": [1.5, None]})) == 1.5
'''

BLIND = TESTS.replace("test_", "test_other_")


def bash(command: str, **more: Any) -> Call:
    return Call("mcp__workspace__Bash", {"command": command, **more})


def read(path: str) -> Call:
    return Call("mcp__workspace__Read", {"file_path": path})


def write(path: str, content: str) -> Call:
    return Call("mcp__workspace__Write", {"file_path": path, "content": content})


def edit(path: str, old: str, new: str) -> Call:
    return Call("mcp__workspace__Edit", {"file_path": path, "old_string": old, "new_string": new})


def calls(*made: Call, text: str = "") -> Answer:
    return Answer(text, calls=made)


WRITES_BOTH = calls(write("solution.py", GOOD), write("tests.py", TESTS), text="I write both.")


def script(agent: Sequence[str | Answer], **stages: Any) -> Callable[[dict[str, Any]], str | Answer]:
    """A script with the agent's turns in order, and answers of stages by name; plan and blind tests have defaults."""
    answers = {"plan": json.dumps(PLAN), "tests": fenced(BLIND), **stages}
    turns = iter(agent)

    def answer(request: dict[str, Any]) -> str | Answer:
        if any(tool["name"] == "mcp__workspace__Bash" for tool in request.get("tools") or ()):
            for turn in turns:
                return turn
            raise Unforeseen("the agent's script is at its end")
        asked = prompt_of(request)
        stage = next((name for name, marker in MARKERS.items() if marker in asked and name in answers), None)
        if stage is None:
            raise Unforeseen(f"no stage of {sorted(answers)}")
        return answers[stage](request) if callable(answers[stage]) else answers[stage]

    return answer


@dataclass
class Generated:
    """A finished generation, with its events and requests."""

    report: Report
    events: list[Event]
    model: ScriptedModel
    journal: Journal

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        assert self.report.trace is not None
        return self.report.trace.calls

    @property
    def asked_as_agent(self) -> list[dict[str, Any]]:
        return agents_requests(self.model)


def agents_requests(model: ScriptedModel) -> list[dict[str, Any]]:
    return [request for request in model.requests if "mcp__workspace__Bash" in json.dumps(request.get("tools"))]


@dataclass
class ScriptedRun:
    """Runs generations."""

    root: Path
    name: str = "total"
    prompt: str = "The sum of v."
    settings: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    on_event: Callable[[Event], None] = lambda event: None

    def request(self, **parts: Any) -> Request:
        given = {"samples": {"sales": SALES}, "outputs": (OutputSpec(name="total", type="float"),), **parts}
        return Request(self.name, self.prompt, **given)

    async def run(self, endpoint: ScriptedModel, request: Request | None = None, **settings: Any) -> Generated:
        config = agent_config(
            **{
                "backend": "claude",
                "model": "anthropic/claude-sonnet-4-5",
                "api_base": endpoint.root,
                "sandbox": "local",
                "second_opinion": "off",
                "effort": "quick",
                **self.settings,
                **settings,
            }
        )
        journal, events = Journal(self.root, self.name), self.events
        events.clear()

        def emit(event: Event) -> None:
            events.append(event)
            self.on_event(event)

        async def decline(packages: tuple[str, ...]) -> bool:
            return False

        tracker, wanted = RunTracker(FunctionRun(self.name), emit), request or self.request()
        try:
            report = await generate_report(wanted, config, journal=journal, tracker=tracker, approve=decline)
        finally:
            tracker.finish(Finished("failed"))
        return Generated(report, list(events), endpoint, journal)

    def run_script(self, agent: Sequence[str | Answer], request: Request | None = None, **settings: Any) -> Generated:
        stages = settings.pop("stages", {})
        with ScriptedModel(script(agent, **stages)) as model:
            return asyncio.run(self.run(model, request, **settings))
