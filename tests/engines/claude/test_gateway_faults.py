"""Faults of the service behind the gateway, over real HTTP.

Each ends within its limits, what arrived is counted, and an answer that arrived is used and recorded once.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engines.claude import wire
from autocoder_jupyter.errors import BudgetSpent, ModelError, ModelUnavailable, UnusableAnswer
from autocoder_jupyter.models.faults import CUT_OFF, RetryPolicy
from autocoder_jupyter.models.protocol import SLACK, most_bytes
from autocoder_jupyter.types import Usage
from tests.engines.claude.test_gateway import Desk, at_work
from tests.model_faults import (
    WORDS,
    Wire,
    after,
    begun,
    ended,
    endless_headers,
    for_ever,
    gzip_bomb,
    packed,
    piece,
    sends,
    socket_buffers,
    typed,
)
from tests.scripted_model import Answer, always, head_of

ROOM = 200
START, END = begun(), ended()
SAID = [piece("text", word) for word in WORDS]
YES = piece("text", "yes")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key")
    policy = RetryPolicy(tries=2, first=0.001)
    monkeypatch.setattr("autocoder_jupyter.engines.claude.gateway.RetryPolicy", lambda: policy)


def endless(start: bytes, *parts: bytes, pace: float = 0.0) -> Wire:
    """A stream that begins with `start` and then repeats `parts`."""
    return after(start, for_ever(*parts, pace=pace))


async def fault_of(desk: Desk) -> Exception:
    assert (await desk.ask("hi", max_tokens=ROOM)).status_code == 400
    return desk.gateway.fault.result()


# Limits


@pytest.mark.parametrize(
    ("start", "parts"),
    [
        (START, SAID),
        (begun("thinking"), [piece("thinking", word) for word in WORDS]),
        (begun("tool_use"), [piece("input_json", word) for word in WORDS]),
        (START, [typed("content_block_delta", index=0, delta={"type": "new", "anything": word}) for word in WORDS]),
    ],
    ids=["text", "thoughts", "arguments of a tool", "an unknown delta"],
)
async def test_an_answer_without_end_is_stopped_counted_and_not_paid_for_again(
    start: bytes, parts: list[bytes], tmp_path: Path
) -> None:
    answer = Answer(wire=endless(start, *parts))
    async with at_work(tmp_path, always(answer)) as (desk, model):
        fault = await fault_of(desk)
    assert isinstance(fault, UnusableAnswer) and "did not end" in str(fault)
    assert SLACK * ROOM <= desk.budget.used.output_tokens <= SLACK * ROOM + 10
    assert desk.budget.used.cost
    assert [one.finish_reason for one in desk.exchanges] == [CUT_OFF]
    async with at_work(tmp_path, always(answer)) as (again, asked):
        assert isinstance(await fault_of(again), UnusableAnswer)
    assert len(model.requests) == 1 and not asked.requests and again.budget.used == Usage()


async def test_what_is_counted_is_what_the_service_sent(tmp_path: Path) -> None:
    async with at_work(tmp_path, always(Answer(wire=endless(START, *SAID)))) as (desk, _):
        await fault_of(desk)
    assert desk.budget.used.input_tokens == 9
    assert desk.budget.used.output_tokens == len("".join(desk.said)) // 4 + 1
    assert desk.exchanges[0].answer == "".join(desk.said)


async def test_an_answer_without_end_keeps_to_the_budget(tmp_path: Path) -> None:
    budget = Budget(tokens=1_500)
    async with at_work(tmp_path, always(Answer(wire=endless(START, *SAID))), meter=budget) as (desk, _):
        await desk.ask("hi", max_tokens=1_200)
        fault = desk.gateway.fault.result()
    assert isinstance(fault, BudgetSpent)
    assert budget.used.input_tokens + budget.used.output_tokens <= 1_510


async def test_an_answer_that_the_budget_cut_off_is_asked_again_only_with_a_larger_one(tmp_path: Path) -> None:
    part = Answer("half of it", finish_reason="length")
    for budget, requests in ((Budget(tokens=1_100), 1), (Budget(tokens=1_100), 0), (Budget(), 1)):
        async with at_work(tmp_path, always(part), meter=budget) as (desk, model):
            await desk.ask("hi", max_tokens=4_000)
            assert desk.gateway.fault.done()
        assert len(model.requests) == requests


async def test_a_cancel_counts_what_arrived(tmp_path: Path) -> None:
    async with at_work(tmp_path, always(Answer(wire=endless(START, *SAID, pace=0.001)))) as (desk, model):
        asking = asyncio.ensure_future(desk.ask("hi"))
        await desk.heard.wait()
        asking.cancel()
        await desk.gateway.close()
        await asyncio.to_thread(model.wait_for_hang_ups, 1)
    assert desk.budget.used.output_tokens > 0 and desk.budget.used.cost
    assert desk.charged == [desk.budget.used]


@pytest.mark.parametrize(
    ("wire_of", "why"),
    [
        (for_ever(b"data: ", *[b"x" * 65_536] * 9), "one piece of more than"),
        (for_ever(b"event: ping\n\n" * 5_000), "more than 9 MiB"),
        (for_ever(b"x" * 65_536, kind="application/json"), "one piece of more than"),
        (gzip_bomb, "one piece of more than"),
    ],
    ids=["one line", "pings", "plain JSON", "a packed response"],
)
async def test_a_response_without_end_is_stopped_at_its_bytes(wire_of: Wire, why: str, tmp_path: Path) -> None:
    async with at_work(tmp_path, always(Answer(wire=wire_of))) as (desk, model):
        fault = await fault_of(desk)
        await asyncio.to_thread(model.wait_for_hang_ups, 1)
    assert isinstance(fault, ModelError) and "sent no answer" in str(fault) and why in str(fault)
    assert len(model.requests) == 1 and model.bytes_sent < most_bytes(ROOM) + socket_buffers()


@pytest.mark.parametrize(
    "wire_of", [endless_headers, for_ever(b"x" * 65_536, status="400 Bad Request")], ids=["headers", "an error message"]
)
async def test_headers_and_errors_without_end_are_refusals(wire_of: Wire, tmp_path: Path) -> None:
    async with at_work(tmp_path, always(Answer(wire=wire_of))) as (desk, model):
        assert isinstance(await fault_of(desk), ModelError)
        await asyncio.to_thread(model.wait_for_hang_ups, 1)
    assert model.bytes_sent < 8 * 2**20 + socket_buffers()


@pytest.mark.parametrize(
    ("wire_of", "config", "seconds"),
    [
        (for_ever(typed("ping"), pace=0.02), {"seconds": 0.4}, "0.4"),
        (for_ever(b": keep-alive\n\n", pace=0.02), {"seconds": 0.4}, "0.4"),
        (endless(START, piece("text", ""), pace=0.02), {"seconds": 0.4}, "0.4"),
        (for_ever(typed("ping"), pace=0.02), {"params": {"timeout": 0.3}}, "0.3"),
    ],
    ids=["pings", "comments", "empty deltas", "the person's timeout"],
)
async def test_signs_of_life_without_content_are_silence(
    wire_of: Wire, config: dict[str, Any], seconds: str, tmp_path: Path
) -> None:
    async with at_work(tmp_path, always(Answer(wire=wire_of)), config=config) as (desk, _):
        fault = await fault_of(desk)
    assert isinstance(fault, ModelUnavailable) and f"no answer within {seconds} s" in str(fault)


async def test_an_answer_that_comes_word_by_word_ends_at_the_total_time(tmp_path: Path) -> None:
    config = {"seconds": 0.5, "total_seconds": 1.0}
    async with at_work(tmp_path, always(Answer(wire=endless(START, *SAID, pace=0.05))), config=config) as (desk, _):
        fault = await fault_of(desk)
    assert isinstance(fault, UnusableAnswer) and "not complete after 1 s" in str(fault)


# Odd answers


WHOLE = (
    b'{"type":"message","content":[{"type":"text","text":"yes"}],"stop_reason":"end_turn","usage":{"input_tokens":9}}'
)


@pytest.mark.parametrize(
    "wire_of",
    [
        sends(START, YES, END),
        sends(START, YES, END, kind="text/plain"),
        sends(START, YES, END[:-30]),
        sends(START, YES, END, b"data: {not json\n\n"),
        sends(WHOLE, kind="application/json"),
        sends(WHOLE),
        lambda: packed(START + YES + END),
        sends(START, typed("content_block_delta", index=0, delta={"type": "text_delta", "text": None}), YES, END),
        sends(START, typed("content_block_delta", index=0, delta=None), YES, END),
        sends(typed("content_block_start", index=0, content_block={"no": "type"}), START, YES, END),
        sends(START, YES, ended(stop_reason="banana")),
        sends(START, YES, ended(stop_reason=7)),
    ],
    ids=[
        "as it should be",
        "plain text",
        "cut after the end",
        "no JSON after the end",
        "plain JSON",
        "plain JSON called a stream",
        "packed",
        "a null text",
        "a null delta",
        "a block without a type",
        "an unknown reason",
        "a number as reason",
    ],
)
async def test_an_odd_answer_is_used_and_recorded_once(wire_of: Wire, tmp_path: Path) -> None:
    for requests in (1, 0):
        async with at_work(tmp_path, always(Answer(wire=wire_of))) as (desk, model):
            message = (await desk.ask("hi")).json()
        assert [block["text"] for block in message["content"]] == ["yes"]
        assert len(model.requests) == requests


@pytest.mark.parametrize(
    "counts",
    [
        {"input_tokens": -5, "output_tokens": -3},
        {"input_tokens": "many", "output_tokens": "3"},
        {"input_tokens": 10**30, "output_tokens": 10**30},
        {"output_tokens": float("nan")},
        {"output_tokens": True},
        "lots",
    ],
    ids=["negative", "text", "huge", "no number", "a switch", "a text"],
)
async def test_wrong_counts_do_not_lose_the_answer(counts: Any, tmp_path: Path) -> None:
    stream = sends(begun(counts=counts), YES, ended(counts))
    for requests in (1, 0):
        async with at_work(tmp_path, always(Answer(wire=stream))) as (desk, model):
            assert (await desk.ask("hi")).json()["content"][0]["text"] == "yes"
        assert len(model.requests) == requests
        if requests:
            assert desk.exchanges[0].usage.output_tokens == 1 and desk.exchanges[0].usage.cost is None


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([piece("text", "a\ud800b")], "a�b"),
        ([piece("text", "\ud83d"), piece("text", "\ude00")], "😀"),
        ([YES.replace(b"yes", b"e\xff\xfes")], "e��s"),
    ],
    ids=["half a pair", "a pair in two pieces", "invalid UTF-8"],
)
async def test_invalid_text_is_repaired_and_recorded(pieces: list[bytes], text: str, tmp_path: Path) -> None:
    for requests in (1, 0):
        async with at_work(tmp_path, always(Answer(wire=sends(START, *pieces, END)))) as (desk, model):
            assert (await desk.ask("hi")).json()["content"][0]["text"] == text
        assert len(model.requests) == requests and "".join(desk.said) == text


@pytest.mark.parametrize(
    "given", ['{"x": NaN}', "[" * 100_000, "{not json", '"a text"'], ids=["NaN", "deep", "no JSON", "a text"]
)
async def test_arguments_that_cannot_be_read_are_none(given: str, tmp_path: Path) -> None:
    stream = sends(begun("tool_use"), piece("input_json", given), ended(stop_reason="tool_use"))
    for requests in (1, 0):
        async with at_work(tmp_path, always(Answer(wire=stream))) as (desk, model):
            message = (await desk.ask("hi", max_tokens=100_000)).json()
        assert message["content"][0]["input"] == {} and len(model.requests) == requests


@pytest.mark.parametrize(
    "wire_of",
    [
        sends(START, b"data: {not json\n\n", YES, END),
        sends(START, YES),
        sends(WHOLE[:-20], kind="application/json"),
        lambda: [head_of()],
    ],
    ids=["a broken piece", "cut", "cut JSON", "nothing"],
)
async def test_an_answer_that_lacks_a_part_is_asked_again_and_then_an_error(wire_of: Wire, tmp_path: Path) -> None:
    async with at_work(tmp_path, always(Answer(wire=wire_of))) as (desk, model):
        assert isinstance(await fault_of(desk), ModelUnavailable)
    assert len(model.requests) == 2


async def test_a_web_page_is_named(tmp_path: Path) -> None:
    page = b"<html><title>Log in</title></html>"
    async with at_work(tmp_path, always(Answer(wire=sends(page, kind="text/html")))) as (desk, _):
        assert "a web page ('Log in') came instead" in str(await fault_of(desk))


def test_a_message_survives_what_its_blocks_may_hold() -> None:
    message = wire.Message([{"type": "tool_use", "input": "x"}, {"type": 5}, {"type": "text", "text": ["\ud800"]}])
    message.repair()
    assert message.blocks == [{"type": "tool_use", "input": {}}, {"type": "text", "text": ""}]
    json.dumps(list(wire.events_of(message, "m")), allow_nan=False)
