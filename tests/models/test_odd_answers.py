"""Answers that are not as the protocol wants them, through the real litellm over real HTTP.

What arrived is used once and recorded, or there is one clear error.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.codemode.agent import CalledModel
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.errors import ModelUnavailable
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.protocol import Listener, ModelConfig, Question
from autocoder_jupyter.models.replay import ReplayingModel
from autocoder_jupyter.models.response import page_title, read_answer
from autocoder_jupyter.types import Usage
from autocoder_jupyter.untrusted.plain_json import TextPieces, valid_record, valid_unicode
from tests.model_faults import DONE, Wire, chunk, counted, event, finished, packed, sends, whole
from tests.scripted_model import Answer, ScriptedModel, always

TWICE = RetryPolicy(tries=2, first=0.001, longest=0.05)
YES = chunk({"content": "yes"})
STOP = chunk({}, "stop")
PARTS = [{"type": "text", "text": "y"}, {"type": "thinking", "thinking": "?"}, {"type": "text", "text": "es"}]
WHOLE_OF_ANTHROPIC = b'{"type":"message","content":[{"type":"text","text":"yes"}],"stop_reason":"end_turn"}'


def journal_in(folder: Path) -> Journal:
    journal = Journal(folder / ".autocode", "growth")
    journal.begin("one")
    journal.write_request({}, {})
    return journal


@pytest.mark.parametrize(
    "wire",
    [
        sends(whole("yes"), kind="application/json"),
        sends(whole("yes")),
        sends(whole(PARTS), kind="application/json"),
        sends(WHOLE_OF_ANTHROPIC, kind="application/json"),
        finished(chunk({"content": PARTS})),
        finished(YES),
        sends(YES, STOP),
        sends(YES, STOP, b"data: {not json\n\n"),
        sends(YES, STOP, event({"error": {"message": "too late", "code": 500}})),
        sends(YES, STOP, DONE, kind="text/plain"),
        sends(YES, STOP, DONE, kind=""),
        lambda: packed(YES + STOP + DONE),
        finished(chunk(None), YES),
        finished(chunk({"content": None}), YES),
        finished(event({"choices": None}), YES),
        finished(chunk({"content": 5}), YES),
        finished(YES, chunk({"content": "no"}, index=1)),
        finished(YES, chunk({"refusal": "no"}), chunk({"audio": {"data": "AAAA"}})),
        sends(YES, chunk({}, "banana"), DONE),
        sends(YES, chunk({}, 7), DONE),
        sends(YES, chunk({}, "\ud800"), DONE),
    ],
    ids=[
        "plain JSON",
        "plain JSON called a stream",
        "plain JSON with parts",
        "plain JSON of Anthropic",
        "a list of parts",
        "as it should be",
        "no end mark",
        "no JSON after the end",
        "an error after the end",
        "plain text",
        "no content type",
        "packed",
        "a null delta",
        "null content",
        "null choices",
        "a number as content",
        "two choices",
        "other fields",
        "an unknown finish reason",
        "a number as finish reason",
        "half a pair as finish reason",
    ],
)
async def test_an_odd_answer_is_used_and_recorded_once(wire: Wire, question: Question, tmp_path: Path) -> None:
    with ScriptedModel(always(Answer(wire=wire))) as endpoint:
        for _ in range(2):
            journal = journal_in(tmp_path)
            model = ReplayingModel(LiteLLMModel(endpoint.config(), TWICE), journal)
            assert (await model.ask(question)).answer == "yes"
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5, "completion_tokens": -3, "total_tokens": -8},
        {"prompt_tokens": "many", "completion_tokens": "3", "total_tokens": "x"},
        {"prompt_tokens": 10**30, "completion_tokens": 10**30, "total_tokens": 1},
        {"prompt_tokens": float("nan"), "completion_tokens": float("inf"), "total_tokens": 1},
        "lots",
        [],
        None,
    ],
    ids=["negative", "text", "huge", "no numbers", "a text", "a list", "none"],
)
async def test_an_answer_whose_tokens_are_counted_wrongly_is_used_with_an_estimate(
    usage: Any, question: Question, tmp_path: Path
) -> None:
    with ScriptedModel(always(Answer(wire=finished(YES, usage=usage)))) as endpoint:
        for _ in range(2):
            exchange = await ReplayingModel(LiteLLMModel(endpoint.config(), TWICE), journal_in(tmp_path)).ask(question)
            assert exchange.answer == "yes"
    assert len(endpoint.requests) == 1
    recorded = journal_in(tmp_path).find(exchange.key)
    assert recorded is not None and recorded.usage == Usage(input_tokens=4, output_tokens=1, cost=None)


@pytest.mark.parametrize(
    "body",
    [
        whole("yes", usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}),
        WHOLE_OF_ANTHROPIC[:-1] + b',"usage":{"input_tokens":7,"output_tokens":2}}',
    ],
)
async def test_the_count_in_plain_json_is_taken(body: bytes, question: Question) -> None:
    with ScriptedModel(always(Answer(wire=sends(body, kind="application/json")))) as endpoint:
        exchange = await LiteLLMModel(endpoint.config(), TWICE).ask(question)
    assert exchange.usage == Usage(input_tokens=7, output_tokens=2, cost=None)


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ([chunk({"content": "a\ud800b"})], "a�b"),
        ([chunk({"content": "\ud83d"}), chunk({"content": "\ude00!"})], "😀!"),
        ([chunk({"content": "a\ud83d"})], "a�"),
        ([chunk({"content": "y"}), YES.replace(b"yes", b"e\xff\xfes")], "ye��s"),
    ],
    ids=["half a pair", "a pair in two pieces", "half a pair at the end", "invalid UTF-8"],
)
async def test_invalid_text_is_repaired_and_recorded(
    parts: list[bytes], answer: str, question: Question, tmp_path: Path
) -> None:
    heard: list[str] = []

    def wire() -> Iterator[bytes]:
        for part in finished(*parts)():
            time.sleep(0.01)  # each part arrives alone
            yield part

    with ScriptedModel(always(Answer(wire=wire))) as endpoint:
        for _ in range(2):
            model = ReplayingModel(LiteLLMModel(endpoint.config(), TWICE), journal_in(tmp_path))
            assert (await model.ask(question, Listener(on_text=heard.append))).answer == answer
    assert len(endpoint.requests) == 1
    assert "".join(heard).encode()


@pytest.mark.parametrize(
    "wire",
    [
        sends(chunk({"content": "y"}), b"data: {not json\n\n", chunk({"content": "es"}), STOP, DONE),
        sends(chunk({"content": "y"}), event({"error": {"message": "boom", "code": 500}})),
        sends(chunk({"content": "y"})),
        sends(whole("yes")[:-20], kind="application/json"),
        sends(b'{"choices": 5}', kind="application/json"),
        sends(b"[" * 100_000, kind="application/json"),
        sends(b"", kind="application/json"),
        sends(b"\x00\x01", kind="application/octet-stream"),
        sends(YES, STOP, more=("Content-Encoding: br",)),
    ],
    ids=["a broken piece", "an error", "cut", "cut JSON", "other JSON", "deep JSON", "nothing", "no text", "packed"],
)
async def test_an_answer_that_lacks_a_part_is_asked_again_and_then_an_error(wire: Wire, question: Question) -> None:
    with ScriptedModel(always(Answer(wire=wire))) as endpoint, pytest.raises(ModelUnavailable) as caught:
        await LiteLLMModel(endpoint.config(), TWICE).ask(question)
    assert len(endpoint.requests) == 2
    assert caught.value.why and "retry" in caught.value.hint


async def test_a_web_page_is_named_with_its_title(question: Question) -> None:
    page = b"<!DOCTYPE html><html><head><title>Log in to \n Acme Wi-Fi</title></head></html>"
    with (
        ScriptedModel(always(Answer(wire=sends(page, kind="text/html")))) as endpoint,
        pytest.raises(ModelUnavailable) as caught,
    ):
        await LiteLLMModel(endpoint.config(), RetryPolicy(tries=6, first=0.001)).ask(question)
    assert "a web page ('Log in to Acme Wi-Fi') came instead of an answer" in caught.value.why
    assert endpoint.url in caught.value.hint and "Log in to the network" in caught.value.hint
    assert "running?" not in caught.value.hint
    assert len(endpoint.requests) == 2, "the page stays until somebody logs in"


async def test_an_answer_of_the_persons_own_function_is_repaired_too(question: Question, tmp_path: Path) -> None:
    model = CalledModel(lambda model, system, messages: "a\ud800", ModelConfig("own"))
    exchange = await ReplayingModel(model, journal := journal_in(tmp_path)).ask(question)
    assert exchange.answer == "a�" and journal.find(exchange.key) == exchange


def test_what_is_no_answer_is_not_read_as_one() -> None:
    assert read_answer(b"") is None
    assert read_answer(b'data: {"choices": [{"index": 0, "delta": {"content": "y"}}]}\n\n') is None
    assert read_answer(counted({"prompt_tokens": 1})) is None
    assert page_title(b'{"title": "<title>no</title>"}') is None
    assert page_title(b" <HTML>") == ""


def test_only_halves_of_pairs_change() -> None:
    assert valid_unicode("a😀ä") == "a😀ä"
    assert valid_record({"\ud800": ["\ud83d\ude00", 1, None, {"a": "\udc00"}]}) == {"�": ["😀", 1, None, {"a": "�"}]}
    pieces = TextPieces()
    assert [pieces.take("a\ud83d"), pieces.take("\ude00"), pieces.take("\ud83d"), pieces.end()] == ["a", "😀", "", "�"]
