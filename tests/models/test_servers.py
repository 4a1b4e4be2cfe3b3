"""What servers that people run themselves answer, in their own words: windows, formats, and tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autocoder_jupyter.engine.plan import PlanAnswer
from autocoder_jupyter.errors import ModelUnavailable, UnusableAnswer
from autocoder_jupyter.models.answers import ask_code
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.protocol import ModelConfig, Question, answer_form
from tests.model_faults import DONE, chunk, for_ever, ollama, sends
from tests.scripted_model import Answer, ScriptedModel, always

HASTE = RetryPolicy(tries=6, first=0.001, longest=0.01)
QUESTION = Question("code", ({"role": "user", "content": "How are you?"},))
PLAN = Question("plan", QUESTION.messages, form=answer_form(PlanAnswer))

# The question and the longest answer together are more than the window

BOTH = {
    "vLLM": "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 4096 "
    "tokens and your request has 31 input tokens (8000 > 4096 - 31). None",
    "vLLM before": "This model's maximum context length is 4096 tokens. However, you requested 8031 tokens (31 in the "
    "messages, 8000 in the completion). Please reduce the length of the messages or completion.",
    "vLLM later": "This model's maximum context length is 4096 tokens. However, you requested 8000 output tokens and "
    "your prompt contains at least 31 input tokens, for a total of at least 8031 tokens.",
    "vLLM of 2026": "You passed 31 input tokens and requested 8000 output tokens. However, the model's context length "
    "is only 4096 tokens, resulting in a maximum input length of -3904 tokens. (parameter=input_tokens, value=31)",
    "SGLang": "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total "
    "of 8031 tokens: 31 tokens from the input messages and 8000 tokens for the completion.",
    "TGI": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 31 `inputs` tokens and "
    "8000 `max_new_tokens`",
}


@pytest.mark.parametrize("server", BOTH)
async def test_an_answer_gets_what_is_left_of_the_window(server: str) -> None:
    fault = Answer(status=400, error=BOTH[server])
    with ScriptedModel([fault, "Fine.", "Fine."]) as endpoint:
        assert (await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)).answer == "Fine."
        await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)
    first, second, third = (request["max_tokens"] for request in endpoint.requests)
    assert first == 8000 and 4000 < second <= 4065 and 4000 < third <= 4096


async def test_an_answer_that_is_longer_than_what_is_left_of_the_window_is_no_matter_of_the_budget() -> None:
    endless = Answer(wire=for_ever(*(chunk({"content": f"word {number} "}) for number in range(5000))))
    script = [Answer(status=400, error=BOTH["vLLM"]), endless]
    with ScriptedModel(script) as endpoint, pytest.raises(UnusableAnswer, match="did not end"):
        await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)


@pytest.mark.parametrize(
    ("error", "most"),
    [
        ("max_tokens is too large: 8000. This model supports at most 4096 completion tokens, you provided 8000.", 4096),
        ("`max_tokens` must be less than or equal to `2048`, the maximum value for `max_tokens`", 2048),
        ("max_tokens: 8000 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku", 4096),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]", 4096),
        ("The maximum tokens you requested exceeds the model limit of 4096. Try again with a lower value.", 4096),
        ("Malformed input request: #/max_gen_len: 8000 is not less or equal to 2048, please reformat it.", 2048),
    ],
)
async def test_an_answer_gets_the_most_that_a_model_writes(error: str, most: int) -> None:
    with ScriptedModel([Answer(status=400, error=error), "Fine.", "Fine."]) as endpoint:
        await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)
        await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)
    assert [request["max_tokens"] for request in endpoint.requests] == [8000, most, most]


async def test_a_window_that_the_question_fills_is_an_error_and_the_limit_is_sent_on() -> None:
    error = BOTH["vLLM"].replace("31", "4090")
    with ScriptedModel([Answer(status=400, error=error), "Fine."]) as endpoint:
        with pytest.raises(UnusableAnswer, match="does not fit"):
            await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)
        await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)
    assert len(endpoint.requests) == 2 and endpoint.requests[1]["max_tokens"] <= 4096


async def test_a_limit_that_is_refused_by_its_name_is_sent_by_the_other() -> None:
    error = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with ScriptedModel([Answer(status=400, error=error), "Fine.", "Fine."]) as endpoint:
        for _ in range(2):
            await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)
    assert [request.get("max_completion_tokens") for request in endpoint.requests] == [None, 8000, 8000]


async def test_a_server_that_refuses_both_is_asked_without_and_the_next_question_has_a_limit_again() -> None:
    with ScriptedModel(["Fine.", "Fine."], refuse={"max_tokens", "max_completion_tokens"}) as endpoint:
        for _ in range(2):
            await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)
    sent = ["max_tokens" in request or "max_completion_tokens" in request for request in endpoint.requests]
    assert sent == [True, True, False, True, True, False]


# The question alone is longer than the window

LLAMA = {
    "code": 400,
    "message": "the request exceeds the available context size, try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 14429,
    "n_ctx": 8192,
}
KEPT = (
    "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context "
    "length of only 7866 tokens, which is not enough. Try to load the model with a larger context length."
)
KEEP = (
    "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: "
    "4096). Try to load the model with a larger context length, or provide a shorter input."
)


def as_event(error: Any, name: str = "") -> Answer:
    head = f"event: {name}\n" if name else ""
    return Answer(wire=sends(f"{head}data: {json.dumps({'error': error})}\n\n".encode(), DONE))


def as_body(error: Any, status: str) -> Answer:
    return Answer(wire=sends(json.dumps({"error": error}).encode(), kind="application/json", status=status))


OVERFLOWS = {
    "llama.cpp": as_body(LLAMA, "400 Bad Request"),
    "llama.cpp before": as_body({**LLAMA, "code": 500}, "500 Internal Server Error"),
    "llama.cpp in the stream": as_event(LLAMA),
    "llamafile": as_body({"code": 500, "message": "the request exceeds the available context size. try increasing the "
                          "context size or enable context shift", "type": "server_error"}, "500 Internal Server Error"),
    "llama-cpp-python": Answer(status=400, error=BOTH["vLLM before"].replace("31 in", "5000 in")),
    "llama-cpp-python, other": Answer(status=500, error="Requested tokens (2285) exceed context window of 2048"),
    "LM Studio": as_body(KEPT, "400 Bad Request"),
    "LM Studio in the stream": as_event({"message": KEPT}, "error"),
    "LM Studio, other": as_body(KEEP, "400 Bad Request"),
    "vLLM": Answer(status=400, error="The decoder prompt (length 9000) is longer than the maximum model length of "
                   "4096. Make sure that `max_model_len` is no smaller than the number of text tokens."),
    "llama.cpp, other": Answer(status=500, error="input is too large to process. increase the physical batch size"),
}  # fmt: skip


@pytest.mark.parametrize("server", OVERFLOWS)
async def test_a_question_that_is_too_long_is_told_at_once(server: str) -> None:
    with ScriptedModel(always(OVERFLOWS[server])) as endpoint, pytest.raises(UnusableAnswer) as caught:
        await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)
    assert "does not fit" in str(caught.value) and "larger context window" in caught.value.hint
    assert len(endpoint.requests) == 1


CODE = "```python\ndef run():\n    return 1\n```\n"
FULL = Answer(status=400, error=BOTH["vLLM before"].replace("31 in", "4090 in"))


async def test_code_whose_answer_goes_on_until_the_window_is_full_is_used() -> None:
    with ScriptedModel([Answer(f"{CODE}It works because", finish_reason="length"), FULL]) as endpoint:
        code, _ = await ask_code(LiteLLMModel(endpoint.config(), HASTE), QUESTION, must_define="run")
    assert code == "def run():\n    return 1\n" and len(endpoint.requests) == 2


@pytest.mark.parametrize("begun", ["```python\ndef run():\n    return 1\n", "def run():\n    return 1\n"])
async def test_code_that_fills_the_window_may_lack_its_end_and_is_not_used(begun: str) -> None:
    with (
        ScriptedModel([Answer(begun, finish_reason="length"), FULL]) as endpoint,
        pytest.raises(UnusableAnswer) as told,
    ):
        await ask_code(LiteLLMModel(endpoint.config(), HASTE), QUESTION, must_define="run")
    assert "did not end" in str(told.value) and told.value.why == "Question and answer fill its context window."
    assert "larger context window" in told.value.hint and len(endpoint.requests) == 2


@pytest.mark.parametrize("wire", [sends(DONE), sends(b""), sends(chunk({"role": "assistant", "content": ""}))])
async def test_an_empty_stream_is_asked_for_twice_and_the_window_is_named(wire: Any) -> None:
    with ScriptedModel(always(Answer(wire=wire))) as endpoint, pytest.raises(ModelUnavailable) as caught:
        await LiteLLMModel(endpoint.config(), HASTE).ask(QUESTION)
    assert len(endpoint.requests) == 2
    assert "empty" in caught.value.why and "context window" in caught.value.hint


def done(counts: dict[str, int]) -> bytes:
    record = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    return json.dumps(record | counts).encode() + b"\n"


def of_ollama(text: str, **counts: int) -> Answer:
    return Answer(wire=sends(ollama(text), done(counts), kind="application/x-ndjson"))


async def test_ollama_gets_a_window_that_fits_and_the_schema() -> None:
    plan = of_ollama("{}", prompt_eval_count=9, eval_count=1)
    long = Question("code", ({"role": "user", "content": "How are you? " * 4000},))
    with ScriptedModel(always(plan)) as endpoint:
        config = ModelConfig("ollama_chat/small", api_base=endpoint.root)
        for question in (PLAN, QUESTION, long, QUESTION):
            exchange = await LiteLLMModel(config, HASTE).ask(question)
        await LiteLLMModel(ModelConfig(config.model, api_base=endpoint.root, params={"num_ctx": 4096})).ask(long)
    windows = [request["options"]["num_ctx"] for request in endpoint.requests]
    assert windows[0] == windows[1] == 16384 and windows[2] == windows[3] >= 32768 and windows[4] == 4096
    assert endpoint.requests[0]["format"]["properties"]["assumptions"]["maxItems"]
    assert exchange.usage.cost == 0


# Formats

FORMATS = {
    "LM Studio": ("'response_format.type' must be 'json_schema' or 'text'", "json_object"),
    "llama.cpp": ("JSON schema conversion failed: Unrecognized schema: {}", "json_schema"),
    "llama.cpp, other": ("failed to parse grammar", "json_schema"),
    "vLLM": ("The provided JSON schema contains features not supported by xgrammar.", "json_schema"),
    "llama-cpp-python": (
        "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or "
        "'json_object'\", 'input': 'json_schema', 'ctx': {'expected': \"'text' or 'json_object'\"}}]",
        "json_schema",
    ),
    "a schema beside": ("Extra inputs are not permitted: response_format.schema", "schema"),
    "none": ("response_format is not supported by this server", None),
}


def format_in(request: dict[str, Any]) -> str:
    """The kind of answer that a request asks for, with `schema` if JSON mode has one beside it."""
    sent = request.get("response_format", {})
    return f"{sent.get('type', '')}{' schema' if 'schema' in sent else ''}"


@pytest.mark.parametrize("server", FORMATS)
@pytest.mark.parametrize("status", [400, 422, 500])
async def test_a_schema_is_sent_first_and_less_if_the_server_refuses_it(server: str, status: int) -> None:
    error, refused = FORMATS[server]

    def script(request: dict[str, Any]) -> Answer:
        sent = format_in(request)
        is_refused = bool(sent) if refused is None else refused in sent
        return Answer(status=status, error=error) if is_refused else Answer("{}")

    with ScriptedModel(script) as endpoint:
        for _ in range(2):
            assert (await LiteLLMModel(endpoint.config(), HASTE).ask(PLAN)).answer == "{}"
    down = {
        "json_object": ["json_schema"],
        "json_schema": ["json_schema", "json_object schema"],
        "schema": ["json_schema", "json_object schema", "json_object"],
    }
    expected = down.get(refused or "", ["json_schema", "json_object schema", "json_object", ""])
    assert [format_in(request) for request in endpoint.requests] == [*expected, expected[-1]]
    beside = [
        sent["schema"] for request in endpoint.requests if "schema" in (sent := request.get("response_format", {}))
    ]
    assert "maxLength" not in json.dumps(beside), "bounds end llama-cpp-python's server"


async def test_bounds_that_a_server_refuses_are_left_out_before_the_schema() -> None:
    def script(request: dict[str, Any]) -> Answer:
        is_bounded = "maxLength" in json.dumps(request["response_format"])
        error = "number of repetitions exceeds sane defaults, please reduce the number of repetitions"
        return Answer(status=400, error=f"failed to parse grammar: {error}") if is_bounded else Answer("{}")

    with ScriptedModel(script) as endpoint:
        await LiteLLMModel(endpoint.config(), HASTE).ask(PLAN)
    assert [request["response_format"]["type"] for request in endpoint.requests] == ["json_schema"] * 2


@pytest.mark.parametrize("model", ["hosted_vllm/small", "llamafile/small", "lm_studio/small", "openai/small"])
async def test_every_server_of_ones_own_gets_a_strict_bounded_schema(model: str) -> None:
    with ScriptedModel(["{}"]) as endpoint:
        await LiteLLMModel(ModelConfig(model, api_base=endpoint.url), HASTE).ask(PLAN)
    (request,) = endpoint.requests
    sent = request["response_format"]["json_schema"]
    assert sent["strict"] is True and sent["schema"]["properties"]["description"]["maxLength"]


async def test_a_listed_model_gets_no_bounds() -> None:
    with ScriptedModel(["{}"]) as endpoint:
        await LiteLLMModel(endpoint.config(model="openai/gpt-4.1"), HASTE).ask(PLAN)
    assert "maxLength" not in json.dumps(endpoint.requests[0]["response_format"])


# Tokens


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}])
async def test_prices_of_zero_are_a_cost_of_zero_with_and_without_usage(usage: dict[str, int] | None) -> None:
    prices = {"input_cost_per_token": 0, "output_cost_per_token": 0}
    with ScriptedModel([Answer("Fine.", usage=usage)]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config(params=prices), HASTE, limited=True).ask(QUESTION)
    assert exchange.usage.cost == 0


async def test_a_question_that_the_server_has_cut_off_is_told_with_an_unusable_answer() -> None:
    count = {"prompt_tokens": 2048, "completion_tokens": 9, "total_tokens": 2057}
    long = Question("plan", ({"role": "user", "content": "One of many words. " * 2000},))
    for counted, is_told in ((count, True), ({**count, "prompt_tokens": 8000}, False), (None, False)):
        with ScriptedModel([Answer("Hm.", usage=counted)] * 3) as endpoint, pytest.raises(UnusableAnswer) as caught:
            await ask_code(LiteLLMModel(endpoint.config(), HASTE), long)
        assert ("counted 2,048 tokens of a question of 38," in caught.value.why) is is_told
        assert all(help in caught.value.hint for help in ("--effort quick", "larger context window", "-m"))
