"""Reads an answer in the bytes of a response that litellm could not read.

For instance plain JSON instead of a stream, text as a list of parts, or a broken event after the end.

Only OpenAI's format and a message of Anthropic are known. An answer of which a part may be missing is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.untrusted.plain_json import parse

_PAGE = re.compile(rb"\s*(?:<!doctype html|<html)", re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]{0,200}>([^<]{1,200})", re.IGNORECASE)
_TITLE_WITHIN = 20_000


@dataclass(frozen=True)
class PlainAnswer:
    """An answer.

    Args:
        text: its text.
        finish_reason: why it ended.
        counts: the service's usage object, with OpenAI's names; empty if it has none.
    """

    text: str
    finish_reason: str
    counts: Mapping[str, Any]


def read_answer(body: bytes) -> PlainAnswer | None:
    """The answer in a response; None if there is none, or a part of it may be missing."""
    texts: list[str] = []
    finish_reason: object = ""
    counts: Mapping[str, Any] = {}
    for record in _records(body):
        if record is None or "error" in record:
            if finish_reason:
                break
            return None
        choice = _choice(record)
        texts.append(_text(choice.get("content")))
        finish_reason = finish_reason or choice.get("finish_reason") or ""
        counts = _counts(record["usage"]) if isinstance(record.get("usage"), dict) else counts
    text = "".join(texts)
    return PlainAnswer(text, str(finish_reason), counts) if text and finish_reason else None


def page_title(body: bytes) -> str | None:
    """The title of an HTML page, "" if it has none; None if the response is no HTML page."""
    if not _PAGE.match(body[:1000]):
        return None
    title = _TITLE.search(body[:_TITLE_WITHIN])
    return " ".join(title[1].decode("utf-8", "replace").split()) if title else ""


def _records(body: bytes) -> Iterator[dict[str, Any] | None]:
    """The whole body as JSON, or each event of a stream. None stands for an event that cannot be read."""
    text = body.decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        yield _object(text)
        return
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            yield _object(data)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = parse(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _choice(record: Mapping[str, Any]) -> dict[str, Any]:
    """The content and the finish reason of the first choice, or of Anthropic's message."""
    choices = record.get("choices")
    if not isinstance(choices, list):
        return {"content": record.get("content"), "finish_reason": _reason(record.get("stop_reason"))}
    for choice in choices:
        if isinstance(choice, dict) and choice.get("index", 0) == 0:
            said = choice.get("message") or choice.get("delta")
            content = said.get("content") if isinstance(said, dict) else choice.get("text")
            return {"content": content, "finish_reason": choice.get("finish_reason")}
    return {}


def _counts(usage: Mapping[str, Any]) -> Mapping[str, Any]:
    """The counts with OpenAI's names."""
    other = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
    return {**other, **usage}


def _reason(stop_reason: object) -> object:
    return {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}.get(str(stop_reason), stop_reason)


def _text(content: object) -> str:
    """The text of a content: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))
