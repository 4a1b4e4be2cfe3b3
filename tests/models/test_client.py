from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import Any

import pytest

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import AuthenticationFailed, ModelError, ModelUnavailable, UnknownModel, UnusableAnswer
from autocoder_jupyter.models import library
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.protocol import Listener, ModelConfig, Question, answer_form
from autocoder_jupyter.models.questions import CONTINUE
from autocoder_jupyter.types import CodePlan, Usage
from tests.scripted_model import Answer, ScriptedModel

HASTE = RetryPolicy(tries=3, first=0.001, longest=0.05)


async def test_an_answer_comes_with_its_messages_its_count_and_its_latency(question: Question) -> None:
    with ScriptedModel(["Fine, thanks."]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config()).ask(question)
    assert exchange.answer == "Fine, thanks."
    assert exchange.messages == question.messages
    assert exchange.usage == Usage(input_tokens=4, output_tokens=4, cost=None)
    assert (exchange.stage, exchange.finish_reason, exchange.replayed) == ("plan", "stop", False)
    assert 0 < exchange.seconds < 60


async def test_text_arrives_while_it_is_written(question: Question) -> None:
    release = threading.Event()
    pieces: list[str] = []

    def on_text(piece: str) -> None:
        pieces.append(piece)
        release.set()

    with ScriptedModel([Answer("a" * 80 + "b" * 80, hold=release, hold_after=80)]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config()).ask(question, Listener(on_text=on_text))
    assert pieces == ["a" * 80, "b" * 80]
    assert exchange.answer == "".join(pieces)


async def test_the_pieces_of_an_answer_share_an_iterator(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each piece takes half of the processor time of an answer."""
    from openai import AsyncStream

    begun: list[object] = []
    begin = AsyncStream.__aiter__

    def counted(stream: Any) -> Any:
        begun.append(stream)
        return begin(stream)

    monkeypatch.setattr(AsyncStream, "__aiter__", counted)
    with ScriptedModel([Answer("a piece " * 20, piece=8)]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config()).ask(question)
    assert exchange.answer == "a piece " * 20
    assert len(begun) == 1


async def test_litellm_does_not_put_an_answer_together_again(
    question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would do so for its log, and the next question waits for that."""
    import litellm

    built: list[object] = []
    monkeypatch.setattr(litellm, "stream_chunk_builder", lambda **given: built.append(given))
    with ScriptedModel([Answer("a piece " * 20, piece=8)]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config()).ask(question)
    assert exchange.finish_reason == "stop" and exchange.usage.output_tokens
    assert not built


async def test_what_is_sent_is_what_was_asked(question: Question) -> None:
    with ScriptedModel(["yes"]) as endpoint:
        await LiteLLMModel(endpoint.config()).ask(question)
    assert endpoint.requests == [
        {
            "model": "scripted",
            "messages": list(question.messages),
            "temperature": 0.2,
            "max_tokens": 8000,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]


async def test_parameters_of_the_person_win_over_ours(question: Question) -> None:
    params = {"temperature": 1.0, "max_tokens": 77, "top_p": 0.5, "stream": False}
    with ScriptedModel(["yes", "yes"]) as endpoint:
        await LiteLLMModel(endpoint.config(params=params)).ask(question)
        await LiteLLMModel(endpoint.config(params={"max_completion_tokens": 9})).ask(question)
    first, second = endpoint.requests
    assert (first["temperature"], first["max_tokens"], first["top_p"]) == (1.0, 77, 0.5)
    assert first["stream"] is True
    assert second["max_completion_tokens"] == 9
    assert "max_tokens" not in second


async def test_nothing_of_the_process_is_changed(question: Question) -> None:
    litellm = await library.preload()
    before = dict(os.environ), litellm.api_key, litellm.api_base, list(litellm.success_callback)
    with ScriptedModel(["yes", Answer("no", usage=None)]) as endpoint:
        await LiteLLMModel(endpoint.config()).ask(question)
        await LiteLLMModel(endpoint.config()).ask(question)
    assert before == (dict(os.environ), litellm.api_key, litellm.api_base, list(litellm.success_callback))


async def test_nothing_is_printed(question: Question, capfd: pytest.CaptureFixture[str]) -> None:
    with ScriptedModel([Answer(status=500), Answer("x" * 200, drop_after=80), Answer(status=400)]) as endpoint:
        with pytest.raises(ModelError):
            await LiteLLMModel(endpoint.config(), HASTE).ask(question)
        with pytest.raises(UnknownModel):
            await LiteLLMModel(ModelConfig("nonsense"), HASTE).ask(question)
    assert capfd.readouterr() == ("", "")


# Keys


async def test_the_key_is_read_from_the_named_variable(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sesame")
    with ScriptedModel(["yes"]) as endpoint:
        await LiteLLMModel(endpoint.config(api_key="MY_KEY")).ask(question)
    assert endpoint.headers[0]["authorization"] == "Bearer sesame"


async def test_a_named_variable_that_is_not_set_is_named_before_any_call(question: Question) -> None:
    with ScriptedModel(["yes"]) as endpoint, pytest.raises(AuthenticationFailed, match="MY_KEY"):
        await LiteLLMModel(endpoint.config(api_key="MY_KEY")).ask(question)
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-4.1", "OPENAI_API_KEY"),
        ("gpt-4.1", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
    ],
)
async def test_the_providers_own_variable_is_named_when_it_is_missing(
    question: Question, model: str, variable: str
) -> None:
    with pytest.raises(AuthenticationFailed, match=variable):
        await LiteLLMModel(ModelConfig(model)).ask(question)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_not_tried_again(question: Question, status: int) -> None:
    with (
        ScriptedModel([Answer(status=status, error="bad key"), "yes"]) as endpoint,
        pytest.raises(AuthenticationFailed) as caught,
    ):
        await LiteLLMModel(endpoint.config(), HASTE).ask(question)
    assert "OPENAI_API_KEY" in str(caught.value)
    assert caught.value.why == "bad key"
    assert len(endpoint.requests) == 1


async def test_an_empty_account_is_not_waited_for(question: Question) -> None:
    fault = Answer(status=429, error="You exceeded your current quota", code="insufficient_quota")
    with ScriptedModel([fault, "yes"]) as endpoint, pytest.raises(AuthenticationFailed, match="no credit"):
        await LiteLLMModel(endpoint.config(), HASTE).ask(question)
    assert len(endpoint.requests) == 1


# Models that do not exist


@pytest.mark.parametrize(
    "fault",
    [
        Answer(status=404, error="The model `gpt-4.11` does not exist or you do not have access to it."),
        Answer(status=400, error="model 'gpt-4.11' not found, try pulling it first"),
    ],
)
async def test_an_unknown_model_gets_suggestions(question: Question, fault: Answer) -> None:
    with ScriptedModel([fault, "yes"]) as endpoint, pytest.raises(UnknownModel) as caught:
        await LiteLLMModel(endpoint.config(model="openai/gpt-4.11"), HASTE).ask(question)
    assert "openai/gpt-4.1" in caught.value.hint
    assert len(endpoint.requests) == 1


async def test_a_model_without_provider_gets_suggestions(question: Question) -> None:
    with pytest.raises(UnknownModel) as caught:
        await LiteLLMModel(ModelConfig("gtp-4.1-mini")).ask(question)
    assert "gpt-4.1-mini" in caught.value.hint


@pytest.mark.parametrize("model", ["nope/small-4", "small-4"])
async def test_a_server_of_ones_own_is_named_when_no_provider_is_known(question: Question, model: str) -> None:
    with ScriptedModel(["yes"]) as endpoint, pytest.raises(UnknownModel) as caught:
        await LiteLLMModel(endpoint.config(model=model)).ask(question)
    said = str(caught.value)
    assert f"There is no model '{model}'" in said and f"answers at {endpoint.url}, write -m openai/small-4." in said
    assert "litellm" not in said and len(said) < 400


async def test_a_wrong_address_is_thought_of(question: Question) -> None:
    with ScriptedModel([Answer(status=404, error="page not found")]) as endpoint, pytest.raises(UnknownModel) as caught:
        await LiteLLMModel(endpoint.config(), HASTE).ask(question)
    assert endpoint.url in caught.value.hint


@pytest.mark.parametrize("model", ["azure/gpt", "sagemaker/gpt"])
async def test_credentials_that_are_no_single_key_are_missed_at_once(question: Question, model: str) -> None:
    with pytest.raises(AuthenticationFailed):
        await LiteLLMModel(ModelConfig(model)).ask(question)


async def test_a_provider_whose_package_is_missing_is_not_waited_for(
    question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google", None)
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with pytest.raises(ModelError, match="cannot be asked from here"):
        await LiteLLMModel(ModelConfig("vertex_ai/gemini-2.5-pro")).ask(question)


# Temporary errors


@pytest.mark.parametrize(
    "fault",
    [
        Answer(status=429),
        Answer(status=500),
        Answer(status=502),
        Answer(status=503),
        Answer(status=529),
        Answer("x" * 300, drop_after=100),
        Answer("x" * 300, end_after=100),
        Answer(raw="data: {not json\n\n"),
        Answer(raw="<html>a proxy's page</html>"),
    ],
    ids=["429", "500", "502", "503", "529", "dropped", "ended early", "bad json", "html"],
)
async def test_a_passing_fault_is_waited_out(question: Question, fault: Answer) -> None:
    pauses: list[tuple[str, float]] = []
    with ScriptedModel([fault, "yes"]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config(), HASTE).ask(
            question, Listener(on_retry=lambda reason, seconds: pauses.append((reason, seconds)))
        )
    assert exchange.answer == "yes"
    assert len(endpoint.requests) == 2
    assert len(pauses) == 1
    assert pauses[0][0]


async def test_a_fault_that_stays_is_reported_with_the_number_of_tries(question: Question) -> None:
    with (
        ScriptedModel([Answer(status=529)] * 9) as endpoint,
        pytest.raises(ModelUnavailable, match="3 tries") as caught,
    ):
        await LiteLLMModel(endpoint.config(), HASTE).ask(question)
    assert "overloaded" in caught.value.why
    assert len(endpoint.requests) == 3


async def test_the_services_own_wish_for_a_pause_is_honoured(question: Question) -> None:
    pauses: list[float] = []
    with ScriptedModel([Answer(status=429, headers={"retry-after": "0.13"}), "yes"]) as endpoint:
        model = LiteLLMModel(endpoint.config(), HASTE)
        await model.ask(question, Listener(on_retry=lambda _, seconds: pauses.append(seconds)))
    assert pauses == [0.13], "longer than a pause of our own"


async def test_a_pause_that_is_too_long_is_told_and_not_waited_for(question: Question) -> None:
    faults = [Answer(status=429, headers={"retry-after": "3600"})] * 2
    with ScriptedModel(faults) as endpoint, pytest.raises(ModelUnavailable, match="in 1 try") as caught:
        await LiteLLMModel(endpoint.config(), HASTE).ask(question)
    assert caught.value.why == "Last: rate limit; the service asks for a pause of 1 h 0 min."
    assert "running?" not in caught.value.hint, "it is running, as it has answered"
    assert len(endpoint.requests) == 1


async def test_silence_is_a_timeout(question: Question) -> None:
    release = threading.Event()
    with ScriptedModel([Answer("never", hold=release), "yes"]) as endpoint:
        reasons: list[str] = []
        model = LiteLLMModel(endpoint.config(seconds=0.3), HASTE)
        exchange = await model.ask(question, Listener(on_retry=lambda reason, _: reasons.append(reason)))
    assert exchange.answer == "yes"
    assert reasons == ["no answer within 0.3 s"]


async def test_an_address_where_nobody_listens_is_unavailable(question: Question) -> None:
    with ScriptedModel() as endpoint:
        config = endpoint.config()
    with pytest.raises(ModelUnavailable):
        await LiteLLMModel(config, HASTE).ask(question)


# Answers that are not available


async def test_a_question_that_is_too_long_says_how_to_shorten_it(question: Question) -> None:
    fault = Answer(
        status=400, error="This model's maximum context length is 8192 tokens.", code="context_length_exceeded"
    )
    with ScriptedModel([fault]) as endpoint, pytest.raises(UnusableAnswer, match="--share"):
        await LiteLLMModel(endpoint.config(), HASTE).ask(question)


@pytest.mark.parametrize(
    "fault",
    [
        Answer(status=400, error="Your request was rejected as a result of our safety system."),
        Answer("I will", finish_reason="content_filter"),
    ],
)
async def test_a_content_filter_is_named(question: Question, fault: Answer) -> None:
    with ScriptedModel([fault]) as endpoint, pytest.raises(UnusableAnswer, match="content filter"):
        await LiteLLMModel(endpoint.config(), HASTE).ask(question)
    assert len(endpoint.requests) == 1


async def test_another_refusal_is_told_in_the_services_words(question: Question) -> None:
    with ScriptedModel([Answer(status=400, error="Bad moon.")]) as endpoint, pytest.raises(ModelError) as caught:
        await LiteLLMModel(endpoint.config(), HASTE).ask(question)
    assert caught.value.why == "Bad moon."


# Truncation


async def test_a_truncated_answer_is_continued_and_counted_whole(question: Question) -> None:
    count = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    parts = [Answer("def run():\n    retu", finish_reason="length", usage=count), Answer("rn 1\n", usage=count)]
    with ScriptedModel(parts) as endpoint:
        exchange = await LiteLLMModel(endpoint.config()).ask(question)
    assert exchange.answer == "def run():\n    return 1\n"
    assert (exchange.usage.input_tokens, exchange.usage.output_tokens) == (20, 10)
    assert endpoint.requests[1]["messages"][1:] == [
        {"role": "assistant", "content": "def run():\n    retu"},
        {"role": "user", "content": CONTINUE},
    ]
    assert list(exchange.messages) == endpoint.requests[1]["messages"]


async def test_an_answer_without_end_is_unusable(question: Question) -> None:
    with ScriptedModel([Answer("more ", finish_reason="length")] * 9) as endpoint, pytest.raises(UnusableAnswer):
        await LiteLLMModel(endpoint.config()).ask(question)
    assert len(endpoint.requests) == 4


async def test_a_model_that_thought_its_tokens_away_gets_more_room(question: Question) -> None:
    with ScriptedModel([Answer("", finish_reason="length"), "yes"]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config()).ask(question)
    assert exchange.answer == "yes"
    assert [request["max_tokens"] for request in endpoint.requests] == [8000, 16000]


async def test_a_continuation_is_not_forced_into_a_new_object() -> None:
    asked = Question("plan", ({"role": "user", "content": "A plan, as JSON."},), form=answer_form(CodePlan))
    parts: list[str | Answer] = [Answer('{"description": "a", ', finish_reason="length"), '"approach": "b"}']
    with ScriptedModel(parts) as endpoint:
        exchange = await LiteLLMModel(endpoint.config()).ask(asked)
    assert exchange.answer == '{"description": "a", "approach": "b"}'
    assert ["response_format" in request for request in endpoint.requests] == [True, False]


# Counting


async def test_cached_tokens_are_counted(question: Question) -> None:
    count = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    with ScriptedModel([Answer("yes", usage=count)] * 2) as endpoint:
        known = await LiteLLMModel(endpoint.config(model="openai/gpt-4.1")).ask(question)
        unknown = await LiteLLMModel(endpoint.config()).ask(question)
    assert (known.usage.input_tokens, known.usage.cached_tokens, known.usage.output_tokens) == (100, 64, 10)
    assert known.usage.cost == pytest.approx((36 * 2 + 64 * 0.5 + 10 * 8) / 1e6)
    assert unknown.usage.cost is None


async def test_with_money_limited_a_model_of_unknown_price_is_not_asked(question: Question) -> None:
    with (
        ScriptedModel(["never"]) as endpoint,
        pytest.raises(ModelError, match=r"price of openai/scripted is not known.*Nothing was sent"),
    ):
        await LiteLLMModel(endpoint.config(), limited=True).ask(question)
    assert endpoint.requests == []


async def test_a_price_that_the_person_names_is_counted_and_not_sent(question: Question) -> None:
    prices = {"input_cost_per_token": 1e-3, "output_cost_per_token": 1e-2}
    with ScriptedModel(["Fine, thanks."]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config(params=prices), limited=True).ask(question)
    assert exchange.usage.cost == pytest.approx(4 * 1e-3 + 4 * 1e-2)
    assert not prices.keys() & endpoint.requests[0].keys()


async def test_without_a_count_tokens_are_estimated_and_the_cost_is_unknown(question: Question) -> None:
    with ScriptedModel([Answer("y" * 400, usage=None)]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config(model="openai/gpt-4.1")).ask(question)
    assert exchange.usage == Usage(input_tokens=4, output_tokens=101, cost=None)


# Parameters that a model does not accept


@pytest.mark.parametrize("name", ["temperature", "max_tokens", "stream_options"])
async def test_a_refused_option_is_left_out_from_then_on(question: Question, name: str) -> None:
    with ScriptedModel(["yes", "again"], refuse={name}) as endpoint:
        assert (await LiteLLMModel(endpoint.config()).ask(question)).answer == "yes"
        assert (await LiteLLMModel(endpoint.config()).ask(question)).answer == "again"
    assert [name in request for request in endpoint.requests] == [True, False, False]


async def test_a_refused_response_format_is_replaced_by_a_weaker_one() -> None:
    asked = Question("plan", ({"role": "user", "content": "A plan, as JSON."},), form=answer_form(CodePlan))
    with ScriptedModel(["{}", "{}"], refuse={"json_schema", "json_object"}) as endpoint:
        model = LiteLLMModel(endpoint.config(model="openai/gpt-4.1"))
        await model.ask(asked)
        await model.ask(asked)
    kinds = [request.get("response_format", {}).get("type") for request in endpoint.requests]
    assert kinds == ["json_schema", "json_object", None, None]


async def test_calls_side_by_side_learn_a_refusal_once() -> None:
    both_asked = threading.Event()
    refusal = Answer(status=400, error="json_schema is not supported", hold=both_asked)
    asked = Question("plan", ({"role": "user", "content": "A plan, as JSON."},), form=answer_form(CodePlan))
    with ScriptedModel([refusal, refusal, "{}", "{}"]) as endpoint:
        model = LiteLLMModel(endpoint.config(model="openai/gpt-4.1"))
        answers = asyncio.gather(model.ask(asked), model.ask(asked))
        await asyncio.to_thread(endpoint.wait_for_requests, 2)
        both_asked.set()
        await answers
    kinds = [request["response_format"]["type"] for request in endpoint.requests]
    assert kinds == ["json_schema", "json_schema", "json_object", "json_object"]


async def test_what_the_person_asked_for_and_the_service_refuses_is_an_error(question: Question) -> None:
    params = {"temperature": 7.0, "response_format": {"type": "json_object"}}
    with ScriptedModel(refuse={"temperature"}) as endpoint, pytest.raises(ModelError, match="temperature"):
        await LiteLLMModel(endpoint.config(params=params), HASTE).ask(question)
    assert len(endpoint.requests) == 1


async def test_reasoning_models_get_no_temperature(question: Question) -> None:
    with ScriptedModel(["yes"]) as endpoint:
        await LiteLLMModel(endpoint.config(model="openai/o3-mini")).ask(question)
    (request,) = endpoint.requests
    assert "temperature" not in request
    assert request["max_completion_tokens"] == 8000


# Cancelling


@pytest.mark.parametrize("said_before", [0, 80], ids=["before the first byte", "amid the answer"])
async def test_cancelling_hangs_up_at_once(question: Question, said_before: int) -> None:
    await library.preload()
    answer = Answer("x" * 160, hold=threading.Event(), hold_after=said_before)
    with ScriptedModel([answer]) as endpoint:
        heard = asyncio.Event()
        task = asyncio.create_task(
            LiteLLMModel(endpoint.config(), HASTE).ask(question, Listener(on_text=lambda _: heard.set()))
        )
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        if said_before:
            await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(endpoint.hung_up.wait, 2)
        assert len(endpoint.requests) == 1


async def test_a_pause_can_be_cancelled(question: Question) -> None:
    pausing = asyncio.Event()
    with ScriptedModel([Answer(status=429)] * 9) as endpoint:
        model = LiteLLMModel(endpoint.config(), RetryPolicy(first=60, longest=60))
        task = asyncio.create_task(model.ask(question, Listener(on_retry=lambda *_: pausing.set())))
        await pausing.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(endpoint.requests) == 1


# The thread on which it runs


async def test_questions_side_by_side_do_not_wait_for_each_other(question: Question) -> None:
    release = threading.Event()
    with ScriptedModel([Answer("slow", hold=release), "fast"]) as endpoint:
        model = LiteLLMModel(endpoint.config())
        slow = asyncio.create_task(model.ask(question))
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        fast = await model.ask(question)
        assert not slow.done()
        release.set()
        assert (fast.answer, (await slow).answer) == ("fast", "slow")


def test_it_can_be_asked_from_one_loop_after_the_other(question: Question) -> None:
    with ScriptedModel(["one", "two", "three"]) as endpoint:
        model = LiteLLMModel(endpoint.config())
        assert asyncio.run(model.ask(question)).answer == "one"
        assert asyncio.run(model.ask(question)).answer == "two"
        assert background.run(model.ask(question)).answer == "three"


# Anthropic's API


async def test_claude_is_asked_over_its_own_wire(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sesame")
    with ScriptedModel(["Fine."]) as endpoint:
        config = ModelConfig("anthropic/claude-sonnet-4-5", api_base=endpoint.root, api_key="MY_KEY")
        exchange = await LiteLLMModel(config).ask(question)
    assert exchange.answer == "Fine."
    assert endpoint.headers[0]["x-api-key"] == "sesame"
    assert exchange.usage.cost == pytest.approx((4 * 3 + 2 * 15) / 1e6)


async def test_claude_overloaded_is_waited_for_and_a_refused_key_is_not(question: Question) -> None:
    with ScriptedModel([Answer(status=529), "Fine.", Answer(status=401)]) as endpoint:
        model = LiteLLMModel(ModelConfig("anthropic/claude-sonnet-4-5", api_base=endpoint.root), HASTE)
        assert (await model.ask(question)).answer == "Fine."
        with pytest.raises(AuthenticationFailed, match="ANTHROPIC_API_KEY"):
            await model.ask(question)


async def test_claude_continues_a_truncated_answer(question: Question) -> None:
    with ScriptedModel([Answer("one two", finish_reason="length"), " three"]) as endpoint:
        model = LiteLLMModel(ModelConfig("anthropic/claude-sonnet-4-5", api_base=endpoint.root))
        assert (await model.ask(question)).answer == "one two three"


async def test_claude_that_breaks_off_is_asked_again(question: Question) -> None:
    with ScriptedModel([Answer("x" * 300, end_after=100), "Fine."]) as endpoint:
        model = LiteLLMModel(ModelConfig("anthropic/claude-sonnet-4-5", api_base=endpoint.root), HASTE)
        assert (await model.ask(question)).answer == "Fine."
