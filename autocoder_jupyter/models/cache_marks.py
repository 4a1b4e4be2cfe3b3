"""Marks for prompt caching: how much of the beginning of a question is shared with other questions.

Most providers keep beginnings by themselves. Anthropic's models keep what ends with a mark (`cache_control`), for five
minutes; to write it costs a quarter more than to read it anew, and to read it from there a tenth.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

SHARED = "shared"
"""Key of a message beside `content`: the number of characters at its start that other questions begin with too."""

_MARK = {"type": "ephemeral"}

_ALWAYS = frozenset({"anthropic"})
_WHERE_LISTED = frozenset({"azure_ai", "bedrock", "bedrock_converse", "openrouter", "vertex_ai"})
"""Providers that pass a mark on; for models of others than Anthropic it means something else, or costs storage."""


def wants_marks(model: str, litellm: ModuleType) -> bool:
    """Whether a model keeps beginnings, and only marked ones. Blocks like all of litellm's tables."""
    try:
        _, provider, _, _ = litellm.get_llm_provider(model)
    except Exception:  # of many kinds; the call itself reports an unknown provider
        return False
    if provider in _ALWAYS:
        return True
    return provider in _WHERE_LISTED and "claude" in model.lower() and bool(_lists_caching(model, litellm))


def _lists_caching(model: str, litellm: ModuleType) -> bool:
    return bool(litellm.utils.supports_prompt_caching(model))


def as_sent(message: Mapping[str, Any], *, marked: bool) -> dict[str, Any]:
    """A message as it goes to litellm: what it shares with other questions marked, or not told at all."""
    plain = {name: value for name, value in message.items() if name != SHARED}
    length, content = message.get(SHARED, 0), message.get("content")
    if not (marked and length and isinstance(content, str)):
        return plain
    parts = [{"type": "text", "text": content[:length], "cache_control": _MARK}]
    parts += [{"type": "text", "text": content[length:]}] if content[length:] else []
    return {**plain, "content": parts}
