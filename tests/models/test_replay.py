from __future__ import annotations

from dataclasses import replace

import pytest

from autocoder_jupyter.errors import AuthenticationFailed, ModelUnavailable
from autocoder_jupyter.models.answers import ask_structured
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.protocol import Listener, ModelConfig, Question
from autocoder_jupyter.models.replay import ReplayingModel
from autocoder_jupyter.request import CachePolicy
from autocoder_jupyter.types import CodePlan, Exchange, Usage
from tests.scripted_model import Answer, ScriptedModel


class Store:
    """Exchanges as JSON, as a journal keeps them."""

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}

    def find(self, key: str) -> Exchange | None:
        line = self.lines.get(key)
        return None if line is None else Exchange.model_validate_json(line)

    def add(self, exchange: Exchange) -> None:
        self.lines[exchange.key] = exchange.model_dump_json()

    @property
    def is_empty(self) -> bool:
        return not self.lines


def replaying(endpoint: ScriptedModel, store: Store, policy: CachePolicy = "auto") -> ReplayingModel:
    return ReplayingModel(LiteLLMModel(endpoint.config()), store, policy)


async def test_what_was_answered_once_is_not_asked_again(question: Question) -> None:
    store = Store()
    pieces: list[str] = []
    with ScriptedModel(["yes"]) as endpoint:
        first = await replaying(endpoint, store).ask(question)
        second = await replaying(endpoint, store).ask(question, Listener(on_text=pieces.append))
    assert len(endpoint.requests) == 1
    assert (first.replayed, second.replayed) == (False, True)
    assert second.answer == "yes" == pieces[0]
    assert second.seconds == first.seconds


async def test_a_replayed_answer_costs_nothing(question: Question) -> None:
    store = Store()
    with ScriptedModel(["yes"]) as endpoint:
        asked = await replaying(endpoint, store).ask(question)
        replayed = await replaying(endpoint, store).ask(question)
    assert replayed.usage == Usage(input_tokens=0, cached_tokens=0, output_tokens=0, cost=0.0)
    assert replayed.recorded == asked.usage != Usage() and asked.recorded == Usage(), "what it cost then is known"
    assert "recorded" not in asked.model_dump(), "the journal keeps one usage"


async def test_override_asks_anew_and_records(question: Question) -> None:
    store = Store()
    with ScriptedModel(["old", "new"]) as endpoint:
        await replaying(endpoint, store).ask(question)
        assert (await replaying(endpoint, store, "override").ask(question)).answer == "new"
        assert (await replaying(endpoint, store).ask(question)).answer == "new"


async def test_disable_neither_looks_nor_records(question: Question) -> None:
    store = Store()
    with ScriptedModel(["one", "two"]) as endpoint:
        assert (await replaying(endpoint, store, "disable").ask(question)).answer == "one"
        assert (await replaying(endpoint, store, "disable").ask(question)).answer == "two"
    assert store.lines == {}


async def test_a_failed_question_is_not_recorded(question: Question) -> None:
    store = Store()
    with ScriptedModel([Answer(status=401)]) as endpoint, pytest.raises(AuthenticationFailed):
        await replaying(endpoint, store).ask(question)
    assert store.lines == {}


async def recording_of(question: Question) -> Store:
    store = Store()
    with ScriptedModel(["yes"]) as endpoint:
        await replaying(endpoint, store).ask(question)
    return store


async def test_without_key_and_recording_both_are_named(question: Question) -> None:
    other = replace(question, messages=({"role": "user", "content": "another question"},))
    model = ReplayingModel(LiteLLMModel(ModelConfig("openai/gpt-4.1")), await recording_of(other))
    with pytest.raises(AuthenticationFailed) as caught:
        await model.ask(question)
    assert "OPENAI_API_KEY" in caught.value.why
    assert "journal has no answer" in caught.value.hint


async def test_without_reach_and_recording_both_are_named(question: Question) -> None:
    with ScriptedModel() as endpoint:
        config = endpoint.config()
    other = replace(question, messages=({"role": "user", "content": "another question"},))
    model = ReplayingModel(LiteLLMModel(config, RetryPolicy(tries=1)), await recording_of(other))
    with pytest.raises(ModelUnavailable, match="journal has no answer"):
        await model.ask(question)


async def test_who_never_recorded_anything_hears_nothing_of_a_journal(question: Question) -> None:
    model = ReplayingModel(LiteLLMModel(ModelConfig("openai/gpt-4.1")), Store())
    with pytest.raises(AuthenticationFailed) as caught:
        await model.ask(question)
    assert "journal" not in str(caught.value)


async def test_what_one_address_recorded_replays_offline_at_another_support_level(question: Question) -> None:
    store = Store()
    answer = '{"description": "a", "approach": "b"}'
    with ScriptedModel([answer], refuse={"response_format"}) as endpoint:
        model = ReplayingModel(LiteLLMModel(endpoint.config(model="openai/gpt-4.1")), store)
        await ask_structured(model, question, CodePlan)
    offline = ReplayingModel(LiteLLMModel(ModelConfig("openai/gpt-4.1")), store)
    plan, (exchange,) = await ask_structured(offline, question, CodePlan)
    assert plan.approach == "b"
    assert exchange.replayed
