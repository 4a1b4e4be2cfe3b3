"""The content key of a question, with which the journal finds its answer."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.models.protocol import ModelConfig, Question

CARRIAGE = frozenset(
    {
        "api_base",
        "api_key",
        "api_version",
        "azure_ad_token",
        "base_url",
        "caching",
        "custom_llm_provider",
        "default_headers",
        "drop_params",
        "extra_headers",
        "headers",
        "max_retries",
        "metadata",
        "mock_response",
        "num_retries",
        "organization",
        "request_timeout",
        "stream",
        "stream_options",
        "timeout",
        "user",
    }
)
"""Parameters of litellm for the transport. They do not shape the answer."""


def question_key(question: Question, config: ModelConfig) -> str:
    """SHA-256, in hex, of all that shapes the answer; the same on every machine and in every process.

    The address and the key of the model, and the purpose of the question, are left out.

    Raises:
        InvalidRequest: a parameter has no JSON form.
    """
    shape: dict[str, Any] = {
        "model": config.model,
        "params": {
            "max_tokens": question.max_tokens,
            "temperature": question.temperature,
            **{name: value for name, value in config.params.items() if name not in CARRIAGE},
        },
        "messages": question.messages,
        "answer_type": question.form and question.form.schema,
        "variant": question.variant,
    }
    canonical = json.dumps(shape, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """The JSON form of a value that JSON does not support, without memory addresses and the order of sets."""
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if hasattr(value, "items"):
        return dict(value.items())
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise InvalidRequest(
        "A parameter of the model cannot be sent.",
        why=f"It is of type {type(value).__name__}, which has no JSON form.",
        hint="Give plain values in litellm_params.",
    )
