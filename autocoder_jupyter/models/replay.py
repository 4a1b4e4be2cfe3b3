"""A model with a store of answers: a question with a stored answer is not sent again."""

from __future__ import annotations

from collections.abc import Callable

from autocoder_jupyter.errors import AuthenticationFailed, ModelError, ModelUnavailable, UnknownModel
from autocoder_jupyter.models.keys import question_key
from autocoder_jupyter.models.metering import Meter
from autocoder_jupyter.models.protocol import ConfiguredModel, ExchangeStore, ModelConfig, Question
from autocoder_jupyter.request import CachePolicy
from autocoder_jupyter.types import Exchange, Usage


class ReplayingModel:
    """A `LanguageModel` that replays stored answers, else asks another model.

    Args:
        inner: asked if the store has no answer.
        store: looks up and records exchanges.
        policy: `auto` looks up and records; `override` only records; `disable` does neither.
    """

    def __init__(self, inner: ConfiguredModel, store: ExchangeStore, policy: CachePolicy = "auto") -> None:
        self._inner = inner
        self._store = store
        self._policy = policy

    @property
    def config(self) -> ModelConfig:
        """The configuration of the inner model."""
        return self._inner.config

    async def ask(
        self,
        question: Question,
        *,
        on_text: Callable[[str], None] | None = None,
        on_retry: Callable[[str, float], None] | None = None,
        meter: Meter | None = None,
    ) -> Exchange:
        """The recorded exchange, marked as `replayed` and without cost, or a new one.

        Raises:
            ModelError: see the inner model. If it cannot be asked and the store has only other answers, the hint says
                so.
            BudgetSpent: the meter does not allow a new request.
        """
        if self._policy == "auto" and (recorded := self._store.find(question_key(question, self.config))):
            if on_text is not None:
                on_text(recorded.answer)
            # The replay costs nothing; `seconds` remains the latency of the original call.
            return recorded.model_copy(update={"stage": question.stage, "replayed": True, "usage": Usage()})
        try:
            exchange = await self._inner.ask(question, on_text=on_text, on_retry=on_retry, meter=meter)
        except (AuthenticationFailed, UnknownModel, ModelUnavailable) as error:
            raise self._without_recording(error, question.stage) from error
        if self._policy != "disable":
            self._store.add(exchange)
        return exchange

    def _without_recording(self, error: ModelError, stage: str) -> ModelError:
        if self._policy != "auto" or self._store.is_empty:
            return error
        note = (
            f"The journal has no answer to this question ({stage}) either: "
            "the request, the data, the prompts or the model's name differ from what was recorded."
        )
        return type(error)(error.what, why=error.why, hint=f"{error.hint} {note}".strip())
