"""The client of language models through litellm: streams, retries, continues answers that were cut off, counts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import AutocodeError, ModelError, ModelUnavailable, UnusableAnswer
from autocoder_jupyter.models import credentials, faults, library, preflight
from autocoder_jupyter.models.cache_marks import as_sent
from autocoder_jupyter.models.continuation import CONTINUE, join
from autocoder_jupyter.models.dialect import Dialect, dialect_of
from autocoder_jupyter.models.keys import question_key
from autocoder_jupyter.models.metering import Grant, Meter, Unmetered, Worst, worst_case
from autocoder_jupyter.models.prices import OWN_PRICES, cost_of, require_price
from autocoder_jupyter.models.protocol import ModelConfig, Question
from autocoder_jupyter.models.retries import Patience
from autocoder_jupyter.models.sent import Announcer, OnSend
from autocoder_jupyter.types import Exchange, Usage

DECIDED_SECONDS = 1.0
"""The maximum seconds of the preflight check, because looking up a host name may take long."""

CONTINUATIONS = 3
"""How often an answer that was cut off is continued."""

_ROOM = ("max_completion_tokens", "max_tokens")
"""Parameters that limit the length of an answer."""

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class _Reply:
    """One response of the service."""

    text: str
    finish_reason: str
    usage: Usage


@dataclass(frozen=True)
class _Session:
    """The objects that one call of `ask` needs."""

    litellm: ModuleType
    dialect: Dialect
    key: str | None = field(repr=False)
    question: Question
    content_key: str
    on_text: Callable[[str], None] | None
    on_retry: Callable[[str, float], None] | None
    meter: Meter


class LiteLLMModel:
    """A `LanguageModel` for all providers of litellm, and for any service with OpenAI's protocol.

    Args:
        config: the model, its key and its address. `config.params` go to litellm and override the question's own.
        patience: how transient faults are retried.
        limited: whether the cost is limited. Then a model with an unknown price is not asked.
        on_loading: called with True when the import of litellm begins, and with False when it ends.
        on_send: called with each request before it is sent.
    """

    def __init__(
        self,
        config: ModelConfig,
        patience: Patience | None = None,
        *,
        limited: bool = False,
        on_loading: Callable[[bool], None] | None = None,
        on_send: OnSend | None = None,
    ) -> None:
        self._config = config
        self._patience = patience or Patience()
        self._limited = limited
        self._on_loading = on_loading
        self._on_send = on_send
        self._checked = False

    @property
    def config(self) -> ModelConfig:
        """The model, its key and its address."""
        return self._config

    async def ask(
        self,
        question: Question,
        *,
        on_text: Callable[[str], None] | None = None,
        on_retry: Callable[[str, float], None] | None = None,
        meter: Meter | None = None,
    ) -> Exchange:
        """One complete answer. A cancel closes the connection at once.

        Args:
            question: the question.
            on_text: called with pieces of the answer; after `on_retry` they start from the beginning.
            on_retry: called with the reason for a pause and its seconds.
            meter: checks each request before it is sent; without one, every request is allowed.

        Raises:
            AuthenticationFailed: no key, a refused key, or no credit. Not retried.
            UnknownModel: the hint has similar names. Not retried.
            UnusableAnswer: the question is too long, a filter stopped the answer, or it never ended. Not retried.
            ModelUnavailable: transient faults lasted too long, or nothing answers at the address.
            ModelError: the service refused for another reason, or the cost is limited and the price unknown.
            InvalidRequest: a parameter cannot be sent.
            BudgetSpent: the meter does not allow a request.
        """
        content_key = question_key(question, self._config)
        await self.preflight()
        with self._told_of_loading():
            litellm = await library.preload()
            dialect, key = await background.call_blocking(lambda: self._readied(litellm))
        session = _Session(litellm, dialect, key, question, content_key, on_text, on_retry, meter or Unmetered())
        started = time.monotonic()
        messages, reply = await self._whole_answer(session)
        seconds = time.monotonic() - started
        return Exchange(
            stage=question.stage,
            key=content_key,
            model=self._config.model,
            messages=tuple(as_sent(message, marked=False) for message in messages),
            answer=reply.text,
            finish_reason=reply.finish_reason,
            usage=reply.usage,
            seconds=seconds,
        )

    async def preflight(self) -> None:
        """Check once whether the model can be asked, before the slow import of litellm.

        The first question does this; a caller that knows that there will be a question can do it earlier. Later
        failures of the service are retried.

        Raises:
            ModelError: see `preflight.check`.
        """
        if not self._checked:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(background.call_blocking(lambda: preflight.check(self._config)), DECIDED_SECONDS)
            self._checked = True

    @contextlib.contextmanager
    def _told_of_loading(self) -> Iterator[None]:
        if self._on_loading is None or library.is_loaded():
            yield
            return
        self._on_loading(True)
        try:
            yield
        finally:
            self._on_loading(False)

    def _readied(self, litellm: ModuleType) -> tuple[Dialect, str | None]:
        """Check and import everything that is needed before a request."""
        if self._limited:
            require_price(self._config, litellm)
        library.load_client(self._config.model)
        return dialect_of(self._config, litellm), credentials.find_key(self._config, litellm)

    async def _whole_answer(self, session: _Session) -> tuple[Messages, _Reply]:
        """The messages of the last request and the joined answer."""
        asked: Messages = [dict(message) for message in session.question.messages]
        messages, room = asked, session.question.max_tokens
        answer, usage = "", Usage()
        for _ in range(1 + CONTINUATIONS):
            reply = await self._patiently(session, messages, room)
            usage += reply.usage
            answer = join(answer, reply.text)
            if reply.finish_reason != "length":
                return messages, _Reply(answer, reply.finish_reason, usage)
            if answer.strip():
                continuation = [{"role": "assistant", "content": answer}, {"role": "user", "content": CONTINUE}]
                messages = asked + continuation
            else:  # a reasoning model used all tokens for reasoning
                room *= 2
        raise UnusableAnswer(
            f"The answer of {self._config.model} was still cut off after {CONTINUATIONS} continuations.",
            why=f"Each part may have {room} tokens.",
            hint="Split the request, or raise max_tokens in litellm_params.",
        )

    async def _patiently(self, session: _Session, messages: Messages, room: int) -> _Reply:
        """One response. Transient faults are retried, refused options are left out."""
        failures, started = 0, time.monotonic()
        while True:
            offered = self._offered(session, messages, room)
            try:
                worst = await self._worst(session, messages, offered, room)
                async with session.meter.reserve(worst) as grant:
                    sent = [as_sent(message, marked=session.dialect.marks) for message in messages]
                    arguments = self._arguments(session, sent, offered, grant.room)
                    return await self._stream(session, arguments, grant)
            except AutocodeError:
                raise
            except Exception as error:
                if session.dialect.learn(error, offered):
                    continue
                fault = faults.judge(error, self._config, session.litellm)
                if isinstance(fault, ModelError):
                    raise fault from error
                failures += 1
                seconds = self._patience.pause(failures, time.monotonic() - started, fault.retry_after)
                if seconds is None:
                    raise self._unavailable(fault.reason, failures) from error
            if session.on_retry is not None:
                session.on_retry(fault.reason, seconds)
            await asyncio.sleep(seconds)

    def _offered(self, session: _Session, messages: Messages, room: int) -> dict[str, Any]:
        """The optional parameters that the model supports and the user has not set."""
        # With a schema, a continuation would begin a new object instead of completing the old one.
        whole = len(messages) == len(session.question.messages)
        optional = session.dialect.optional(session.question, room, structured=whole)
        if "max_completion_tokens" in self._config.params:
            optional.pop("max_tokens", None)
        return {name: value for name, value in optional.items() if name not in self._config.params}

    async def _worst(self, session: _Session, messages: Messages, offered: dict[str, Any], room: int) -> Worst:
        own = next((self._config.params[name] for name in _ROOM if name in self._config.params), room)
        room = own if type(own) is int else room
        schema = offered.get("response_format")
        return await background.call_blocking(lambda: worst_case(messages, schema, room, self._config, session.litellm))

    def _arguments(self, session: _Session, messages: Messages, offered: dict[str, Any], room: int) -> dict[str, Any]:
        arguments = {
            "api_base": self._config.api_base,
            "api_key": session.key,
            "timeout": self._config.seconds,
            "drop_params": True,
            **offered,
            **{name: value for name, value in self._config.params.items() if name not in OWN_PRICES},
            "model": self._config.model,
            "messages": messages,
            "stream": True,
            "num_retries": 0,
            "max_retries": 0,
            "no-log": True,
        }
        limits = {name: min(arguments[name], room) for name in _ROOM if type(arguments.get(name)) is int}
        return arguments | limits

    async def _stream(self, session: _Session, arguments: dict[str, Any], grant: Grant) -> _Reply:
        pieces: list[str] = []
        stream = await self._sent(session, arguments)
        try:
            await _read(stream, pieces, session.on_text)
        except Exception:  # the text before the error is paid for, although no usage is reported
            if pieces:
                guessed = _usage(stream, "".join(pieces), arguments["messages"]).model_copy(update={"cost": 0.0})
                grant.spend(await self._priced(guessed, session.litellm))
            raise
        text = "".join(pieces)
        usage = await self._priced(_usage(stream, text, arguments["messages"]), session.litellm)
        grant.spend(usage)
        # litellm reports "stop" even if a stream just ended; these two have the service's own value.
        finish_reason = stream.received_finish_reason or stream.intermittent_finish_reason
        if finish_reason is None:
            raise faults.EndedEarly
        if finish_reason == "content_filter":
            raise faults.filtered(self._config)
        return _Reply(text, finish_reason, usage)

    async def _priced(self, usage: Usage, litellm: ModuleType) -> Usage:
        """The usage with its cost; unchanged if the tokens were not counted."""
        if usage.cost is None:
            return usage
        cost = await background.call_blocking(lambda: cost_of(usage, self._config, litellm))
        return usage.model_copy(update={"cost": cost})

    async def _sent(self, session: _Session, arguments: dict[str, Any]) -> Any:
        """The stream of an answer; the request is reported to `on_send` first."""
        if self._on_send is None:
            return await session.litellm.acompletion(**arguments)
        announcer = Announcer(session.question.stage, session.content_key, self._on_send)
        try:
            stream = await session.litellm.acompletion(**arguments, logger_fn=announcer)
        finally:
            announcer.put_right()
        announcer.require_told(arguments)
        return stream

    def _unavailable(self, reason: str, tries: int) -> ModelUnavailable:
        place = f" Is the service at {self._config.api_base} running?" if self._config.api_base else ""
        return ModelUnavailable(
            f"{self._config.model} did not answer in {tries} {'try' if tries == 1 else 'tries'}.",
            why=f"Last: {reason}.",
            hint=f"Try again later (%autocode retry), or choose another model with -m.{place}",
        )


async def _read(stream: Any, pieces: list[str], on_text: Callable[[str], None] | None) -> None:
    pauses = background.Pauses()
    async with contextlib.aclosing(stream):
        async for chunk in stream:
            piece = chunk.choices[0].delta.content if chunk.choices else None
            if piece:
                pieces.append(piece)
                if on_text is not None:
                    on_text(piece)
            await pauses.pause_when_due()


def _usage(stream: Any, text: str, messages: Messages) -> Usage:
    """The usage that the service counted. litellm also reports guesses, so only counts in the stream are used.

    Without a count, tokens are estimated as four characters each, and the cost is None: unknown.
    """
    counts = [chunk.usage for chunk in stream.chunks if getattr(chunk, "usage", None) is not None]
    if not counts:
        asked = sum(len(str(message.get("content") or "")) for message in messages)
        return Usage(input_tokens=asked // 4 + 1, output_tokens=len(text) // 4 + 1, cost=None)
    # Anthropic's stream has the count of the question at its start and that of the answer at its end.
    details = [getattr(count, "prompt_tokens_details", None) for count in counts]
    return Usage(
        input_tokens=max(count.prompt_tokens or 0 for count in counts),
        cached_tokens=max(getattr(detail, "cached_tokens", None) or 0 for detail in details),
        written_tokens=max(getattr(detail, "cache_creation_tokens", None) or 0 for detail in details),
        output_tokens=max(count.completion_tokens or 0 for count in counts),
    )
