"""The maximum cost of a request to a model, and the interface that allows requests before they are sent."""

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
"""A safety factor: an estimate may be ten percent too low, and writing input to a cache costs a quarter more."""

_AROUND_A_MESSAGE = 8


@dataclass(frozen=True)
class Worst:
    """The maximum usage of one request: its question, and an answer of full length. Costs in US dollars."""

    question: Usage
    answer: Usage


@dataclass(frozen=True)
class Grant:
    """Permission for one request.

    Args:
        room: the maximum number of tokens of its answer.
        spend: called with the usage of the request, once it is known.
    """

    room: int
    spend: Callable[[Usage], None]


class Meter(Protocol):
    """Allows requests. The engine's budget is a meter."""

    def reserve(self, worst: Worst) -> AbstractAsyncContextManager[Grant]:
        """Permission for one request, as long as the context lasts. Entering it may wait.

        Raises:
            BudgetSpent: too little is left.
        """
        ...


class Unmetered:
    """A meter that allows every request."""

    def reserve(self, worst: Worst) -> AbstractAsyncContextManager[Grant]:
        """Permission without a wait."""
        return nullcontext(Grant(worst.answer.output_tokens, lambda usage: None))


def worst_case(
    messages: Iterable[Mapping[str, Any]], schema: object, room: int, config: ModelConfig, litellm: ModuleType
) -> Worst:
    """The maximum usage of one request. Blocks like `cost_of`.

    Args:
        messages: the messages of the request.
        schema: the schema that is sent with them, if any.
        room: the maximum number of tokens of the answer.
        config: the model.
        litellm: the litellm module, for the price.
    """
    texts = [str(message.get("content") or "") for message in messages]
    texts += [json.dumps(schema, default=str)] if schema is not None else []
    asked = round(MARGIN * sum(estimate_tokens(text) + _AROUND_A_MESSAGE for text in texts))
    question, answer = Usage(input_tokens=asked), Usage(output_tokens=room)
    return Worst(
        question.model_copy(update={"cost": cost_of(question, config, litellm)}),
        answer.model_copy(update={"cost": cost_of(answer, config, litellm)}),
    )
