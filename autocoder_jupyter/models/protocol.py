"""The interface of a language model, as the rest of the package uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from autocoder_jupyter.models.listener import SILENT, Listener
from autocoder_jupyter.models.schemas import AnswerForm
from autocoder_jupyter.types import Exchange


@dataclass(frozen=True)
class ModelConfig:
    """The model, its key and its address. See `AgentConfig` for the fields.

    Args:
        model, api_key, api_base, params: see `AgentConfig`; `params` are its `litellm_params`.
        seconds: the maximum seconds without content, unless `params` has a `timeout`. Reasoning models are silent for
            minutes, and the clients of OpenAI and Anthropic wait ten minutes, too.
        total_seconds: the maximum seconds of one answer. A slow local model writes 8,000 tokens in about an hour.
    """

    model: str
    api_key: str | None = None
    api_base: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)  # may contain a key
    seconds: float = 600.0
    total_seconds: float = 3600.0


@dataclass(frozen=True)
class Question:
    """One question to a model.

    Args:
        stage: its purpose; it is shown, but is not part of the key.
        messages: OpenAI-style messages. The key is made from them, the model's name, the parameters and
            `form`.
        form: the form of a structured answer; None for text.
        max_tokens: the maximum number of tokens of the answer.
        temperature: sampling temperature.
        variant: distinguishes intentional repetitions of the same question.
    """

    stage: str
    messages: tuple[Mapping[str, Any], ...]
    form: AnswerForm | None = None
    max_tokens: int = 8000
    temperature: float = 0.2
    variant: int = 0


class ExchangeStore(Protocol):
    """Stores exchanges. The engine's journal is an exchange store."""

    def find(self, key: str) -> Exchange | None:
        """The exchange recorded under a key, if any."""
        ...

    def add(self, exchange: Exchange) -> None:
        """Record an exchange durably."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether nothing is recorded at all."""
        ...


class LanguageModel(Protocol):
    """A model that can be asked. It retries transient faults; its errors are final."""

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """One complete answer; truncated answers are continued.

        Raises:
            ModelError: the model gave no usable answer; also its subclasses.
            BudgetSpent: the meter does not allow a request.
        """
        ...


class ConfiguredModel(LanguageModel, Protocol):
    """A `LanguageModel` with a known configuration, on which the keys of questions depend."""

    @property
    def config(self) -> ModelConfig:
        """The model, its key and its address."""
        ...
