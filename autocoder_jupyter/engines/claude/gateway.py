"""A gateway between the program of the SDK and the model's service: it answers the program on a loopback address.

The program has no key and knows no other address. Each of its questions is looked up in the journal, checked against
the budget, recorded when it is sent, and answered once the answer is in the journal. So an interrupted run continues
where it stopped, a limit ends it before the next request, and the key stays here.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import json
import secrets
import sys
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engines.claude import wire
from autocoder_jupyter.engines.claude.service import Arrived, Refusal, Service, plain_name, receive
from autocoder_jupyter.errors import AutocodeError, BudgetSpent, Locked, ModelError, ModelUnavailable
from autocoder_jupyter.models import library, response
from autocoder_jupyter.models.faults import (
    CUT_OFF,
    OnlyLonger,
    ResponseFault,
    RetryPolicy,
    TransientFault,
    cut_off_error,
)
from autocoder_jupyter.models.library import cost_of, worst_case
from autocoder_jupyter.models.protocol import AnswerLimits, Meter, SummingMeter
from autocoder_jupyter.models.questions import OnSend, SentRequest, place
from autocoder_jupyter.models.response import IncomingAnswer
from autocoder_jupyter.request import CachePolicy
from autocoder_jupyter.types import Exchange, Usage
from autocoder_jupyter.types.records import StageName

# The server
#
# It listens on the loopback, for one program that asks one question at a time.

MOST_BYTES = 64 * 2**20
"""The maximum number of bytes of a question."""

_HEAD_BYTES = 64 * 1024

Answer = Callable[[dict[str, Any], Mapping[str, str]], Awaitable[wire.Message]]


class Loopback:
    """Answers requests (`POST …/v1/messages`) that carry the token.

    Args:
        answer: called with the question and its headers. Its errors become refusals that no client retries.
        token: the program's key. Without it, other processes on this machine cannot ask.
    """

    def __init__(self, answer: Answer, token: str) -> None:
        self._answer = answer
        self._token = token
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Start to listen, on a port that the system chooses."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=_HEAD_BYTES)

    @property
    def url(self) -> str:
        """The address."""
        assert self._server is not None, "start() comes first"
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def close(self) -> None:
        """Stop listening, and cancel the requests under way."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
                await _handled(reader, writer, self._answer, self._token)
        finally:
            self._open.discard(task)
            writer.close()


async def _handled(reader: StreamReader, writer: StreamWriter, answer: Answer, token: str) -> None:
    method, path, headers = await _head(reader)
    if not hmac.compare_digest(headers.get("x-api-key", "").encode(), token.encode()):
        await _send(writer, 401, _error("authentication_error", "Only the program of this session may ask here."))
        return
    length = int(headers.get("content-length") or 0)
    if not 0 <= length <= MOST_BYTES:
        return
    content = await reader.readexactly(length)
    if method != "POST" or not path.partition("?")[0].endswith("/v1/messages"):
        await _send(writer, 404, _error("not_found_error", "Only messages are answered here."))
    else:
        question = json.loads(content)
        try:
            message = await answer(question, headers)
        except Exception as error:
            await _send(writer, 400, _error("invalid_request_error", str(error)))
            return
        await _send_message(writer, message, str(question.get("model")), streamed=bool(question.get("stream")))


async def _head(reader: StreamReader) -> tuple[str, str, dict[str, str]]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    return method, path, {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _send_message(writer: StreamWriter, message: wire.Message, model: str, *, streamed: bool) -> None:
    if streamed:
        body = b"".join(map(wire.event_bytes, wire.events_of(message, model)))
        await _send(writer, 200, body, "text/event-stream")
    else:
        await _send(writer, 200, json.dumps(wire.whole_message(message, model)).encode())


def _error(kind: str, message: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


async def _send(writer: StreamWriter, status: int, body: bytes, kind: str = "application/json") -> None:
    head = f"HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}x-should-retry: false\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()


# The gateway

_LEAST_THINKING = 1024
_CACHE_SURCHARGE = 0.25
"""The extra charge for input that a service writes to its cache, as a factor."""

STEP = "agent answer"
"""The journal's name for an answer in the form that the program gets. Its exchange is recorded too, for the user."""

_numbers = itertools.count(10**9)  # so that they differ from the numbers of other requests


@dataclass(frozen=True)
class SessionListener:
    """The callbacks of a session.

    Args:
        begun: called with the number of a turn when it begins.
        streamed: called with the turn and a piece of text.
        retrying: called after a transient fault of the service, with the reason and the seconds until the next try.
        charged: called with the usage of an answer that is not complete.
    """

    begun: Callable[[int], None]
    streamed: Callable[[int, str], None]
    exchanged: Callable[[Exchange], None]
    retrying: Callable[[str, float], None]
    charged: Callable[[Usage], None]


class Gateway:
    """Answers the program's questions between `start` and `close`.

    Args:
        service: answers questions that are not in the journal.
        policy: whether the journal is read and written.
        locked: if True, the service must not be asked.
        on_send: called with each request before it is sent.
    """

    def __init__(
        self,
        service: Service,
        *,
        journal: Journal,
        policy: CachePolicy,
        locked: bool,
        meter: Meter,
        most_turns: int,
        on_send: OnSend,
        listener: SessionListener,
    ) -> None:
        self._service = service
        self._journal = journal
        self._policy = policy
        self._locked = locked
        self._meter = meter
        self._most_turns = most_turns
        self._on_send = on_send
        self._listener = listener
        self._retries = RetryPolicy()
        self._reachable = False
        self._messages_recorded = 0  # number of recorded messages of the session
        self.token = secrets.token_hex(16)
        self._server = Loopback(self._answer, self.token)
        self.turn = 0
        self.stage: StageName = "code"
        self.fault: asyncio.Future[AutocodeError] = asyncio.get_running_loop().create_future()
        """The error because of which the session cannot continue."""

    async def start(self) -> None:
        """Start to listen."""
        await self._server.start()

    async def close(self) -> None:
        """Stop, and cancel the request to the service that is under way."""
        await self._server.close()
        self.fault.cancel()

    @property
    def url(self) -> str:
        """The address."""
        return self._server.url

    def stop(self, why: AutocodeError) -> None:
        """End the session; the first reason counts."""
        if not self.fault.done():
            self.fault.set_result(why)

    async def _answer(self, body: dict[str, Any], headers: Mapping[str, str]) -> wire.Message:
        """The answer to one question."""
        try:
            asked = {**wire.without_additions(body), "model": plain_name(self._service.config.model)}
            return await self._answer_turn(asked, headers)
        except AutocodeError as error:
            self.stop(error)
            raise
        except Exception as error:
            fault = ModelError("The Claude backend failed while it asked the model.", why=f"{error!r}"[:400])
            self.stop(fault)
            raise fault from error

    async def _answer_turn(self, body: dict[str, Any], headers: Mapping[str, str]) -> wire.Message:
        if self.turn >= self._most_turns:
            raise BudgetSpent(
                f"The agent has used its {self._most_turns} turns.",
                hint="Raise agent_max_turns (--agent-max-turns) and run the cell again; the turns so far are replayed.",
                limit="agent_max_turns",
            )
        self.turn += 1
        self._listener.begun(self.turn)
        key, new = wire.request_key(body), body["messages"][self._messages_recorded :]
        self._messages_recorded = len(body["messages"])
        if (message := self._replayed(key)) is not None:
            return message
        if self._locked:
            raise Locked(
                f"{self._service.config.model} must be asked as an agent, but the run is locked.",
                hint="Run it once without --locked (or AUTOCODE_LOCKED), and keep the .autocode folder.",
            )
        began = time.monotonic()
        answer, room = await self._ask_service(body, headers, key, new)
        message = answer.message
        exchange = Exchange(
            stage=self.stage,
            key=key,
            model=self._service.config.model,
            messages=tuple(map(wire.readable_message, new)),
            answer=wire.readable(message.blocks),
            finish_reason=CUT_OFF if answer.cut_off else message.stop_reason,
            usage=answer.usage,
            seconds=time.monotonic() - began,
            room=room if answer.cut_off else None,
        )
        if self._policy != "disable":
            if not answer.cut_off:
                self._journal.add_step(STEP, key, {"blocks": message.blocks, "stop_reason": message.stop_reason})
            self._journal.add(exchange)
        self._listener.exchanged(exchange)
        if answer.cut_off:
            shortened = bool(answer.limit) or room < _room_of(body)
            raise cut_off_error(exchange, answer.cut_off, shortened=shortened)
        return message

    def _replayed(self, key: str) -> wire.Message | None:
        """The recorded answer; None if there is none, or it may not be used."""
        recorded, step = self._journal.find(key), self._journal.find_step(STEP, key)
        message = wire.recorded_message(step)
        if self._policy != "auto" or recorded is None or message is None:
            return None
        for block in message.blocks:
            if block["type"] == "text":
                self._listener.streamed(self.turn, str(block.get("text") or ""))
        self._listener.exchanged(recorded.as_replayed().model_copy(update={"stage": self.stage}))
        return message

    async def _ask_service(
        self, body: dict[str, Any], headers: Mapping[str, str], key: str, new: list[Any]
    ) -> tuple[Arrived, int]:
        """Ask the service until it answers; transient faults are retried. Returns also the tokens that were granted."""
        if not self._reachable:
            await call_blocking(self._service.require_reachable)
            self._reachable = True
        litellm = await library.preload()
        await call_blocking(response.install)
        texts, tools = [{"content": str(body["messages"])}], [body.get("system"), body.get("tools")]
        config, asked = self._service.config, _room_of(body)
        worst = await call_blocking(lambda: worst_case(texts, tools, asked, config, litellm))
        failures, started = 0, time.monotonic()
        while True:
            meter = SummingMeter(self._meter_for(key))
            try:
                async with meter.reserve(worst) as grant:
                    sent = within(body, grant.room)
                    body_as_recorded = {**sent, "messages": new, "messages_before": len(body["messages"]) - len(new)}
                    number = next(_numbers)
                    self._on_send(SentRequest(self.stage, key, place(self._service.url), body_as_recorded, number))
                    incoming = IncomingAnswer(AnswerLimits.of(config), grant, worst, len(texts[0]["content"]) // 4 + 1)
                    answer = await receive(self._service, sent, headers, incoming, self._stream)
                    if not answer.is_charged:
                        answer = replace(answer, usage=self._usage_with_cost(answer, litellm))
                        grant.spend(answer.usage)
                    return answer, grant.room
            except (Refusal, ResponseFault) as raised:
                fault = self._service.meaning_of(raised, litellm)
                if isinstance(fault, ModelError):
                    raise fault from raised
                failures += 1
                elapsed = time.monotonic() - started
                pause = self._retries.pause(failures, elapsed, fault.retry_after, fault.tries)
                if pause is None:
                    raise self._unavailable(fault, failures) from raised
                self._listener.retrying(fault.reason, pause)
                await asyncio.sleep(pause)
            finally:
                if sys.exception() is not None and meter.spent != Usage():  # also a cancel
                    self._listener.charged(meter.spent)

    def _meter_for(self, key: str) -> Meter:
        """The meter for a question. If its answer was cut off before, only a longer one is allowed."""
        recorded = self._journal.find(key) if self._policy == "auto" else None
        is_cut_off = recorded is not None and recorded.finish_reason == CUT_OFF
        return OnlyLonger(self._meter, recorded) if recorded is not None and is_cut_off else self._meter

    def _stream(self, piece: str) -> None:
        self._listener.streamed(self.turn, piece)

    def _usage_with_cost(self, answer: Arrived, litellm: Any) -> Usage:
        """The usage of a complete answer with its cost. If the service does not count, the cost is unknown."""
        counted, config = answer.usage, self._service.config
        if counted.cost is None:
            return counted
        surcharge = Usage(input_tokens=round(answer.message.written_to_cache * _CACHE_SURCHARGE))
        costs = [cost_of(usage, config, litellm) for usage in (counted, surcharge) if usage != Usage()]
        known = [cost for cost in costs if cost is not None]
        return counted.model_copy(update={"cost": sum(known) if len(known) == len(costs) else None})

    def _unavailable(self, fault: TransientFault, tries: int) -> ModelUnavailable:
        again = "Run the cell again later; what the agent has done so far is replayed."
        return ModelUnavailable(
            f"{self._service.config.model} did not answer in {tries} {'try' if tries == 1 else 'tries'}.",
            why=fault.why,
            hint=f"{fault.hint} {again}".strip(),
        )


def _room_of(body: Mapping[str, Any]) -> int:
    """The tokens that an answer may have."""
    asked = body.get("max_tokens")
    return asked if type(asked) is int and asked > 0 else 8000


def within(body: Mapping[str, Any], room: int) -> dict[str, Any]:
    """The request with `max_tokens` reduced to `room`."""
    asked = _room_of(body)
    shortened = {**body, "max_tokens": min(asked, room)}
    thinking = body.get("thinking")
    if room < asked and isinstance(thinking, dict) and "budget_tokens" in thinking:
        thoughts = min(int(thinking["budget_tokens"]), room // 2)
        shortened["thinking"] = {**thinking, "budget_tokens": thoughts}
        if thoughts < _LEAST_THINKING:
            shortened["thinking"] = {"type": "disabled"}
    return shortened
