"""Answers and responses that do not end, through the real litellm over real HTTP: each ends within its limits, and what
arrived is counted.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.errors import AutocodeError, BudgetSpent, ModelError, ModelUnavailable, UnusableAnswer
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import CUT_OFF, RetryPolicy, exchange_of
from autocoder_jupyter.models.protocol import (
    SLACK,
    AnswerLimits,
    Listener,
    ModelConfig,
    Question,
    Unmetered,
    most_bytes,
)
from autocoder_jupyter.models.replay import ReplayingModel
from autocoder_jupyter.types import Exchange, Usage
from tests.cases import each
from tests.model_faults import (
    WORDS,
    Wire,
    after,
    begun,
    chunk,
    endless_headers,
    finished,
    for_ever,
    gemini,
    gzip_bomb,
    ollama,
    piece,
    sends,
    socket_buffers,
)
from tests.scripted_model import Answer, ScriptedModel, always

ONCE = RetryPolicy(tries=1)
ROOM = 200
"""Tokens that an answer may have in these tests."""

SAID = [chunk({"content": word}) for word in WORDS]


class Store(dict[str, Exchange]):
    """An exchange store in memory."""

    def find(self, key: str) -> Exchange | None:
        return self.get(key)

    def add(self, exchange: Exchange) -> None:
        self[exchange.key] = exchange

    @property
    def is_empty(self) -> bool:
        return not self


@pytest.fixture
def short(question: Question) -> Question:
    return Question(stage=question.stage, messages=question.messages, max_tokens=ROOM)


async def failure(endpoint: ScriptedModel, question: Question, meter: Budget | None = None, **config: Any) -> Exception:
    with pytest.raises(AutocodeError) as caught:
        await LiteLLMModel(endpoint.config(**config), ONCE).ask(question, Listener(meter=meter or Unmetered()))
    return caught.value


def sent_tokens(text: str) -> int:
    return len(text) // 4 + 1


# Tokens


@pytest.mark.parametrize(
    "parts",
    [
        SAID,
        [chunk({"reasoning_content": word}) for word in WORDS],
        [chunk({"reasoning": word}) for word in WORDS],
        [chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": w}}]}) for w in WORDS],
        [chunk({"something_new": word, "content": "."}) for word in WORDS],
        [chunk({"content": word}, index=min(number, 1)) for number, word in enumerate(WORDS)],
    ],
    ids=[
        "content",
        "reasoning",
        "another name for reasoning",
        "arguments of tools",
        "an unknown field",
        "more choices",
    ],
)
async def test_an_answer_without_end_is_stopped_at_its_tokens_and_counted(parts: list[bytes], short: Question) -> None:
    budget = Budget(tokens=20_000)
    with ScriptedModel(always(Answer(wire=for_ever(*parts)))) as endpoint:
        error = await failure(endpoint, short, budget)
    assert isinstance(error, UnusableAnswer) and "did not end" in str(error)
    assert SLACK * ROOM <= budget.used.output_tokens <= SLACK * ROOM + 10
    assert len(endpoint.requests) == 1


PROVIDERS = {
    "anthropic/claude-sonnet-4-5": (begun(), [piece("text", word) for word in WORDS], "text/event-stream"),
    "ollama_chat/m": (b"", [ollama(word) for word in WORDS], "application/x-ndjson"),
    "gemini/gemini-2.5-pro": (b"", [gemini(word) for word in WORDS], "text/event-stream"),
}


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    monkeypatch.setenv("GEMINI_API_KEY", "x")


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("model", PROVIDERS)
async def test_the_formats_of_other_providers_are_stopped_and_counted_too(model: str, short: Question) -> None:
    start, parts, kind = PROVIDERS[model]
    budget = Budget()
    with ScriptedModel(always(Answer(wire=after(start, for_ever(*parts, kind=kind))))) as endpoint:
        error = await failure(endpoint, short, budget, model=model, api_base=endpoint.root)
    assert isinstance(error, UnusableAnswer) and "did not end" in str(error)
    assert SLACK * ROOM <= budget.used.output_tokens <= SLACK * ROOM + 10


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("model", ["openai/scripted", *PROVIDERS])
@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect"])
async def test_a_redirect_to_another_address_gets_neither_the_question_nor_the_key(
    status: str, model: str, short: Question
) -> None:
    def elsewhere() -> Wire:
        address = f"Location: http://localhost:{other.root.rpartition(':')[2]}/v1/messages"
        return sends(kind="text/plain", status=status, more=(address,))

    with ScriptedModel(["never"]) as other, ScriptedModel(always(Answer(wire=elsewhere()))) as endpoint:
        base = endpoint.url if model.startswith("openai") else endpoint.root
        error = await failure(endpoint, short, model=model, api_base=base)
    assert not other.headers and not other.requests
    assert isinstance(error, ModelError) and "a redirect to http://localhost:" in str(error)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("model", PROVIDERS)
async def test_a_cut_answer_of_another_provider_is_not_taken_for_a_whole_one(model: str, short: Question) -> None:
    start, parts, kind = PROVIDERS[model]
    with ScriptedModel(always(Answer(wire=sends(start, *parts[:3], kind=kind)))) as endpoint:
        error = await failure(endpoint, short, model=model, api_base=endpoint.root)
    assert isinstance(error, ModelUnavailable) and "broke off" in str(error)


async def test_what_is_counted_is_what_the_service_sent(short: Question) -> None:
    budget, heard = Budget(), list[str]()
    with ScriptedModel(always(Answer(wire=for_ever(*SAID)))) as endpoint, pytest.raises(UnusableAnswer) as caught:
        await LiteLLMModel(endpoint.config(), ONCE).ask(short, Listener(on_text=heard.append, meter=budget))
    text = "".join(heard)
    assert budget.used.output_tokens == sent_tokens(text)
    assert (cut := exchange_of(caught.value)) is not None and cut.answer == text


@pytest.mark.parametrize(
    ("limits", "setting"), [({"tokens": 1_500}, "max_tokens"), ({"cost": 0.01}, "max_cost")], ids=["tokens", "dollars"]
)
async def test_answers_without_end_keep_to_the_budget_also_side_by_side(
    limits: dict[str, Any], setting: str, question: Question
) -> None:
    budget = Budget(**limits)
    prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-5}
    asked = [Question("plan", question.messages, max_tokens=400, variant=number) for number in range(3)]
    with ScriptedModel(always(Answer(wire=for_ever(*SAID)))) as endpoint:
        model = LiteLLMModel(endpoint.config(params=prices), ONCE)
        answers = (model.ask(one, Listener(meter=budget)) for one in asked)
        ends = await asyncio.gather(*answers, return_exceptions=True)
    assert all(isinstance(end, UnusableAnswer | BudgetSpent) for end in ends)
    used = budget.used.input_tokens + budget.used.output_tokens
    one_piece = 10
    assert used <= limits.get("tokens", 10**9) + one_piece
    assert budget.used.cost is not None and budget.used.cost <= limits.get("cost", 1.0) + one_piece * 1e-5
    assert setting in "".join(map(str, ends))


async def test_a_cancel_counts_what_arrived_and_hangs_up_at_once(question: Question) -> None:
    budget, begun = Budget(), asyncio.Event()
    prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-5}
    with ScriptedModel(always(Answer(wire=for_ever(*SAID, pace=0.001)))) as endpoint:
        model = LiteLLMModel(endpoint.config(params=prices), ONCE)
        asking = asyncio.ensure_future(model.ask(question, Listener(on_text=lambda _: begun.set(), meter=budget)))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.to_thread(endpoint.wait_for_hang_ups, 1)
    assert budget.used.output_tokens > 0 and budget.used.cost


async def test_a_cancel_while_nothing_arrives_hangs_up_at_once(question: Question) -> None:
    with ScriptedModel(always(Answer(wire=for_ever(b": keep-alive\n\n", pace=0.01)))) as endpoint:
        asking = asyncio.ensure_future(LiteLLMModel(endpoint.config(), ONCE).ask(question))
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.to_thread(endpoint.wait_for_hang_ups, 1)


async def test_a_service_that_counts_far_too_little_is_not_believed(question: Question) -> None:
    said = [chunk({"content": word}) for word in WORDS[:500]]
    usage = {"prompt_tokens": 4, "completion_tokens": 1, "total_tokens": 5}
    with ScriptedModel(always(Answer(wire=finished(*said, usage=usage)))) as endpoint:
        exchange = await LiteLLMModel(endpoint.config()).ask(question)
    assert exchange.usage.output_tokens == sent_tokens(exchange.answer)


# What was paid for is not paid for again


async def test_an_answer_without_end_is_recorded_and_not_paid_for_again(short: Question) -> None:
    store = Store()
    with ScriptedModel(always(Answer(wire=for_ever(*SAID)))) as endpoint:
        model = ReplayingModel(LiteLLMModel(endpoint.config(), ONCE), store)
        for _ in range(3):
            with pytest.raises(UnusableAnswer, match="did not end"):
                await model.ask(short)
        assert len(endpoint.requests) == 1
        with pytest.raises(UnusableAnswer):
            await ReplayingModel(LiteLLMModel(endpoint.config(), ONCE), store, "override").ask(short)
        assert len(endpoint.requests) == 2
    (recorded,) = store.values()
    assert (recorded.finish_reason, recorded.room) == (CUT_OFF, ROOM) and recorded.answer.startswith(WORDS[0])


async def test_an_answer_that_the_budget_cut_off_is_asked_again_only_with_a_larger_one(question: Question) -> None:
    store, part = Store(), Answer("def run():\n    return 1", finish_reason="length")
    with ScriptedModel([part, part, "def run():\n    return 1"]) as endpoint:
        model = ReplayingModel(LiteLLMModel(endpoint.config(), ONCE), store)
        for _ in range(2):
            with pytest.raises(BudgetSpent, match="Raise max_tokens or max_cost"):
                await model.ask(question, Listener(meter=Budget(tokens=1_050)))
        assert len(endpoint.requests) == 1
        exchange = await model.ask(question, Listener(meter=Budget(tokens=20_000)))
    assert exchange.answer.endswith("return 1") and len(endpoint.requests) == 3
    assert store[exchange.key].finish_reason == "stop"


async def test_an_answer_that_stays_cut_off_is_not_paid_for_again(short: Question) -> None:
    store = Store()
    with ScriptedModel(always(Answer("more ", finish_reason="length"))) as endpoint:
        model = ReplayingModel(LiteLLMModel(endpoint.config(), ONCE), store)
        for _ in range(2):
            with pytest.raises(UnusableAnswer):
                await model.ask(short)
    assert len(endpoint.requests) == 4


# Bytes


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        (for_ever(b"data: ", *[b"x" * 65_536] * 9), "one piece of more than"),
        (for_ever(b"data: x\n"), "one piece of more than"),
        (for_ever(b": comment\n\n" * 9_000), "more than 9 MiB"),
        (for_ever(b"x" * 65_536, kind="text/plain", status="400 Bad Request"), "one piece of more than"),
        (for_ever(b"x" * 65_536, kind="application/json"), "one piece of more than"),
        (gzip_bomb, "one piece of more than"),
    ],
    ids=["one line", "one event", "comments", "an error message", "plain JSON", "a packed response"],
)
async def test_a_response_without_end_is_stopped_at_its_bytes(wire: Wire, why: str, short: Question) -> None:
    with ScriptedModel(always(Answer(wire=wire))) as endpoint:
        error = await failure(endpoint, short)
        await asyncio.to_thread(endpoint.wait_for_hang_ups, 1)
    assert isinstance(error, ModelError) and "sent no answer" in str(error) and why in str(error)
    assert endpoint.bytes_sent < most_bytes(ROOM) + socket_buffers()


async def test_headers_without_end_are_no_connection(short: Question) -> None:
    with ScriptedModel(always(Answer(wire=endless_headers))) as endpoint:
        error = await failure(endpoint, short)
        await asyncio.to_thread(endpoint.wait_for_hang_ups, 1)
    assert isinstance(error, ModelUnavailable)
    assert endpoint.bytes_sent < 2**20 + socket_buffers()


async def test_requests_of_other_code_are_not_limited(short: Question) -> None:
    import httpx

    with ScriptedModel(["yes", Answer(raw="x" * 2 * most_bytes(ROOM))]) as endpoint:
        await LiteLLMModel(endpoint.config(), ONCE).ask(short)
        async with httpx.AsyncClient(trust_env=False) as client:
            response = await client.post(f"{endpoint.url}/chat/completions", json={"messages": []})
    assert len(response.content) == 2 * most_bytes(ROOM)
    assert endpoint.headers[0]["accept-encoding"] == "identity" != endpoint.headers[1]["accept-encoding"]


# Time


@pytest.mark.parametrize(
    "wire",
    [
        for_ever(b": keep-alive\n\n", pace=0.02),
        for_ever(chunk({"content": ""}), pace=0.02),
        for_ever(chunk({"role": "assistant"}), pace=0.02),
        for_ever(*[bytes([one]) for one in chunk({"content": "never complete"})], pace=0.02),
    ],
    ids=["comments", "empty deltas", "roles", "a byte at a time"],
)
async def test_signs_of_life_without_content_are_silence(wire: Wire, question: Question) -> None:
    with ScriptedModel(always(Answer(wire=wire))) as endpoint:
        error = await failure(endpoint, question, seconds=0.5)
        assert isinstance(error, ModelUnavailable) and "no answer within 0.5 s" in str(error)
        await asyncio.to_thread(endpoint.wait_for_hang_ups, 1)


async def test_thinking_is_no_silence(question: Question) -> None:
    thoughts = [chunk({"reasoning_content": "hm "})] * 20

    def wire() -> Iterator[bytes]:
        for part in finished(*thoughts, chunk({"content": "yes"}))():
            time.sleep(0.05)
            yield part

    with ScriptedModel(always(Answer(wire=wire))) as endpoint:
        exchange = await LiteLLMModel(endpoint.config(seconds=0.5), ONCE).ask(question)
    assert exchange.answer == "yes"


async def test_an_answer_that_comes_word_by_word_ends_at_the_total_time_and_is_kept(question: Question) -> None:
    store, budget = Store(), Budget()
    with ScriptedModel(always(Answer(wire=for_ever(*SAID, pace=0.05)))) as endpoint:
        model = ReplayingModel(LiteLLMModel(endpoint.config(seconds=3.0, total_seconds=4.0), ONCE), store)
        for _ in range(2):
            with pytest.raises(UnusableAnswer) as caught:
                await model.ask(question, Listener(meter=budget))
        assert len(endpoint.requests) == 1
    assert exchange_of(caught.value) is not None
    assert budget.used.output_tokens == sent_tokens(next(iter(store.values())).answer)


async def test_the_persons_timeout_is_kept_and_named(question: Question) -> None:
    with ScriptedModel(always(Answer(wire=for_ever(b": keep-alive\n\n", pace=0.02)))) as endpoint:
        error = await failure(endpoint, question, params={"timeout": 0.4})
    assert "no answer within 0.4 s" in str(error)


@each(
    ("timeout", "silence"), [(30, 30.0), (0.5, 0.5), (True, 600.0), (-1, 600.0), ("soon", 600.0), (float("inf"), 600.0)]
)
def test_only_a_number_of_seconds_is_a_timeout(timeout: Any, silence: float) -> None:
    assert AnswerLimits.of(ModelConfig("m", params={"timeout": timeout})).silence == silence


def test_a_timeout_of_httpx_is_understood_and_a_long_one_raises_the_total() -> None:
    import httpx

    limits = AnswerLimits.of(ModelConfig("m", params={"timeout": httpx.Timeout(7200, connect=5)}))
    assert limits == AnswerLimits(silence=7200.0, total=7200.0)


def test_what_a_cut_off_answer_costs_is_in_its_record() -> None:
    exchange = Exchange(stage="plan", key="k", model="m", messages=(), answer="a", usage=Usage(output_tokens=3), room=5)
    assert Exchange.model_validate(json.loads(exchange.model_dump_json())) == exchange
