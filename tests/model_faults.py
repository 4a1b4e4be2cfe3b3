"""Faults of a model's service as the bytes that it sends: answers without end, signs of life without content, and
answers that are not as the protocol wants them. In OpenAI's format and in Anthropic's.
"""

from __future__ import annotations

import itertools
import json
import random
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.scripted_model import EVENTS, head_of

Wire = Callable[[], Iterable[bytes]]

WORDS = [f"word{number} " for number in range(2_000)]
DONE = b"data: [DONE]\n\n"


def sends(*parts: bytes, kind: str = EVENTS, more: tuple[str, ...] = (), status: str = "200 OK") -> Wire:
    """A response that consists of these parts."""
    return lambda: [head_of(kind, *more, status=status), *parts]


def varied_lines(count: int = 100) -> list[bytes]:
    """Chunks of an answer that neither repeats itself nor counts; the first begins with "Line 0"."""
    words = random.Random(0)
    lines = (" ".join(f"{words.getrandbits(32):08x}" for _ in range(45)) for _ in range(count))
    return [chunk({"content": f"Line {number} {line} "}) for number, line in enumerate(lines)]


def for_ever(*parts: bytes, kind: str = EVENTS, status: str = "200 OK", pace: float = 0.0) -> Wire:
    """A response that repeats these parts until the client hangs up.

    Args:
        parts: the parts.
        kind: its content type.
        status: its HTTP status.
        pace: seconds between two parts.
    """

    def wire() -> Iterator[bytes]:
        yield head_of(kind, status=status)
        for part in itertools.cycle(parts):
            time.sleep(pace)
            yield part

    return wire


def socket_buffers() -> int:
    """The most bytes that are on their way: sent by the service, and not yet read by the client."""
    limits = (Path(f"/proc/sys/net/ipv4/tcp_{side}mem") for side in "rw")
    return sum(int(limit.read_text().split()[-1]) if limit.exists() else 4 * 2**20 for limit in limits)


def endless_headers() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in itertools.count():
        yield f"X-{number}: {'y' * 1000}\r\n".encode()


def gzip_bomb() -> Iterator[bytes]:
    """A response of a few kilobytes that unpacks to any size."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield head_of(EVENTS, "Content-Encoding: gzip")
    while True:
        yield packer.compress(b" " * 2**20) + packer.flush(zlib.Z_SYNC_FLUSH)


def packed(body: bytes) -> Iterator[bytes]:
    """A response that is packed although that was not wanted."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield head_of(EVENTS, "Content-Encoding: gzip")
    yield packer.compress(body) + packer.flush()


def event(record: Any) -> bytes:
    return f"data: {json.dumps(record)}\n\n".encode()


# OpenAI's format

_CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}


def chunk(delta: Any, finish_reason: Any = None, index: int = 0) -> bytes:
    return event({**_CHUNK, "choices": [{"index": index, "delta": delta, "finish_reason": finish_reason}]})


def counted(usage: Any) -> bytes:
    return event({**_CHUNK, "choices": [], "usage": usage})


def finished(*parts: bytes, usage: Any = None) -> Wire:
    """A stream of these parts that ends as it must."""
    return sends(*parts, chunk({}, "stop"), *([] if usage is None else [counted(usage)]), DONE)


def whole(content: Any, **more: Any) -> bytes:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "c", "object": "chat.completion", "choices": [choice], **more}).encode()


# Anthropic's format


def typed(kind: str, **record: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **record})}\n\n".encode()


def begun(kind: str = "text", counts: Any = None) -> bytes:
    """The events before the first piece of a block."""
    usage = {"input_tokens": 9} if counts is None else counts
    message: dict[str, Any] = {"type": "message", "role": "assistant", "content": [], "usage": usage}
    block: dict[str, dict[str, Any]] = {
        "text": {"text": ""},
        "thinking": {"thinking": ""},
        "tool_use": {"id": "t", "name": "f", "input": {}},
    }
    start = typed("message_start", message=message)
    return start + typed("content_block_start", index=0, content_block={"type": kind, **block[kind]})


def piece(kind: str, text: str) -> bytes:
    name = {"text": "text", "thinking": "thinking", "input_json": "partial_json"}[kind]
    return typed("content_block_delta", index=0, delta={"type": f"{kind}_delta", name: text})


def ended(counts: Any = None, stop_reason: Any = "end_turn") -> bytes:
    """The events after the last piece of a block."""
    usage = {"output_tokens": 3} if counts is None else counts
    delta = {"stop_reason": stop_reason}
    return (
        typed("content_block_stop", index=0) + typed("message_delta", delta=delta, usage=usage) + typed("message_stop")
    )


# Formats of other providers


def ollama(text: str) -> bytes:
    """A piece of an answer of Ollama."""
    return json.dumps({"model": "m", "message": {"role": "assistant", "content": text}, "done": False}).encode() + b"\n"


def gemini(text: str, **more: Any) -> bytes:
    """A piece of an answer of Gemini."""
    return event({"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0, **more}]})


def after(start: bytes, repeated: Wire) -> Wire:
    """A response that begins with `start`, before what another one repeats."""

    def wire() -> Iterator[bytes]:
        parts = iter(repeated())
        yield next(parts)
        yield start
        yield from parts

    return wire
