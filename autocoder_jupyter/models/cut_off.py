"""Answers that were cut off: paid for, not usable, and recorded so that no run pays for the same again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from autocoder_jupyter.errors import AutocodeError, BudgetSpent, UnusableAnswer
from autocoder_jupyter.models.keys import question_key
from autocoder_jupyter.models.metering import Grant, Meter, Worst
from autocoder_jupyter.models.protocol import ModelConfig, Question
from autocoder_jupyter.types import STOPPED, Exchange, Usage

CUT_OFF = "cut off"
"""The finish reason of an answer that was cut off."""

_KEPT = "It was paid for, so a run of the same cell does not ask again."


class CutOff(Exception):
    """The cause of the error for an answer that was cut off.

    Args:
        exchange: the exchange, with the part that arrived.
    """

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange.finish_reason)
        self.exchange = exchange

    def __reduce__(self) -> tuple[object, ...]:
        return CutOff, (self.exchange,)


def cut_off_error(exchange: Exchange, why: str, *, shortened: bool) -> AutocodeError:
    """The error for an answer that was cut off. Its cause is a `CutOff`.

    Args:
        exchange: the exchange.
        why: what was exceeded.
        shortened: whether the answer could have fewer tokens than usual, because of the budget.
    """
    error: AutocodeError
    if shortened:
        error = BudgetSpent(
            f"An answer of {exchange.model} was stopped, because no more of the budget was left for it.",
            why=why,
            hint=f"{_KEPT} Raise max_tokens or max_cost, and run the cell again.",
        )
    else:
        error = UnusableAnswer(
            f"An answer of {exchange.model} was stopped, because it did not end.",
            why=why,
            hint=f"{_KEPT} Ask again with %autocode retry, or choose another model with -m.",
        )
    error.__cause__ = CutOff(exchange)
    return error


def exchange_of(error: BaseException) -> Exchange | None:
    """The exchange with the answer that was cut off, if that is the cause of this error."""
    return error.__cause__.exchange if isinstance(error.__cause__, CutOff) else None


def stopped(question: Question, config: ModelConfig, spent: Usage, seconds: float) -> Exchange:
    """The exchange of a question whose caller stopped waiting. It is recorded, and asked again.

    Args:
        question: the question.
        config: the model.
        spent: the tokens that were charged; those of the answer are estimated from what arrived.
        seconds: how long the caller waited.
    """
    return Exchange(
        stage=question.stage,
        key=question_key(question, config),
        model=config.model,
        messages=tuple(dict(message) for message in question.messages),
        answer="",
        finish_reason=STOPPED,
        usage=spent,
        seconds=seconds,
    )


@dataclass(frozen=True)
class OnlyLonger:
    """A meter that allows a question only if its answer may be longer than the one that was cut off.

    Args:
        meter: the meter that decides then.
        cut: the exchange that was cut off.
    """

    meter: Meter
    cut: Exchange

    @asynccontextmanager
    async def reserve(self, worst: Worst) -> AsyncIterator[Grant]:
        """Permission for one request.

        Raises:
            UnusableAnswer, BudgetSpent: the answer would be cut off again.
        """
        async with self.meter.reserve(worst) as grant:
            room = self.cut.room or 0
            if grant.room <= room:
                recorded = self.cut.as_replayed()
                why = f"It had {room:,} tokens. That is recorded in the journal."
                raise cut_off_error(recorded, why, shortened=room < worst.answer.output_tokens)
            yield grant
