"""A small HTTP server on the loopback, for one program that asks one question at a time."""

from __future__ import annotations

import asyncio
import hmac
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from autocoder_jupyter.engines.claude import wire

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


def _error(kind: str, said: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": said}}).encode()


async def _send(writer: StreamWriter, status: int, body: bytes, kind: str = "application/json") -> None:
    head = f"HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}x-should-retry: false\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
