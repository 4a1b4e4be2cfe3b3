"""A language model that only repeats what it answered once: the answers of a journal, over HTTP on this machine.

It stands in for a provider in the notebooks about durable execution, which need one that can be slow and that counts
what it is asked. It speaks OpenAI's chat completions and Anthropic's messages. A question gets the answer of the
recorded question that has the most lines in common with it, so other words in a prompt change nothing. A question that
is like none of them gets an error, so nothing here can be made up.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class PlayedModel:
    """Serves the recorded answers of one function.

    Args:
        recorded: folder of the function, such as `.autocode/week_totals`.
    """

    def __init__(self, recorded: str | Path) -> None:
        entries = [entry for journal in sorted(Path(recorded).rglob("journal.jsonl")) for entry in lines(journal)]
        exchanges = [entry["exchange"] for entry in entries if entry["kind"] == "exchange"]
        self._turns = [entry["outcome"] for entry in entries if "stop_reason" in entry.get("outcome", {})]
        if self._turns:  # the exchanges about the code are these turns
            exchanges = [exchange for exchange in exchanges if exchange["stage"] != "code"]
        self._answers = [(question_lines(exchange["messages"]), exchange) for exchange in exchanges]
        self.asked: list[str] = []
        """What each question was for, in the order in which they came."""
        self._slow = ""
        self._free = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"model": self}))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """What `api_base` takes."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def withhold(self, what: str) -> None:
        """Take forever over a question: `code`, `tests`, or of an agent's `turn 3`."""
        self._slow = what
        self._free.clear()

    def answer_again(self) -> None:
        """Be as quick as ever."""
        self._slow = ""
        self._free.set()

    def close(self) -> None:
        """End the server."""
        self._free.set()
        self._server.shutdown()
        self._server.server_close()

    def answer_to(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The recorded answer, as Anthropic's blocks; None when this was never asked."""
        if request.get("tools"):  # an agent; how far it is, its own earlier answers say
            turn = sum(message["role"] == "assistant" for message in request["messages"])
            what = f"turn {turn + 1}"
            answer = self._turns[turn] if turn < len(self._turns) else None
        else:
            exchange = self._recorded([{"content": request.get("system", "")}, *request["messages"]])
            what = exchange["stage"] if exchange else "unknown"
            blocks = [{"type": "text", "text": exchange["answer"]}] if exchange else []
            answer = {"blocks": blocks, "stop_reason": "end_turn"} if exchange else None
        self.asked.append(what)
        if what == self._slow:
            self._free.wait()
        return answer

    def _recorded(self, messages: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The exchange with the most similar question; None if none is similar."""
        asked = question_lines(messages)
        similar, exchange = max(((_common(asked, known), one) for known, one in self._answers), key=lambda one: one[0])
        return exchange if similar > 0.5 else None


def _common(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of lines that two questions have in common, from 0 to 1."""
    return len(one & other) / max(len(one | other), 1)


def lines(journal: Path) -> list[dict[str, Any]]:
    """What a journal holds; a line that a crash cut short is passed over."""
    found = []
    for line in journal.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def question_lines(messages: list[dict[str, Any]]) -> frozenset[str]:
    """The lines of a question, however they are packed and spaced."""
    contents = [message["content"] for message in messages]
    texts = [text for content in contents for text in (_texts(content) if isinstance(content, list) else [content])]
    return frozenset(line for text in texts for line in map(str.strip, text.splitlines()) if line)


def _texts(parts: list[dict[str, Any]]) -> list[str]:
    return [part.get("text", "") for part in parts]


def wait_until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait for something that happens in another process.

    Raises:
        TimeoutError: it did not happen.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"It did not happen in {seconds:g} s.")
        time.sleep(0.05)


class _Handler(BaseHTTPRequestHandler):
    model: PlayedModel

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.model.answer_to(request)
        try:
            if answer is None:
                self._reply(400, "application/json", json.dumps({"error": {"message": "This was never answered."}}))
            else:
                wire = anthropic_events if self.path.split("?")[0].endswith("/messages") else openai_events
                self._reply(200, "text/event-stream", "".join(wire(request["model"], answer)))
        except ConnectionError:  # whoever asked is dead
            self.close_connection = True

    def _reply(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def openai_events(model: str, answer: dict[str, Any]) -> Iterator[str]:
    """An answer as a stream of chat completions."""
    text = "".join(block["text"] for block in answer["blocks"])
    base = {"id": "played", "object": "chat.completion.chunk", "created": 0, "model": model}
    for delta, finish in (({"role": "assistant", "content": text}, None), ({}, "stop")):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        yield f"data: {json.dumps({**base, 'choices': [choice]})}\n\n"
    yield "data: [DONE]\n\n"


def anthropic_events(model: str, answer: dict[str, Any]) -> Iterator[str]:
    """An answer as a stream of messages."""

    def event(kind: str, **data: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "played", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
    yield event("message_start", message={**message, "stop_reason": None, "stop_sequence": None})
    for index, block in enumerate(answer["blocks"]):
        if block["type"] == "tool_use":
            written = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": written}
        else:
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        yield event("content_block_start", index=index, content_block=empty)
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    end = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=end, usage=usage)
    yield event("message_stop")
