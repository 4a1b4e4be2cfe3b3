"""From a prompt to values: the real engine, the real client over HTTP, the real sandbox, scripted answers."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import AutoCoderAgent, jobs
from autocoder_jupyter.agent import generation
from autocoder_jupyter.agent.arguments import build_request
from autocoder_jupyter.agent.generation import reached
from autocoder_jupyter.errors import AuthenticationFailed, InvalidRequest, Locked, ModelError, SandboxUnavailable
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.sandbox.choice import get
from tests.first_answers import joined
from tests.scripted_model import Answer, ScriptedModel

pytestmark = pytest.mark.local_sandbox

PLAN = {
    "description": "The sum of v.",
    "approach": "sum",
    "inputs": [{"name": "sales", "type": "DataFrame"}],
    "outputs": [{"name": "total", "type": "float", "meaning": "the sum"}],
    "assumptions": ["missing values count as zero"],
}
CODE = """```python
import pandas as pd


def run(sales: pd.DataFrame) -> float:
    return float(sales["v"].sum())
```"""
TESTS = """```python
import pandas as pd
from solution import run


def test_sum():
    \"\"\"The sum of v.\"\"\"
    assert run(sales=pd.DataFrame({"v": [1.0, 2.0]})) == 3.0


def test_missing():
    \"\"\"Missing values count as zero.\"\"\"
    assert run(sales=pd.DataFrame({"v": [1.5, None]})) == 1.5
```"""


def answer(request: Any) -> str:
    asked = json.dumps(request)
    return TESTS if "You write the tests of one Python function" in asked else joined(json.dumps(PLAN), CODE)


def test_a_prompt_becomes_a_tested_function_and_the_same_again_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sales = pd.DataFrame({"v": [1.0, 2.5]})
    with ScriptedModel(answer) as model:
        agent = AutoCoderAgent(**model.settings, effort="quick", sandbox="local", log=str(tmp_path / "events.jsonl"))
        result = agent.generate("The sum of v in sales", samples={"sales": sales}, name="total", journal_root=tmp_path)
        logged = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
        assert logged[-1]["event"] == "Finished" and logged[-1]["state"] == "ready"
        assert {"TokensUsed", "EnvironmentReady", "TestReported"} <= {record["event"] for record in logged}
        assert (result.success, result.error) == (True, None)
        assert [result.run(), result.run(pd.DataFrame({"v": [10.0]}))] == [3.5, 10.0]
        assert (result.report.sandbox, result.report.sandbox_tier) == ("local", get("local").probe().tier)
        asked = len(model.requests)
        with pytest.raises(SandboxUnavailable, match="is weaker than the sandbox_minimum 'docker'"):
            AutoCoderAgent(**model.settings, effort="quick", sandbox="local", sandbox_minimum="docker").generate(
                "The sum of v in sales", samples={"sales": sales}, name="total", journal_root=tmp_path
            )
        request = build_request("The sum of v in sales", samples={"sales": sales}, name="total")
        job = jobs.submit(request, agent, journal_root=tmp_path)
        assert job.result.wait(120).code == result.code
        assert len(model.requests) == asked
        assert (tmp_path / "total" / "versions" / job.run_id / "solution.py").exists()
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    without_key = AutoCoderAgent(model=model.settings["model"], sandbox="local")
    assert jobs.submit(request, without_key, journal_root=tmp_path).result.wait(120).code == result.code


def test_a_locked_agent_replays_what_is_recorded_and_asks_nothing(tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"samples": {"sales": pd.DataFrame({"v": [1.0, 2.5]})}, "name": "total"}
    with ScriptedModel(answer) as model:
        open_agent = AutoCoderAgent(**model.settings, effort="quick", sandbox="local")
        open_agent.generate("The sum of v in sales", journal_root=tmp_path, **wanted)
        asked = len(model.requests)
        locked = AutoCoderAgent(**model.settings, effort="quick", sandbox="local", locked=True)
        assert locked.generate("The sum of v in sales", journal_root=tmp_path, **wanted).run() == 3.5
        with pytest.raises(Locked, match="openai/scripted must be asked to write the code") as told:
            locked.generate("The mean of v in sales", journal_root=tmp_path, **wanted)
        assert "new wording" in told.value.why and "without --locked" in told.value.hint
        with pytest.raises(Locked) as told:
            locked.generate("The sum of v in sales", journal_root=tmp_path / "empty", **wanted)
        assert "Nothing is recorded under total" in told.value.why
        assert len(model.requests) == asked
        anew = AutoCoderAgent(**model.settings, effort="quick", sandbox="local", locked=True, cache="override")
        with pytest.raises(InvalidRequest, match="cannot ignore recorded answers"):
            anew.generate("The sum of v in sales", journal_root=tmp_path, **wanted)


def test_a_missing_key_is_told_before_a_sandbox_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(generation, "runtime_for", lambda *_: pytest.fail("a sandbox was looked for"))
    request = build_request("The sum of v", samples={"sales": pd.DataFrame({"v": [1.0]})}, name="total")
    agent = AutoCoderAgent(model="openai/gpt-4.1")
    job = jobs.submit(request, agent, journal_root=tmp_path)
    with pytest.raises(AuthenticationFailed, match="OPENAI_API_KEY is not set"):
        job.result.wait(60)
    run = job.tracker.run
    assert run.phase == "failed" and "%autocode setup" in run.reason and "%env" not in run.reason
    assert run.asks_model, "its card asks for another model, or a key"


def test_a_refused_key_is_raised_and_nothing_is_generated(tmp_path: Path) -> None:
    with ScriptedModel(lambda request: Answer(status=401, error="bad key")) as model:
        agent = AutoCoderAgent(**model.settings, effort="quick", sandbox="local")
        with pytest.raises(AuthenticationFailed):
            agent.generate("The sum of v", samples={"sales": pd.DataFrame({"v": [1.0]})}, journal_root=tmp_path)


def test_a_limit_in_dollars_that_cannot_be_kept_is_told_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sales = pd.DataFrame({"v": [1.0, 2.5]})
    with ScriptedModel(answer) as model:
        limited = AutoCoderAgent(**model.settings, effort="quick", sandbox="local", max_cost=0.5)
        with monkeypatch.context() as patched:
            patched.delitem(sys.modules, "litellm", raising=False)  # a kernel has not imported it
            patched.setattr(generation, "runtime_for", lambda *_: pytest.fail("a sandbox was looked for"))
            with pytest.raises(ModelError, match="price of openai/scripted is not known") as refused:
                limited.generate("The sum of v", samples={"sales": sales}, name="total", journal_root=tmp_path)
        free = (
            "If it is free: %config Autocode.litellm_params = {'input_cost_per_token': 0, 'output_cost_per_token': 0}\n"
        )
        assert free in refused.value.hint and "To set a price, in US dollars for a token: %config" in refused.value.hint
        assert model.requests == []
        unlimited = AutoCoderAgent(**model.settings, effort="quick", sandbox="local")
        assert unlimited.generate("The sum of v", samples={"sales": sales}, name="total", journal_root=tmp_path).success
        asked = len(model.requests)
        again = limited.generate("The sum of v", samples={"sales": sales}, name="total", journal_root=tmp_path)
        assert again.success and len(model.requests) == asked  # what is replayed costs nothing


def test_a_limit_in_dollars_is_kept_with_the_persons_own_prices(tmp_path: Path) -> None:
    prices = {"input_cost_per_token": 1e-5, "output_cost_per_token": 1e-5}
    with ScriptedModel(answer) as model:
        limited = AutoCoderAgent(
            **model.settings, effort="quick", sandbox="local", max_cost=0.045, litellm_params=prices
        )
        result = limited.generate("The sum of v", samples={"sales": pd.DataFrame({"v": [1.0]})}, journal_root=tmp_path)
        assert result.state == "over_budget" and "rest of the budget of $0.045 is too small" in str(result.error)
        cost = result.report.usage.cost
        assert len(model.requests) >= 1 and cost is not None and cost < 0.045
        rooms = [request["max_tokens"] for request in model.requests]
        assert rooms[0] < 8000 and rooms == sorted(rooms, reverse=True)  # as long as the remaining budget allows
        refused = AutoCoderAgent(
            **model.settings, effort="quick", sandbox="local", max_cost=0.01, litellm_params=prices
        )
        sales = pd.DataFrame({"w": [1.0]})
        other = refused.generate("The sum of w", samples={"sales": sales}, journal_root=tmp_path)
        assert other.state == "over_budget" and "The budget of $0.01 is too small" in str(other.error)
        assert len(model.requests) == len(rooms)


def test_a_second_model_of_another_provider_gets_no_key_and_no_address_of_the_first() -> None:
    config = AgentConfig(
        model="openai/one", api_key="ONE_KEY", api_base="https://one.example/v1", litellm_params={"api_key": "x"}
    )
    assert reached(config, "openai/two") == replace(reached(config, "openai/one"), model="openai/two")
    other = reached(config, "anthropic/two")
    assert (other.model, other.api_key, other.api_base, dict(other.params)) == ("anthropic/two", None, None, {})
