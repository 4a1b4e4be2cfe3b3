"""Models with recorded answers: one that asks only for answers that are not recorded, and one that never asks."""

from __future__ import annotations

from dataclasses import replace

from autocoder_jupyter.errors import (
    AuthenticationFailed,
    AutocodeError,
    Locked,
    ModelError,
    ModelUnavailable,
    UnknownModel,
)
from autocoder_jupyter.models.faults import CUT_OFF, OnlyLonger, exchange_of
from autocoder_jupyter.models.protocol import (
    SILENT,
    ConfiguredModel,
    ExchangeStore,
    Listener,
    ModelConfig,
    Question,
    question_key,
)
from autocoder_jupyter.request import CachePolicy
from autocoder_jupyter.types import Exchange
from autocoder_jupyter.types.records import STAGES


class ReplayingModel:
    """A `LanguageModel` that replays recorded answers, else asks another model.

    Args:
        inner: asked if the store has no answer.
        policy: `auto` looks up and records; `override` only records; `disable` does neither.
    """

    def __init__(self, inner: ConfiguredModel, store: ExchangeStore, policy: CachePolicy = "auto") -> None:
        self._inner = inner
        self._store = store
        self._policy = policy

    @property
    def config(self) -> ModelConfig:
        return self._inner.config

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """The recorded exchange, marked as `replayed` and without cost, or a new one.

        Raises:
            UnusableAnswer, BudgetSpent: the answer was cut off, or the recorded answer is one that was cut off, and a
                new one could not be longer.
            ModelError: see the inner model. If it cannot be asked and the store has only other answers, the hint says
                so.
            BudgetSpent: the meter does not allow a new request.
        """
        recorded = self._store.find(question_key(question, self.config)) if self._policy == "auto" else None
        if recorded is not None and recorded.finish_reason == CUT_OFF:
            listener = replace(listener, meter=OnlyLonger(listener.meter, recorded))
        elif recorded is not None:
            listener.on_text(recorded.answer)
            # The replay costs nothing; `seconds` remains the latency of the original call.
            return recorded.as_replayed().model_copy(update={"stage": question.stage})
        try:
            exchange = await self._inner.ask(question, listener)
        except (AuthenticationFailed, UnknownModel, ModelUnavailable) as error:
            raise self._without_recording(error, question.stage) from error
        except AutocodeError as error:
            if (cut := exchange_of(error)) and not cut.replayed and self._policy != "disable":
                self._store.add(cut)
            raise
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


class LockedModel:
    """A `ConfiguredModel` that refuses every question. `ReplayingModel` answers recorded questions before it.

    Args:
        config: the model that would be asked. The keys of questions depend on it.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.config = config

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """Refuse the question.

        Raises:
            Locked: always.
        """
        asks = next((record.asks for stage, record in STAGES.items() if stage == question.stage), question.stage)
        raise Locked(
            f"{self.config.model} must be asked {asks}, but the run is locked.",
            hint="Run it once without --locked (or AUTOCODE_LOCKED), and keep the .autocode folder with the notebook.",
        )
