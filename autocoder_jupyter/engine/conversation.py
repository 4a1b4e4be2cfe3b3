"""The conversation with a model: every exchange is checked against the budget, counted, emitted and kept."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar, cast

from pydantic import BaseModel

from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.models.answers import ask_code, ask_structured, cut_question
from autocoder_jupyter.models.faults import exchange_of, stopped
from autocoder_jupyter.models.protocol import SILENT, ConfiguredModel, Listener, Question, SummingMeter
from autocoder_jupyter.models.silence import SilenceWatch
from autocoder_jupyter.run.events import Emit, Noticed, Retrying, TextStreamed, TokensUsed
from autocoder_jupyter.types import Exchange, Usage
from autocoder_jupyter.types.records import StageName

Answer = TypeVar("Answer", bound=BaseModel)

Messages = tuple[Mapping[str, str], ...]


class Conversation:
    """A `LanguageModel` that meters another one; the stages of the engine talk through it.

    Args:
        budget: allows each request, and is charged for it.
        emit: gets events for streamed text, retries and tokens.
        silence: watches for questions without an answer.
        record: keeps a question whose answer is no longer awaited; see `Journal.add_stopped`.

    Attributes:
        exchanges: all exchanges so far.
        has_asked: set when its first question is sent, or has an answer without that.
    """

    def __init__(
        self,
        model: ConfiguredModel,
        budget: Budget,
        emit: Emit,
        record: Callable[[Exchange], object] = lambda exchange: None,
        silence: SilenceWatch | None = None,
    ) -> None:
        self._silence = silence or SilenceWatch(emit)
        self._model = model
        self._budget = budget
        self._emit = emit
        self._record = record
        self.exchanges: list[Exchange] = []
        self.has_asked = asyncio.Event()
        self._was_cut = False

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """Run one exchange; see `LanguageModel.ask`. The budget is the meter, in place of the listener's.

        Raises:
            BudgetSpent: too little of the budget is left.
        """
        stage = cast(StageName, question.stage)
        metered = replace(listener, meter=self._budget)
        return await self._silence.follow(stage, metered, lambda followed: self._ask_once(question, followed))

    async def _ask_once(self, question: Question, listener: Listener) -> Exchange:
        sent = self.has_asked.set
        meter, began = SummingMeter(listener.meter, sent), time.monotonic()
        try:
            exchange = await self._model.ask(question, replace(listener, meter=meter))
        except BaseException as error:  # also a cancel: what arrived is paid for
            if (partial := exchange_of(error)) is not None:
                self.note(partial)
            elif meter.spent != Usage():
                without_answer = stopped(question, self._model.config, meter.spent, time.monotonic() - began)
                self.note(without_answer)
                with contextlib.suppress(AutocodeError):  # the reason why it was stopped matters more
                    self._record(without_answer)
            raise
        finally:
            sent()
        self.note(exchange)
        return exchange

    def note(self, exchange: Exchange) -> None:
        """Keep an exchange and emit it; also used for exchanges that did not go through this object."""
        self.exchanges.append(exchange)
        stage, used = cast(StageName, exchange.stage), self._budget.used
        self._emit(TokensUsed(stage, exchange.usage, used, exchange.seconds, exchange.replayed))
        if (cut := cut_question(exchange)) and not self._was_cut:
            self._was_cut = True
            self._emit(Noticed(f"{cut} Start the server with a larger context window."))

    def charged(self, stage: StageName, usage: Usage) -> None:
        """Emit the tokens of an answer that is not complete. The budget has them already."""
        self._emit(TokensUsed(stage, usage, self._budget.used))

    @property
    def spent(self) -> Usage:
        """The sum of all exchanges."""
        return sum((exchange.usage for exchange in self.exchanges), Usage())

    async def structured(
        self,
        stage: StageName,
        messages: Messages,
        answer_type: type[Answer],
        *,
        require: Callable[[Answer], object] | None = None,
        variant: int = 0,
    ) -> Answer:
        """A structured answer. If `require` raises `Unreadable`, the model is asked again.

        Another `variant` asks the same question again.
        """
        question = Question(stage=stage, messages=messages, variant=variant)
        answer, _ = await ask_structured(
            self,
            question,
            answer_type,
            require=require,
            listener=self.listener(stage),
        )
        return answer

    async def code(
        self, stage: StageName, messages: Messages, *, must_define: str | None = None, variant: int = 0
    ) -> str:
        """A Python module. Another `variant` asks the same question again."""
        question = Question(stage=stage, messages=messages, variant=variant)
        code, _ = await ask_code(self, question, must_define=must_define, listener=self.listener(stage))
        return code

    def listener(self, stage: StageName) -> Listener:
        """Emits the text and the retries of an answer."""
        return Listener(
            lambda text: self._emit(TextStreamed(stage, text)),
            lambda reason, seconds: self._emit(Retrying(stage, reason, seconds)),
        )
