"""The model of a conversation: litellm or a function of the user, with recorded answers replayed."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import ModelError
from autocoder_jupyter.models.protocol import SILENT, Listener, ModelConfig, Question, question_key
from autocoder_jupyter.types import Exchange, Usage
from autocoder_jupyter.untrusted.plain_json import valid_unicode

CallLLM = Callable[[str, str, list[dict[str, str]]], "Awaitable[str] | str"]
"""`await call_llm(model, system, messages)` returns the model's answer. A blocking function is also accepted."""


class CalledModel:
    """A `ConfiguredModel` that calls a function of the user. Tokens and cost are unknown.

    Args:
        call: the function.
        config: names the model; the keys of questions depend on it.
    """

    def __init__(self, call: CallLLM, config: ModelConfig) -> None:
        self._call = call
        self.config = config

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """One answer.

        Raises:
            ModelError: the function raised an exception, or did not return a text.
        """
        system, messages = _split(question.messages)
        started = time.monotonic()
        try:
            answer = await self._answer(system, messages)
        except Exception as error:
            raise ModelError(f"call_llm failed: {type(error).__name__}: {error}.") from error
        if not isinstance(answer, str):
            raise ModelError(f"call_llm must return a text, not {type(answer).__name__}.")
        answer = valid_unicode(answer)
        listener.on_text(answer)
        return Exchange(
            stage=question.stage,
            key=question_key(question, self.config),
            model=self.config.model,
            messages=tuple(dict(message) for message in question.messages),
            answer=answer,
            usage=Usage(cost=None),
            seconds=time.monotonic() - started,
        )

    async def _answer(self, system: str, messages: list[dict[str, str]]) -> Any:
        if inspect.iscoroutinefunction(self._call):
            return await self._call(self.config.model, system, messages)
        answer = await background.call_blocking(lambda: self._call(self.config.model, system, messages))
        return await answer if inspect.isawaitable(answer) else answer


def _split(messages: tuple[Mapping[str, Any], ...]) -> tuple[str, list[dict[str, str]]]:
    """The system text, and the messages after it."""
    system = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "system")
    return system, [dict(message) for message in messages if message["role"] != "system"]
