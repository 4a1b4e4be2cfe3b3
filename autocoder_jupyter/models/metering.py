"""What a request to a model may cost at most, and who allows it: asked before each request that goes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

from autocoder_jupyter.data.tokens import estimate_tokens
from autocoder_jupyter.models.prices import cost_of
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.types import Usage

MARGIN = 1.4
"""An estimate may be ten percent too low, and what a provider writes into its cache costs a quarter more."""

_AROUND_A_MESSAGE = 8


@dataclass(frozen=True)
class Worst:
    """The most that one request can use: its question, and an answer of full length. Costs in US dollars."""

    question: Usage
    answer: Usage


@dataclass(frozen=True)
class Grant:
    """Leave for one request.

    Args:
        room: tokens that its answer may have.
        spend: is told what the request used, once that is known.
    """

    room: int
    spend: Callable[[Usage], None]


class Meter(Protocol):
    """Allows requests; the engine's budget is one."""

    def reserve(self, worst: Worst) -> AbstractAsyncContextManager[Grant]:
        """Leave for one request, for as long as the context lasts; entering it may wait.

        Raises:
            BudgetSpent: there is not enough left.
        """
        ...


class Unmetered:
    """Allows everything."""

    def reserve(self, worst: Worst) -> AbstractAsyncContextManager[Grant]:
        """Leave at once."""
        return nullcontext(Grant(worst.answer.output_tokens, lambda usage: None))


def worst_case(
    messages: Iterable[Mapping[str, Any]], schema: object, room: int, config: ModelConfig, litellm: ModuleType
) -> Worst:
    """What one request can use at most. Blocks like `cost_of`.

    Args:
        messages: what is sent.
        schema: that goes with them, if any.
        room: tokens that the answer may have.
        config: which model.
        litellm: knows its price.
    """
    texts = [str(message.get("content") or "") for message in messages]
    texts += [json.dumps(schema, default=str)] if schema is not None else []
    asked = round(MARGIN * sum(estimate_tokens(text) + _AROUND_A_MESSAGE for text in texts))
    question, answer = Usage(input_tokens=asked), Usage(output_tokens=room)
    return Worst(
        question.model_copy(update={"cost": cost_of(question, config, litellm)}),
        answer.model_copy(update={"cost": cost_of(answer, config, litellm)}),
    )
