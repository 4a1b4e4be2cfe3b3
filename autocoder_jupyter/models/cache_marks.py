"""Marks for prompt caching: which beginning of a question is shared with other questions.

Most providers cache beginnings automatically. Anthropic's models cache only text up to a mark (`cache_control`), for
five minutes. Writing to the cache costs a quarter more than uncached input; reading from it costs a tenth.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

SHARED = "shared"
"""Key of a message besides `content`: the number of characters at its start that other questions share."""

_MARK = {"type": "ephemeral"}

_ALWAYS = frozenset({"anthropic"})
_WHERE_LISTED = frozenset({"azure_ai", "bedrock", "bedrock_converse", "openrouter", "vertex_ai"})
"""Providers that pass a mark on. For models that are not Anthropic's a mark has another meaning, or costs storage."""


def wants_marks(model: str, litellm: ModuleType) -> bool:
    """Whether a model caches only marked beginnings. Blocks, because it reads litellm's tables."""
    try:
        _, provider, _, _ = litellm.get_llm_provider(model)
    except Exception:  # of many types; the call itself reports an unknown provider
        return False
    if provider in _ALWAYS:
        return True
    return provider in _WHERE_LISTED and "claude" in model.lower() and bool(_lists_caching(model, litellm))


def _lists_caching(model: str, litellm: ModuleType) -> bool:
    return bool(litellm.utils.supports_prompt_caching(model))


def as_sent(message: Mapping[str, Any], *, marked: bool) -> dict[str, Any]:
    """A message in litellm's form: its shared part is marked if `marked`, else the information is dropped."""
    plain = {name: value for name, value in message.items() if name != SHARED}
    length, content = message.get(SHARED, 0), message.get("content")
    if not (marked and length and isinstance(content, str)):
        return plain
    parts = [{"type": "text", "text": content[:length], "cache_control": _MARK}]
    parts += [{"type": "text", "text": content[length:]}] if content[length:] else []
    return {**plain, "content": parts}
