"""Asks until the answer can be read: in a repair, the model sees its answer and what is wrong with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.listener import SILENT, Listener
from autocoder_jupyter.models.protocol import LanguageModel, Question
from autocoder_jupyter.types import Exchange

REPAIRS = 2
"""The maximum number of repairs after the first answer."""

_SHOWN = 160

T = TypeVar("T")


class Unreadable(ValueError):
    """An answer cannot be used; the message is text for the model."""


async def ask_until_readable(
    model: LanguageModel,
    question: Question,
    read: Callable[[str], T],
    *,
    listener: Listener = SILENT,
) -> tuple[T, tuple[Exchange, ...]]:
    """Ask until `read` accepts an answer.

    Args:
        model: the model to ask.
        question: the first question.
        read: reads an answer; it raises `Unreadable` if the answer cannot be used.
        listener: follows all its answers.

    Returns:
        The result of `read`, and all exchanges.

    Raises:
        UnusableAnswer: no answer can be used after `REPAIRS` repairs.
        ModelError: see `LanguageModel.ask`.
    """
    exchanges: list[Exchange] = []
    asked = question
    while True:
        exchange = await model.ask(asked, listener)
        exchanges.append(exchange)
        try:
            return read(exchange.answer), tuple(exchanges)
        except Unreadable as error:
            if len(exchanges) > REPAIRS:
                begins = _beginning(exchange.answer)
                raise UnusableAnswer(
                    f"The answer of {exchange.model} ({question.stage}) is unusable, also after {REPAIRS} repairs.",
                    why=f"{error}\nIt begins: {begins}" if begins else "It is empty.",
                    hint="Try again (%autocode retry), or choose a stronger model with -m.",
                ) from None
            # Only the last failure is appended to the first question, so that the prompt does not grow.
            asked = _with_complaint(question, exchange.answer, str(error), len(exchanges))


def _beginning(answer: str) -> str:
    """The beginning of an answer. It shows the reason if the model refused."""
    words = " ".join(answer[:1000].split())
    return words[:_SHOWN] + "…" if len(words) > _SHOWN else words


def _with_complaint(question: Question, answer: str, complaint: str, repair: int) -> Question:
    said = {"role": "assistant", "content": answer if answer.strip() else "(nothing)"}
    reply = {"role": "user", "content": f"This cannot be used. {complaint}\nGive the whole corrected answer."}
    # Two equal bad answers make equal messages; the variant makes the second repair a different question.
    variant = question.variant * (REPAIRS + 1) + repair
    return dataclasses.replace(question, messages=(*question.messages, said, reply), variant=variant)
