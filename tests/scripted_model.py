"""A language model with scripted answers, behind real HTTP on the loopback interface.

It implements OpenAI's chat completions (`…/chat/completions`) and Anthropic's messages (`…/messages`), streamed and
plain, so the real client libraries are tested unchanged. It needs only the standard library.

    with ScriptedModel(["first answer", Answer(status=429, headers={"retry-after": "0"}), "second"]) as model:
        LiteLLMModel(model.config())            # or AgentConfig(**model.settings)
    ScriptedModel(by_marker({"# Write the code": [...], "# Write the tests": [...]}))   # for parallel requests
    ScriptedModel(lambda request: "yes" if "?" in prompt_of(request) else Answer(status=500))

    ScriptedModel([Answer(calls=[Call("mcp__workspace__Bash", {"command": "ls"})]), "done"])   # Anthropic's API

A request without a scripted answer, or for which the script fails, gets a 400, which no client retries, and is kept in
`unforeseen`.
"""

from __future__ import annotations

import itertools
import json
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from autocoder_jupyter.models.protocol import ModelConfig
from tests.first_answers import joined

COUNTED: Mapping[str, int] = {}
"""Placeholder for usage that the endpoint counts: four characters per token."""


@dataclass(frozen=True)
class Call:
    """A tool call in an answer; Anthropic's API only."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """One answer, or one error.

    Args:
        text: the text of the model.
        calls: the tool calls after the text.
        finish_reason: one of OpenAI's values; `"length"` simulates a truncated answer.
        usage: OpenAI's usage object; None sends none.
        status: of HTTP; a value other than 200 makes an error with `error` as its message.
        error: message of the error.
        code: machine-readable code of the error, such as `"context_length_exceeded"`.
        headers: further headers, such as `retry-after`.
        delay: seconds before the first byte.
        hold: nothing is sent until this event is set; a client that disconnects meanwhile is noticed.
        hold_after: number of characters that are streamed before `hold` applies.
        then, then_after: another event and its place, behind that of `hold`.
        drop_after: number of characters that are streamed before the connection is reset.
        end_after: number of characters that are streamed before the stream ends as if it were complete.
        raw: sent as the body without changes.
        wire: makes everything that is sent: the status line, the headers and the body. It may never end.
        piece: number of characters of one streamed piece.
        pace: seconds between two pieces.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    finish_reason: str = "stop"
    usage: Mapping[str, Any] | None = field(default_factory=lambda: COUNTED)
    status: int = 200
    error: str = "scripted fault"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hold: threading.Event | None = None
    hold_after: int = 0
    then: threading.Event | None = None
    then_after: int = 0
    drop_after: int | None = None
    end_after: int | None = None
    raw: str | None = None
    wire: Callable[[], Iterable[bytes]] | None = None
    piece: int = 80
    pace: float = 0.0


Script = Sequence[str | Answer] | Callable[[dict[str, Any]], "str | Answer"]


class Unforeseen(LookupError):
    """The script has no answer to this request."""


class ScriptedModel:
    """The endpoint; a context manager.

    Args:
        script: answers in order, or a function of the request's JSON. The function is called by one thread at a time.
        refuse: request fields that get a 400, such as `"temperature"`; also kinds of `response_format`, such as
            `"json_schema"`.
        latency: seconds before every answer.
        models: the models that it lists.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        refuse: Collection[str] = (),
        latency: float = 0.0,
        models: Sequence[str] = ("scripted",),
    ) -> None:
        self.models = models
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.unforeseen: list[dict[str, Any]] = []
        self.hung_up = threading.Event()
        self.hang_ups = 0
        self.bytes_sent = 0
        self._answer = script if callable(script) else in_order(script)
        self._refuse = frozenset(refuse)
        self._latency = latency
        self._changed = threading.Condition()
        handler = type("Handler", (_Handler,), {"endpoint": self})
        self._server = _Server(("127.0.0.1", 0), handler)

    def __enter__(self) -> ScriptedModel:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        if questions := sys.modules.get("autocoder_jupyter.models.questions"):
            questions._learned.clear()  # the endpoint of a later test may get the same port

    @property
    def port(self) -> int:
        """Its port on this machine."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """OpenAI's base address. Anthropic's client appends `/v1/messages` itself: use `root` for it."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        """The address without `/v1`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for an `AgentConfig` to use this endpoint, without a second opinion. No key is needed."""
        return {**self.place, "second_opinion": "off"}

    @property
    def place(self) -> dict[str, Any]:
        """Settings for a `ModelConfig` to use this endpoint."""
        return {"model": "openai/scripted", "api_base": self.url}

    def config(self, **changes: Any) -> ModelConfig:
        """A `ModelConfig` that uses this endpoint."""
        return ModelConfig(**{**self.place, **changes})

    def wait_for_requests(self, count: int, timeout: float = 30.0) -> None:
        """Wait until this number of requests has arrived."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, timeout):
                raise TimeoutError(f"{len(self.requests)} of {count} requests arrived in {timeout:g} s")

    def wait_for_hang_ups(self, count: int, timeout: float = 30.0) -> None:
        """Wait until this number of clients has closed the connection in the middle of an answer."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.hang_ups >= count, timeout):
                raise TimeoutError(f"{self.hang_ups} of {count} clients hung up in {timeout:g} s")

    def note_hang_up(self) -> None:
        """A client closed its connection in the middle of an answer."""
        with self._changed:
            self.hang_ups += 1
            self.hung_up.set()
            self._changed.notify_all()

    def answer_to(self, request: dict[str, Any], headers: dict[str, str]) -> Answer:
        """Record a request and find its answer."""
        with self._changed:
            self.requests.append(request)
            self.headers.append(headers)
            self._changed.notify_all()
            for name in self._refuse & _offered(request):
                return Answer(status=400, error=f"Unsupported parameter: '{name}' is not supported with this model.")
            try:
                answer = self._answer(request)
            except Exception as error:  # without a response, clients ask again after longer and longer pauses
                self.unforeseen.append(request)
                return Answer(status=400, error=f"{type(error).__name__}: {error}")
        if self._latency:
            time.sleep(self._latency)
        return Answer(answer) if isinstance(answer, str) else answer


EVENTS = "text/event-stream"


def head_of(kind: str = EVENTS, *more: str, status: str = "200 OK") -> bytes:
    """The status line and the headers of a response that lasts as long as its connection."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", "Connection: close", *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def in_order(answers: Sequence[str | Answer]) -> Callable[[dict[str, Any]], str | Answer]:
    """A script that returns these answers in order, for any requests."""
    remaining = iter(answers)

    def script(_: dict[str, Any]) -> str | Answer:
        for answer in remaining:
            return answer
        raise Unforeseen("the script is at its end")

    return script


def always(answer: str | Answer) -> Callable[[dict[str, Any]], str | Answer]:
    """A script that returns the same answer for all requests."""
    return lambda _: answer


PLAN_MARKER, CODE_MARKER = "You plan one Python function", "Begin the module with a docstring"
"""Markers of the first question: for a plan alone, and for a module that begins with one."""


def by_marker(routes: Mapping[str, Script]) -> Callable[[dict[str, Any]], str | Answer]:
    """A script for each kind of question, selected by the first marker that the prompt contains.

    Scripts for `PLAN_MARKER` and for `CODE_MARKER` make one answer, as a model gives it.
    """
    scripts = {marker: script if callable(script) else in_order(script) for marker, script in routes.items()}
    if PLAN_MARKER in scripts:
        scripts[CODE_MARKER] = _Joined(scripts[PLAN_MARKER], scripts.get(CODE_MARKER))

    def route(request: dict[str, Any]) -> str | Answer:
        prompt = prompt_of(request)
        for marker, script in scripts.items():
            if marker in prompt:
                return script(request)
        raise Unforeseen(f"none of {list(routes)} stands in the prompt")

    return route


class _Joined:
    """Answers with a plan and the code below it. An error in place of the plan is the whole answer.

    A plan is given once, as a model does that is only asked for other code. The last code is given again.
    """

    def __init__(self, plan: Callable[[dict[str, Any]], str | Answer], code: Callable[..., Any] | None) -> None:
        self._next_plan = plan
        self._next_code = code
        self._code: Answer | None = None
        self._has_planned = False

    def __call__(self, request: dict[str, Any]) -> Answer:
        plan = self._plan(request)
        if plan is not None and (_is_raw(plan) or "{" not in plan.text):
            return plan
        if plan is not None and self._next_code is None:
            return replace(plan, text=joined(plan.text, ""))
        self._has_planned = self._has_planned or plan is not None
        code = self._code_of(request)
        if plan is None or _is_raw(code):
            return code
        return first_answer(plan, code)

    def _plan(self, request: dict[str, Any]) -> Answer | None:
        try:
            return _as_answer(self._next_plan(request))
        except Unforeseen:
            if not self._has_planned:
                raise
            return None

    def _code_of(self, request: dict[str, Any]) -> Answer:
        assert self._next_code is not None
        try:
            self._code = _as_answer(self._next_code(request))
        except Unforeseen:
            if self._code is None:
                raise
        return self._code


def first_answer(plan: Answer, code: Answer) -> Answer:
    """One answer with a plan, in JSON, and the code below it. `code.hold` comes behind the plan."""
    padding = "\n" * 2 * code.piece if code.hold else ""  # so that the whole plan is sent before
    text = joined(plan.text, code.text, padding)
    more = len(text) - len(code.text)
    held = {"hold": plan.hold, "hold_after": plan.hold_after} if plan.hold else {"hold": None}
    if code.hold:
        behind = more - code.piece + (code.hold_after or 0)
        held |= {"then": code.hold, "then_after": behind} if plan.hold else {"hold": code.hold, "hold_after": behind}
    return replace(
        code,
        text=text,
        usage=code.usage if plan.usage is COUNTED else plan.usage,
        delay=plan.delay + code.delay,
        drop_after=None if code.drop_after is None else code.drop_after + more,
        end_after=None if code.end_after is None else code.end_after + more,
        **held,
    )


def _as_answer(answer: str | Answer) -> Answer:
    return Answer(answer) if isinstance(answer, str) else answer


def _is_raw(answer: Answer) -> bool:
    return answer.status != 200 or answer.raw is not None or answer.wire is not None


def prompt_of(request: Mapping[str, Any]) -> str:
    """All text of a request, including the system prompt."""
    contents = [request.get("system") or "", *(message.get("content") or "" for message in request["messages"])]
    return "\n".join(filter(None, map(_text, contents)))


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or _text(part.get("content") or "") for part in content)


def _offered(request: Mapping[str, Any]) -> set[str]:
    kind = (request.get("response_format") or {}).get("type")
    return {*request, kind} if kind else set(request)


def _counted(answer: Answer, request: Mapping[str, Any]) -> dict[str, Any] | None:
    if answer.usage is not COUNTED:
        return None if answer.usage is None else dict(answer.usage)
    asked, said = len(prompt_of(request)) // 4 + 1, len(answer.text) // 4 + 1
    said += sum(len(json.dumps(call.arguments)) // 4 + 1 for call in answer.calls)
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


class _HungUp(Exception):
    """The client closed the connection."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients may hang up between two requests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    endpoint: ScriptedModel
    _numbers = itertools.count(1)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """The list of models, as servers on this machine give it."""
        listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in self.endpoint.models]}
        self._send(json.dumps(listed), Answer(status=200 if self.path == "/v1/models" else 404))

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        answer = self.endpoint.answer_to(request, {name.lower(): value for name, value in self.headers.items()})
        try:
            self._send_answer(request, answer)
        except (_HungUp, ConnectionError):
            self.endpoint.note_hang_up()
            self.close_connection = True

    def _send_answer(self, request: dict[str, Any], answer: Answer) -> None:
        if answer.wire is not None:
            self.close_connection = True
            for data in answer.wire():
                self.connection.sendall(data)
                self.endpoint.bytes_sent += len(data)
            return
        time.sleep(answer.delay)
        if not answer.hold_after:
            self._hold(answer.hold)
        anthropic = self.path.split("?")[0].endswith("/messages")
        if answer.status != 200:
            error = {"message": answer.error, "type": "scripted_error", "code": answer.code}
            self._send(json.dumps({"type": "error", "error": error}), answer)
        elif answer.raw is not None:
            self._send(answer.raw, answer, "text/event-stream" if request.get("stream") else "application/json")
        elif not request.get("stream"):
            whole = _anthropic_whole if anthropic else _openai_whole
            self._send(json.dumps(whole(request, answer, next(self._numbers))), answer)
        else:
            events = _anthropic_events if anthropic else openai_events
            self._stream(events(request, answer, next(self._numbers)), answer)

    def _hold(self, event: threading.Event | None) -> None:
        while event is not None and not event.wait(0.02):
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise _HungUp

    def _send(self, body: str, answer: Answer, kind: str = "application/json") -> None:
        data = body.encode()
        self.send_response(answer.status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[tuple[int, str]], answer: Answer) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}.items():
            self.send_header(name, value)
        self.end_headers()
        holds = [(answer.hold_after, answer.hold), (answer.then_after, answer.then)]
        for said, event in events:
            if answer.drop_after is not None and said > answer.drop_after:
                return self._reset()
            if answer.end_after is not None and said > answer.end_after:
                break
            while holds and said > holds[0][0]:
                self._hold(holds.pop(0)[1])
            self._chunk(event.encode())
            time.sleep(answer.pace)
        self._chunk(b"")
        return None

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True


def _pieces(text: str, size: int) -> Iterator[tuple[int, str]]:
    """Pieces of a text, each with the number of characters sent so far."""
    for start in range(0, len(text), size):
        piece = text[start : start + size]
        yield start + len(piece), piece


# OpenAI's API


def _openai_whole(request: dict[str, Any], answer: Answer, number: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text}
    whole = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish_reason}],
    }
    usage = _counted(answer, request)
    return whole if usage is None else {**whole, "usage": usage}


def openai_events(request: dict[str, Any], answer: Answer, number: int) -> Iterator[tuple[int, str]]:
    base = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": request.get("model"),
    }

    def event(choices: list[dict[str, Any]], **more: Any) -> str:
        return f"data: {json.dumps({**base, 'choices': choices, **more})}\n\n"

    def choice(delta: dict[str, Any], finish_reason: str | None = None) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": delta, "finish_reason": finish_reason}]

    end = len(answer.text) + 1
    yield 0, event(choice({"role": "assistant", "content": ""}))
    for said, piece in _pieces(answer.text, answer.piece):
        yield said, event(choice({"content": piece}))
    yield end, event(choice({}, answer.finish_reason))
    usage = _counted(answer, request)
    if usage is not None and (request.get("stream_options") or {}).get("include_usage"):
        yield end, event([], usage=usage)
    yield end, "data: [DONE]\n\n"


# Anthropic's API

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


def _anthropic_message(request: dict[str, Any], answer: Answer, number: int) -> dict[str, Any]:
    usage = _counted(answer, request) or {}
    counts = {"input_tokens": usage.get("prompt_tokens", 0), "output_tokens": usage.get("completion_tokens", 0)}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "stop_sequence": None,
        "usage": counts | {name: count for name, count in usage.items() if name.startswith("cache_")},
    }


def _anthropic_blocks(request: dict[str, Any], answer: Answer, number: int) -> list[dict[str, Any]]:
    """The content blocks: a text and tool calls. If the request forces a tool, that tool gets the text as its input."""
    choice = request.get("tool_choice") or {}
    if choice.get("type") == "tool":
        return [_tool_use(choice["name"], json.loads(answer.text), f"toolu_{number}")]
    blocks = [{"type": "text", "text": answer.text}] if answer.text or not answer.calls else []
    return blocks + [
        _tool_use(call.name, dict(call.arguments), f"toolu_{number}_{place}") for place, call in enumerate(answer.calls)
    ]


def _tool_use(name: str, arguments: dict[str, Any], identity: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def _stop_reason(blocks: list[dict[str, Any]], answer: Answer) -> str:
    return "tool_use" if blocks[-1]["type"] == "tool_use" else _STOP_REASONS[answer.finish_reason]


def _anthropic_whole(request: dict[str, Any], answer: Answer, number: int) -> dict[str, Any]:
    blocks = _anthropic_blocks(request, answer, number)
    message = _anthropic_message(request, answer, number)
    return {**message, "content": blocks, "stop_reason": _stop_reason(blocks, answer)}


def _anthropic_events(request: dict[str, Any], answer: Answer, number: int) -> Iterator[tuple[int, str]]:
    def event(kind: str, **data: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    message = _anthropic_message(request, answer, number)
    blocks = _anthropic_blocks(request, answer, number)
    end = len(answer.text) + 1
    yield 0, event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            yield 0, event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            for said, piece in _pieces(answer.text, answer.piece):
                delta = {"type": "text_delta", "text": piece}
                yield said, event("content_block_delta", index=index, delta=delta)
        else:
            yield 0, event("content_block_start", index=index, content_block={**block, "input": {}})
            for said, piece in _pieces(json.dumps(block["input"]), answer.piece):
                delta = {"type": "input_json_delta", "partial_json": piece}
                yield said, event("content_block_delta", index=index, delta=delta)
        yield end, event("content_block_stop", index=index)
    stop = {"stop_reason": _stop_reason(blocks, answer), "stop_sequence": None}
    yield end, event("message_delta", delta=stop, usage=message["usage"])
    yield end, event("message_stop")
