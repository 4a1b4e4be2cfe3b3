"""The cache marks for each provider, in requests over real HTTP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autocoder_jupyter.models import library
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.protocol import ModelConfig, Question, question_key
from autocoder_jupyter.models.questions import SHARED, wants_marks
from tests.cases import each
from tests.scripted_model import Answer, ScriptedModel

BEGINNING, REST = "The request and the data.", "\n\nNow write the tests."
MARK = {"type": "ephemeral"}


@pytest.fixture
def shared_question(question: Question) -> Question:
    user = {"role": "user", "content": BEGINNING + REST, SHARED: len(BEGINNING)}
    return replace(question, messages=({"role": "system", "content": "You are one of them."}, user))


async def test_for_anthropic_the_shared_beginning_ends_with_a_mark(
    shared_question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with ScriptedModel(["yes"]) as endpoint:
        config = ModelConfig("anthropic/claude-sonnet-4-5", api_base=endpoint.root)
        exchange = await LiteLLMModel(config).ask(shared_question)
    (sent,) = endpoint.requests[0]["messages"]
    assert sent["content"] == [
        {"type": "text", "text": BEGINNING, "cache_control": MARK},
        {"type": "text", "text": REST},
    ]
    assert exchange.messages[1] == {"role": "user", "content": BEGINNING + REST}
    assert exchange.key == question_key(shared_question, config)


async def test_others_get_plain_text_and_no_mark(shared_question: Question) -> None:
    with ScriptedModel(["yes"]) as endpoint:
        await LiteLLMModel(endpoint.config()).ask(shared_question)
    assert endpoint.requests[0]["messages"][1] == {"role": "user", "content": BEGINNING + REST}


async def test_a_service_that_refuses_marks_is_asked_without(
    shared_question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    refusal = Answer(status=400, error="messages.0.content.0.cache_control: Extra inputs are not permitted")
    with ScriptedModel([refusal, "yes"]) as endpoint:
        config = ModelConfig("anthropic/claude-sonnet-4-5", api_base=endpoint.root)
        assert (await LiteLLMModel(config).ask(shared_question)).answer == "yes"
    assert "cache_control" in str(endpoint.requests[0]) and "cache_control" not in str(endpoint.requests[1])


async def test_what_is_written_into_the_cache_and_read_from_it_is_counted_at_its_price(
    shared_question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    counted = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "cache_creation_input_tokens": 600,
        "cache_read_input_tokens": 300,
    }
    with ScriptedModel([Answer("yes", usage=counted)]) as endpoint:
        config = ModelConfig("anthropic/claude-sonnet-4-5", api_base=endpoint.root)
        usage = (await LiteLLMModel(config).ask(shared_question)).usage
    assert (usage.written_tokens, usage.cached_tokens) == (600, 300)
    assert usage.input_tokens == 1000
    assert usage.cost == pytest.approx((100 * 3 + 600 * 3.75 + 300 * 0.3 + 10 * 15) / 1e6)


@each(
    ("model", "wanted"),
    [
        ("anthropic/claude-of-tomorrow", True),
        ("openrouter/anthropic/claude-sonnet-4.5", True),
        ("bedrock/anthropic.claude-3-7-sonnet-20250219-v1:0", True),
        ("bedrock/anthropic.claude-v2", False),
        ("openai/gpt-4.1", False),
        ("openai/claude-behind-a-gateway", False),
        ("gemini/gemini-2.5-pro", False),
        ("ollama/llama3", False),
        ("nobody/knows", False),
    ],
)
def test_only_who_keeps_nothing_without_a_mark_gets_one(model: str, wanted: bool) -> None:
    assert wants_marks(model, library.load()) is wanted
