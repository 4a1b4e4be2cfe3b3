"""The gateway between the agent's program and the model's service, over real HTTP, without the program."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engines.claude.gateway import Gateway, SessionListener, within
from autocoder_jupyter.engines.claude.service import Service, require_claude
from autocoder_jupyter.errors import (
    AuthenticationFailed,
    AutocodeError,
    BudgetSpent,
    InvalidRequest,
    Locked,
    ModelError,
    ModelUnavailable,
    UnknownModel,
)
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.types import Exchange, Usage
from tests.scripted_model import Answer, Call, ScriptedModel

MODEL = "anthropic/claude-sonnet-4-5"


class Desk:
    """A gateway with a client, and its events."""

    def __init__(self, root: Path, model: ScriptedModel, **changes: Any) -> None:
        self.journal = Journal(root / ".autocode", "total")
        self.journal.begin("one")
        self.journal.write_request({}, {})
        self.said: list[str] = []
        self.heard = asyncio.Event()
        self.retried: list[str] = []
        self.charged: list[Usage] = []
        self.exchanges: list[Exchange] = []
        self.budget = changes.pop("meter", Budget())
        config = ModelConfig(MODEL, api_base=model.root, **changes.pop("config", {}))
        given: dict[str, Any] = {
            "journal": self.journal,
            "policy": "auto",
            "locked": False,
            "meter": self.budget,
            "most_turns": 9,
            "on_send": self.journal.add_sent,
            "listener": SessionListener(
                begun=lambda turn: None,
                streamed=self._hear,
                exchanged=self.exchanges.append,
                retrying=lambda reason, seconds: self.retried.append(reason),
                charged=self.charged.append,
            ),
        }
        self.gateway = Gateway(Service(config), **{**given, **changes})

    def _hear(self, turn: int, text: str) -> None:
        self.said.append(text)
        self.heard.set()

    async def ask(self, *words: str, key: str | None = None, **more: Any) -> httpx.Response:
        messages = [{"role": "user", "content": [{"type": "text", "text": word}]} for word in words]
        body = {"model": "claude-sonnet-4-5", "max_tokens": 4000, "messages": messages, **more}
        headers = {"x-api-key": self.gateway.token if key is None else key, "anthropic-version": "2023-06-01"}
        async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
            return await client.post(f"{self.gateway.url}/v1/messages?beta=true", json=body, headers=headers)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key")


@asynccontextmanager
async def at_work(root: Path, script: Any, **changes: Any) -> AsyncIterator[tuple[Desk, ScriptedModel]]:
    with ScriptedModel(script) as model:
        desk = Desk(root, model, **changes)
        await desk.gateway.start()
        try:
            yield desk, model
        finally:
            await desk.gateway.close()


async def test_an_answer_comes_back_with_its_calls_and_the_key_is_added_on_the_way(tmp_path: Path) -> None:
    answer = Answer("I look.", calls=[Call("mcp__workspace__Bash", {"command": "ls"})])
    own = {"params": {"extra_headers": {"x-tenant": "mine"}}}
    async with at_work(tmp_path, [answer], config=own) as (desk, model):
        message = (await desk.ask("hello", metadata={"user_id": "this machine"})).json()
    assert [block["type"] for block in message["content"]] == ["text", "tool_use"]
    assert message["content"][1]["input"] == {"command": "ls"} and message["stop_reason"] == "tool_use"
    assert model.headers[0]["x-api-key"] == "the-key" and model.headers[0]["x-tenant"] == "mine"
    assert "metadata" not in model.requests[0]
    assert "".join(desk.said) == "I look."
    assert desk.exchanges[0].answer == "I look.\n\n[Bash]\ncommand: ls"
    sent = json.loads((desk.journal.folder / "sent.json").read_text())["requests"]
    assert sent[0]["body"]["messages"][0]["content"][0]["text"] == "hello" and "the-key" not in json.dumps(sent)


async def test_what_is_streamed_is_the_same_message(tmp_path: Path) -> None:
    async with at_work(tmp_path, ["hello there"]) as (desk, _):
        events = (await desk.ask("hi", stream=True)).text
    assert "text_delta" in events and "hello there" in events and events.rstrip().endswith('{"type": "message_stop"}')


async def test_only_the_program_of_the_session_may_ask(tmp_path: Path) -> None:
    async with at_work(tmp_path, ["x"]) as (desk, model):
        assert (await desk.ask("hi", key="the-key")).status_code == 401
        assert (await desk.ask("hi", key="")).status_code == 401
    assert not model.requests


async def test_a_request_gets_no_other_model_and_nothing_that_the_budget_does_not_price(tmp_path: Path) -> None:
    dear: dict[str, Any] = {
        "service_tier": "priority",
        "speed": "fast",
        "mcp_servers": [{"type": "url", "url": "https://evil", "name": "x"}],
        "container": "x",
        "tools": [
            {"type": "web_search_20250305", "name": "web_search"},
            {"type": "code_execution_20250825", "name": "code_execution"},
            {"name": "mcp__workspace__Bash", "input_schema": {"type": "object"}},
            "web_search",
        ],
    }
    picture = {"type": "image", "source": {"type": "url", "url": "https://evil/?secret"}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [picture]}
    asked = [{"role": "user", "content": [{"type": "text", "text": "hi"}, picture, result]}]
    async with at_work(tmp_path, ["x"]) as (desk, model):
        response = await desk.ask("hi", **{**dear, "model": "claude-opus-4-1", "messages": asked, "temperature": 0.5})
    sent = model.requests[0]
    assert response.status_code == 200 and sent["model"] == "claude-sonnet-4-5" and sent["temperature"] == 0.5
    assert [tool["name"] for tool in sent["tools"]] == ["mcp__workspace__Bash"]
    assert not {"service_tier", "speed", "mcp_servers", "container"} & sent.keys()
    assert "evil" not in json.dumps(sent)


async def test_the_same_question_is_answered_from_the_journal_and_costs_nothing(tmp_path: Path) -> None:
    async with at_work(tmp_path, ["once"]) as (desk, _):
        await desk.ask("hi")
    async with at_work(tmp_path, [], locked=True) as (again, model):
        message = (await again.ask("hi")).json()
        assert message["content"][0]["text"] == "once"
        assert again.exchanges[0].replayed and again.exchanges[0].usage == Usage()
        assert (await again.ask("another")).status_code == 400
        assert isinstance(again.gateway.fault.result(), Locked)
    assert not model.requests


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (Answer(status=401, error="invalid x-api-key"), AuthenticationFailed, "refuses the key"),
        (Answer(status=404, error="model: claude-nope"), UnknownModel, "There is no model"),
        (Answer(status=400, error="messages.0: something"), ModelError, "refused the question"),
        (Answer("gone", drop_after=0), ModelUnavailable, "did not answer in 1 try"),
    ],
)
async def test_a_refusal_ends_the_session_with_one_sentence(
    answer: Answer, kind: type[AutocodeError], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocoder_jupyter.engines.claude.gateway.RetryPolicy", lambda: RetryPolicy(tries=1))
    async with at_work(tmp_path, [answer]) as (desk, _):
        assert (await desk.ask("hi")).status_code == 400
        fault = desk.gateway.fault.result()
    assert isinstance(fault, kind) and said in str(fault)


async def test_a_fault_that_passes_is_waited_out_and_told(tmp_path: Path) -> None:
    overloaded = Answer(status=529, error="overloaded", headers={"retry-after": "0"})
    async with at_work(tmp_path, [overloaded, "at last"]) as (desk, _):
        assert (await desk.ask("hi")).json()["content"][0]["text"] == "at last"
    assert desk.retried == ["the service is overloaded"]


async def test_turns_are_limited(tmp_path: Path) -> None:
    async with at_work(tmp_path, ["1", "2", "3"], most_turns=2) as (desk, model):
        await desk.ask("a")
        await desk.ask("a", "b")
        await desk.ask("a", "b", "c")
        fault = desk.gateway.fault.result()
    assert isinstance(fault, BudgetSpent) and fault.limit == "agent_max_turns" and len(model.requests) == 2


async def test_money_is_reserved_before_each_request(tmp_path: Path) -> None:
    dear = Answer("much", usage={"prompt_tokens": 100, "completion_tokens": 3_900})
    async with at_work(tmp_path, [dear, dear], meter=Budget(cost=0.07)) as (desk, model):
        await desk.ask("a")
        await desk.ask("a", "b")
        fault = desk.gateway.fault.result()
    assert isinstance(fault, BudgetSpent) and fault.limit == "max_cost" and len(model.requests) == 1
    assert desk.budget.used.cost is not None and 0.05 < desk.budget.used.cost < 0.07


async def test_what_came_before_a_cancel_is_paid_for_and_nothing_more_is_asked(tmp_path: Path) -> None:
    held = Answer("a long answer " * 20, hold=threading.Event(), hold_after=100)
    async with at_work(tmp_path, [held]) as (desk, model):
        asking = asyncio.ensure_future(desk.ask("hi"))
        await desk.heard.wait()
        asking.cancel()
    await asyncio.to_thread(model.wait_for_hang_ups, 1)
    assert desk.budget.used.input_tokens > 0


def test_a_request_in_a_small_room_thinks_less() -> None:
    body = {"max_tokens": 32_000, "thinking": {"type": "enabled", "budget_tokens": 31_999}}
    assert within(body, 32_000) == body
    assert within(body, 8_000) == {"max_tokens": 8_000, "thinking": {"type": "enabled", "budget_tokens": 4_000}}
    assert within(body, 1_500)["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({}, "https://api.anthropic.com/v1/messages"),
        ({"api_base": "http://proxy:1/v1/"}, "http://proxy:1/v1/messages"),
        ({"api_base": "http://proxy:1/v1/messages"}, "http://proxy:1/v1/messages"),
        ({"params": {"api_base": "http://other"}, "api_base": "http://proxy"}, "http://other/v1/messages"),
    ],
)
def test_the_address_is_the_one_that_litellm_takes(given: dict[str, Any], url: str, monkeypatch: Any) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_BASE", raising=False)
    assert Service(ModelConfig(MODEL, **given)).url == url


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-5", "claude-sonnet-4-5", "anthropic/a-proxy-knows-it"])
def test_models_of_anthropic_are_taken_by_both_their_names(model: str) -> None:
    require_claude(model)


@pytest.mark.parametrize("model", ["openai/gpt-5", "ollama/llama3", "gpt-4.1"])
def test_others_are_refused_with_the_way_out(model: str) -> None:
    with pytest.raises(InvalidRequest, match="works only with models of Anthropic"):
        require_claude(model)
