"""Anthropic's wire format: requests, the events of an answer, token counts.

All of it may come from an untrusted journal or service, so everything is checked.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autocoder_jupyter.models.response import size_of, valid_count
from autocoder_jupyter.types import Usage
from autocoder_jupyter.untrusted.plain_json import is_finite, parse, valid_record, valid_unicode

_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
_FIELDS = frozenset(
    (
        *("model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "thinking"),
        *("temperature", "top_p", "top_k", "stop_sequences", "context_management", "output_config"),
    )
)
_BLOCKS = frozenset(("text", "thinking", "redacted_thinking", "tool_use", "tool_result"))
_PROGRAM_HEADER = "x-anthropic-billing-header"


def without_additions(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request without what the program adds about the machine: folders, system, date, an id of the machine.

    This is not true of the sandbox, and with it the question would differ on each machine and day. Fields, tools and
    blocks with which a service fetches something, or charges more than the budget expects, are left out too.
    """
    kept = {name: part for name, part in body.items() if name in _FIELDS}
    if isinstance(tools := kept.get("tools"), list):
        kept["tools"] = [tool for tool in tools if isinstance(tool, dict) and tool.get("type", "custom") == "custom"]
    messages = body.get("messages")
    messages = messages if isinstance(messages, list) else []
    kept["messages"] = [_plain_message(message) for message in messages if not _is_the_programs(message)]
    return {name: valid_record(part) for name, part in kept.items()}


def _is_the_programs(message: Any) -> bool:
    """Whether the program added the message: for newer models these have the role `system`."""
    return isinstance(message, dict) and message.get("role") == "system"


def _plain_message(message: Any) -> Any:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return message
    return {**message, "content": [_plain_result(one) for one in content if _is_plain(one) and not _is_reminder(one)]}


def _is_plain(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _BLOCKS


def _plain_result(block: Any) -> Any:
    """The result of a tool. Our answer is its first part; for a failed call everything except a text at its end."""
    content = block.get("content") if isinstance(block, dict) and block.get("type") == "tool_result" else None
    if isinstance(content, str) and content.endswith(_REMINDER_END):
        return {**block, "content": content.rpartition(_REMINDER)[0].rstrip()}
    return {**block, "content": list(filter(_is_plain, content[:1]))} if isinstance(content, list) else block


def _is_reminder(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and str(block.get("text")).startswith(_REMINDER)


def request_key(body: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of all that shapes the answer: the model, the texts, the tools."""
    system = body.get("system")
    kept = [part for part in system if _PROGRAM_HEADER not in str(part)] if isinstance(system, list) else system
    shape = [body.get("model"), kept, body.get("messages"), body.get("tools")]
    canonical = json.dumps(_unmarked(shape), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _unmarked(value: Any) -> Any:
    """The value without cache marks, whose places vary, and without white space that the program adds at the end."""
    if isinstance(value, dict):
        return {name: _unmarked(part) for name, part in value.items() if name != "cache_control"}
    if isinstance(value, list):
        return [_unmarked(part) for part in value]
    return value.rstrip() if isinstance(value, str) else value


@dataclass
class Message:
    """An answer that is built from the events of its stream.

    Args:
        blocks: texts, thoughts and tool calls, in order.
        stop_reason: why it ended; "" until it has.
    """

    blocks: list[dict[str, Any]] = field(default_factory=list)
    stop_reason: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    _inputs: dict[int, list[str]] = field(default_factory=dict)

    def take(self, event: Mapping[str, Any]) -> str:
        """Add one event."""
        match event.get("type"):
            case "message_start":
                message = event.get("message")
                self._count(message.get("usage") if isinstance(message, dict) else None)
            case "content_block_start":
                block = event.get("content_block")
                self.blocks.append(dict(block) if isinstance(block, dict) else {})
            case "content_block_delta":
                delta = event.get("delta")
                return self._grow(delta) if self.blocks and isinstance(delta, dict) else ""
            case "content_block_stop":
                self._close()
            case "message_delta":
                delta = event.get("delta")
                self.stop_reason = str((delta if isinstance(delta, dict) else {}).get("stop_reason") or "end_turn")
                self._count(event.get("usage"))
        return ""

    def _grow(self, delta: Mapping[str, Any]) -> str:
        block, place = self.blocks[-1], len(self.blocks) - 1
        texts = {part: text for part, text in delta.items() if isinstance(text, str)}
        if "partial_json" in texts:
            self._inputs.setdefault(place, []).append(texts["partial_json"])
        for part in ("text", "thinking", "signature"):
            if part in texts:
                block[part] = str(block.get(part) or "") + texts[part]
        return texts.get("text", "")

    def _close(self) -> None:
        place = len(self.blocks) - 1
        if place in self._inputs:
            self.blocks[place]["input"] = _tool_input("".join(self._inputs.pop(place)))

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            counts = {name: valid_count(count) for name, count in usage.items()}
            self.counts |= {name: count for name, count in counts.items() if count is not None}

    def repair(self) -> None:
        """Make the message one that can be recorded and passed on: blocks with a type, valid Unicode, known fields."""
        self.blocks = [_repaired(block) for block in self.blocks if isinstance(block.get("type"), str)]
        self.stop_reason = valid_unicode(self.stop_reason)[:100]

    @property
    def question_tokens(self) -> int | None:
        """The counted tokens of the question; None if they were not counted."""
        if not self.counts:
            return None
        cached, fresh = self.counts.get("cache_read_input_tokens", 0), self.counts.get("input_tokens", 0)
        return fresh + cached + self.written_to_cache

    @property
    def answer_tokens(self) -> int | None:
        """The counted tokens of the answer; None if they were not counted."""
        return self.counts.get("output_tokens")

    def with_cached(self, usage: Usage) -> Usage:
        """The usage with the number of tokens that were read from a cache."""
        if usage.cost is None:
            return usage
        return usage.model_copy(update={"cached_tokens": self.counts.get("cache_read_input_tokens", 0)})

    @property
    def written_to_cache(self) -> int:
        """Input tokens that were written to the cache, for which the service charges extra."""
        return self.counts.get("cache_creation_input_tokens", 0)

    @property
    def text(self) -> str:
        """The text of the answer."""
        return "".join(str(block.get("text") or "") for block in self.blocks if block.get("type") == "text")

    @property
    def size(self) -> int:
        """Bytes of the content."""
        return sum(map(size_of, self.blocks))


def _tool_input(written: str) -> dict[str, Any]:
    """The arguments of a tool call; empty if they are not a JSON object."""
    try:
        given = parse(written or "{}")
    except ValueError:
        return {}
    return given if isinstance(given, dict) and is_finite(given) else {}  # the program would not read NaN


def _repaired(block: dict[str, Any]) -> dict[str, Any]:
    block = valid_record(block)
    for part in ("text", "thinking", "signature"):
        if part in block:
            block[part] = block[part] if isinstance(block[part], str) else ""
    if block["type"] == "tool_use":
        block["input"] = block["input"] if isinstance(block.get("input"), dict) else {}
    return block


def content_size(event: Mapping[str, Any]) -> int:
    """Bytes of the content in an event."""
    part = event.get("delta") if event.get("type") == "content_block_delta" else event.get("content_block")
    return size_of(part) if isinstance(part, dict) else 0


def message_of(body: bytes) -> Message | None:
    """The message in a response that was not streamed; None if there is none."""
    try:
        whole = parse(body)
    except ValueError:
        return None
    blocks = whole.get("content") if isinstance(whole, dict) and whole.get("type") == "message" else None
    if not isinstance(blocks, list) or not whole.get("stop_reason"):
        return None
    message = Message([dict(block) for block in blocks if isinstance(block, dict)], str(whole["stop_reason"]))
    message.take({"type": "message_start", "message": whole})
    return message


def recorded_message(step: Mapping[str, Any] | None) -> Message | None:
    """A recorded answer; None if the record is not valid."""
    blocks = (step or {}).get("blocks")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) and "type" in block for block in blocks):
        return None
    return Message(blocks, str((step or {}).get("stop_reason") or "end_turn"))


def readable_message(message: Any) -> dict[str, Any]:
    """A message of a request as text for the user."""
    content = message.get("content") if isinstance(message, dict) else ""
    role = str(message.get("role")) if isinstance(message, dict) else ""
    return {"role": role, "content": readable(content) if isinstance(content, list) else str(content)}


def readable(blocks: Sequence[Any]) -> str:
    """Texts, tool calls and their results as text for the user."""
    return "\n\n".join(filter(None, map(_readable_block, blocks)))


def _readable_block(block: Any) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "tool_use", "name": str(name), "input": dict(given)}:
            arguments = "\n".join(f"{key}: {value}" for key, value in given.items())
            return f"[{name.rpartition('__')[2]}]\n{arguments}"
        case {"type": "tool_result", "content": list(content)}:
            return f"[result]\n{readable(content)}"
        case {"type": "tool_result", "content": content}:
            return f"[result]\n{content}"
    return ""


def events_of(message: Message, model: str) -> Iterator[dict[str, Any]]:
    """The events with which a service would stream an answer."""
    whole = whole_message(message, model)
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(message.blocks):
        start, deltas = _parts(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message.stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def _parts(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The start of a block, and the deltas that fill it."""
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": block.get("text", "")}]
        case "tool_use":
            written = json.dumps(block.get("input", {}), ensure_ascii=False)
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": written}]
        case "thinking":
            thoughts = {"type": "thinking_delta", "thinking": block.get("thinking", "")}
            signed = {"type": "signature_delta", "signature": block.get("signature", "")}
            return {"type": "thinking", "thinking": "", "signature": ""}, [thoughts, signed]
        case _:
            return dict(block), []


def event_bytes(event: Mapping[str, Any]) -> bytes:
    """An event as bytes of a stream."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def whole_message(message: Message, model: str) -> dict[str, Any]:
    """An answer as a service's response to a request without streaming."""
    counts = {"input_tokens": 0, "output_tokens": 0, **message.counts}
    head = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": model}
    body = {"content": message.blocks, "stop_reason": message.stop_reason, "stop_sequence": None}
    return {**head, **body, "usage": counts}


class EventReader:
    """Finds the events in the bytes of a stream."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any] | None]:
        """Add data. Yields the events that are now complete. None stands for one that cannot be read."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                try:
                    event = parse(line[5:].decode("utf-8", "replace"), is_piece=True)
                except ValueError:
                    event = None
                yield event if isinstance(event, dict) else None
