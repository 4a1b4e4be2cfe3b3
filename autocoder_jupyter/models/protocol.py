"""The interface of a language model, as the rest of the package uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from autocoder_jupyter.types import Exchange

if TYPE_CHECKING:
    from autocoder_jupyter.models.metering import Meter


@dataclass(frozen=True)
class ModelConfig:
    """Which model, and how to reach it. See `AgentConfig` for the fields."""

    model: str
    api_key: str | None = None
    api_base: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)  # a key may be among them
    seconds: float = 180.0


@dataclass(frozen=True)
class Question:
    """One thing to ask.

    Args:
        stage: what it is for; part of what is shown, not of the key.
        messages: OpenAI-style messages. Their bytes, with the model's name, the parameters and `answer_type`, make
            the key.
        answer_type: pydantic model of a structured answer; None for text.
        max_tokens: the maximum number of tokens of the answer.
        temperature: sampling temperature.
        variant: distinguishes an intentional second asking of the same question.
    """

    stage: str
    messages: tuple[Mapping[str, Any], ...]
    answer_type: type[BaseModel] | None = None
    max_tokens: int = 8000
    temperature: float = 0.2
    variant: int = 0


class ExchangeStore(Protocol):
    """Where exchanges are remembered; the engine's journal is one."""

    def find(self, key: str) -> Exchange | None:
        """The exchange recorded under a key, if any."""
        ...

    def add(self, exchange: Exchange) -> None:
        """Record one, durably."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether nothing is recorded at all."""
        ...


class LanguageModel(Protocol):
    """Asks. Transient faults are retried inside; what is raised is final."""

    async def ask(
        self,
        question: Question,
        *,
        on_text: Callable[[str], None] | None = None,
        on_retry: Callable[[str, float], None] | None = None,
        meter: Meter | None = None,
    ) -> Exchange:
        """One whole answer: truncated ones are continued, streamed pieces go to `on_text`.

        Each request that goes out, continuations and repeated tries too, is allowed by `meter` before, and told to it.

        Raises:
            ModelError: one of its kinds.
            BudgetSpent: the meter does not allow it.
        """
        ...


class ConfiguredModel(LanguageModel, Protocol):
    """A `LanguageModel` that says which model it asks; the key of a question depends on it."""

    @property
    def config(self) -> ModelConfig:
        """Which model, and how it is reached."""
        ...
