"""A language model that only repeats what it answered once: the answers of a journal, over HTTP on this machine.

It stands in for a provider in the notebooks about durable execution, which need one that can be slow, and that counts
what it is asked. A question that was not recorded gets an error, so nothing here can be made up.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class PlayedModel:
    """Serves the recorded answers of one function as OpenAI's chat completions; a context manager.

    Args:
        recorded: folder of the function, such as `.autocode/week_totals`.
    """

    def __init__(self, recorded: str | Path) -> None:
        exchanges = [exchange for journal in Path(recorded).glob("*/journal.jsonl") for exchange in read(journal)]
        self._answers = {question(exchange["messages"]): exchange for exchange in exchanges}
        self.asked: list[str] = []
        """What each question was for, in the order in which they came."""
        self._withheld: set[str] = set()
        self._free = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"model": self}))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> PlayedModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server."""
        self._free.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        """What `api_base` takes."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def withhold(self, stage: str) -> None:
        """Take very long over the next questions of a kind: `plan`, `code`, `tests`."""
        self._withheld.add(stage)
        self._free.clear()

    def answer_again(self) -> None:
        """Be as quick as ever."""
        self._withheld.clear()
        self._free.set()

    def answer_to(self, messages: list[dict[str, Any]]) -> str | None:
        """The recorded answer; None when this was never asked."""
        exchange = self._answers.get(question(messages))
        self.asked.append(exchange["stage"] if exchange else "unknown")
        if exchange and exchange["stage"] in self._withheld:
            self._free.wait()
        return exchange["answer"] if exchange else None


def read(journal: Path) -> list[dict[str, Any]]:
    """The exchanges with the model that a journal holds; a line that a crash cut short is passed over."""
    found = []
    for line in journal.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.get("kind") == "exchange":
            found.append(entry["exchange"])
    return found


def question(messages: list[dict[str, Any]]) -> str:
    """A question as text, however it is packed."""
    contents = [message["content"] for message in messages]
    return json.dumps([_texts(content) if isinstance(content, list) else [content] for content in contents])


def _texts(parts: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for part in parts]


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
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
        answer = self.model.answer_to(request["messages"])
        try:
            self._send(request, answer)
        except ConnectionError:  # whoever asked is dead
            self.close_connection = True

    def _send(self, request: dict[str, Any], answer: str | None) -> None:
        if answer is None:
            self._reply(400, "application/json", json.dumps({"error": {"message": "This was never answered."}}))
            return
        base = {"id": "played", "created": 0, "model": request["model"]}
        message = {"role": "assistant", "content": answer}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._reply(200, "application/json", json.dumps({**base, "object": "chat.completion", "choices": [choice]}))
            return
        chunks = [{"index": 0, "delta": message}, {"index": 0, "delta": {}, "finish_reason": "stop"}]
        events = [json.dumps({**base, "object": "chat.completion.chunk", "choices": [chunk]}) for chunk in chunks]
        self._reply(200, "text/event-stream", "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]))

    def _reply(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
