"""The sandbox minimum applies to every way of starting a worker, and is checked before a model is asked."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import AutoCoderAgent, CodeGenEvalResult, CodeModeAgent, jobs
from autocoder_jupyter.agent.arguments import build_request
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import InvalidRequest, SandboxUnavailable
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.sandbox import choice
from autocoder_jupyter.sandbox.protocol import Probe
from autocoder_jupyter.types import CodeSolution, OutputSpec, Report
from tests.scripted_model import ScriptedModel

WEAK = "is weaker than the sandbox_minimum 'full'"


class Landlocked:
    """The local sandbox of a container without namespaces. A test fails if anything is built or started."""

    name = "local"

    def probe(self) -> Probe:
        return Probe("local", True, tier="landlock")


class Asleep:
    name = "docker"

    def probe(self) -> Probe:
        return Probe("docker", False, "No engine answers.")


@pytest.fixture(autouse=True)
def landlocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which only Landlock works. Gives the folder of an administrator's file."""
    folder = tmp_path / "etc"
    folder.mkdir()
    monkeypatch.setattr(choice, "get", lambda name, config=None: Landlocked() if name == "local" else Asleep())
    monkeypatch.setattr(choice, "config_folders", lambda: (folder,))
    monkeypatch.setattr("autocoder_jupyter.calls.runtime._runtimes", {})
    return folder


def by_a_person(folder: Path) -> dict[str, Any]:
    return {"sandbox_minimum": "full"}


def by_an_administrator(folder: Path) -> dict[str, Any]:
    (folder / choice.FILE).write_text('{"Autocode": {"sandbox_minimum": "full"}}')
    return {}


Demand = Callable[[Path], dict[str, Any]]
demanded = pytest.mark.parametrize("demand", [by_a_person, by_an_administrator])


def result(root: Path, **options: Any) -> CodeGenEvalResult:
    report = Report(
        name="growth",
        run_id="abc",
        prompt="…",
        success=True,
        solution=CodeSolution(code="def run():\n    return 1.0\n"),
        declared_outputs=(OutputSpec(name="total", type="float"),),
        sandbox="local",
        sandbox_tier="landlock",
    )
    pending = Pending.resolved(Resolution("ready", report))
    return CodeGenEvalResult("growth", pending, options=CallOptions(), root=root).with_options(**options)


@demanded
@pytest.mark.parametrize("backend", ["litellm", "claude"])
def test_nothing_is_asked_of_a_model_when_nothing_here_reaches_the_minimum(
    landlocked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demand: Demand, backend: Any
) -> None:
    given: dict[str, Any] = {"samples": {"sales": pd.DataFrame({"v": [1.0]})}, "name": "total"}
    with ScriptedModel(lambda request: "never asked") as model:
        settings = {**model.settings, **demand(landlocked), "backend": backend}
        if backend == "claude":
            pytest.importorskip("claude_agent_sdk")
            monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
            settings |= {"model": "anthropic/claude-sonnet-4-5", "api_key": "ANTHROPIC_API_KEY"}
        agent = AutoCoderAgent(**settings)
        with pytest.raises(SandboxUnavailable, match=WEAK) as caught:
            agent.generate("The sum of v", journal_root=tmp_path, **given)
        job = jobs.submit(build_request("The sum of v", **given), agent, journal_root=tmp_path)
        with pytest.raises(SandboxUnavailable, match=WEAK):
            job.result.wait(60)
        assert model.requests == []
    who = "sandbox_minimum='full'" if demand is by_a_person else str(landlocked / choice.FILE)
    assert who in caught.value.why
    assert "tier 'landlock'" in caught.value.why


@demanded
def test_no_call_of_a_function_is_made_below_the_minimum(landlocked: Path, tmp_path: Path, demand: Demand) -> None:
    growth = result(tmp_path, **demand(landlocked))
    task = growth.as_task("kept")
    saved = growth.save(tmp_path / "saved")
    ways = [growth.run, growth, task, pickle.loads(pickle.dumps(task)), pickle.loads(pickle.dumps(growth.run))]
    ways += [CodeGenEvalResult.load(saved), CodeGenEvalResult.load(saved, trusted=True)]
    for way in ways:
        with pytest.raises(SandboxUnavailable, match=WEAK):
            (way.run if isinstance(way, CodeGenEvalResult) else way)()


@demanded
def test_code_mode_asks_no_model_when_its_functions_could_not_be_called(
    landlocked: Path, tmp_path: Path, demand: Demand
) -> None:
    pytest.importorskip("pydantic_monty")
    growth = result(tmp_path, **demand(landlocked))
    for given in ({"tools": [growth.as_task("kept")]}, {"tools": [], "functions": {"growth": growth}}):
        with ScriptedModel(lambda request: "never asked") as model:
            answered = CodeModeAgent(**given, **model.place).run("What is it?", journal_root=tmp_path)
            assert model.requests == []
        assert WEAK in (answered.error or "")


def test_a_result_narrows_what_is_demanded_and_never_widens_it(tmp_path: Path) -> None:
    growth = result(tmp_path, sandbox_minimum="docker").with_options(sandbox_minimum="any")
    with pytest.raises(SandboxUnavailable, match="'docker'"):
        growth.run()


def test_a_file_of_a_stranger_demands_in_its_own_name(tmp_path: Path) -> None:
    saved = result(tmp_path, sandbox_minimum="docker").save(tmp_path / "saved")
    with pytest.raises(SandboxUnavailable) as caught:
        CodeGenEvalResult.load(saved).run()
    assert "'docker' is required by the file that the result was loaded from." in caught.value.why


def test_a_misspelled_minimum_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="sandbox_minimum must be one of 'any'") as caught:
        AutoCoderAgent(sandbox_minimum="landlok")  # type: ignore[arg-type]
    assert "landlock" in caught.value.hint
    with pytest.raises(InvalidRequest, match="sandbox_minimum must be one of 'any'"):
        result(tmp_path, sandbox_minimum="container")
