"""The client of language models through litellm: it streams answers, retries, continues and counts them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import AutocodeError, BudgetSpent, ModelError, ModelUnavailable, UnusableAnswer
from autocoder_jupyter.models import faults, library, preflight, response
from autocoder_jupyter.models.catalogue import unlisted
from autocoder_jupyter.models.faults import CUT_OFF, RetryPolicy, cut_off_error
from autocoder_jupyter.models.library import cost_of, require_price, worst_case
from autocoder_jupyter.models.protocol import (
    SILENT,
    AnswerLimits,
    Grant,
    Listener,
    ModelConfig,
    Question,
    WorstCase,
    question_key,
)
from autocoder_jupyter.models.questions import (
    CONTINUE,
    Dialect,
    OnSend,
    RequestReporter,
    as_sent,
    dialect_of,
    has_closed_block,
    join,
)
from autocoder_jupyter.models.response import ResponseReader, ServiceResponse
from autocoder_jupyter.settings.config import OWN_PRICES
from autocoder_jupyter.types import Exchange, Usage

DECIDED_SECONDS = 1.0
"""The maximum seconds of the preflight check, because looking up a host name may take long."""

UNLOCKED_SECONDS = 20.0
"""How long the system's keyring may take, for the user to unlock it."""

CONTINUATIONS = 3
"""How often an answer that was cut off is continued."""

TRIES_OF_UNLISTED = 2
"""How often a model is asked that litellm does not know, if there is no connection at all."""

_LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
"""Parameters that limit the length of an answer."""

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class _Session:
    """The objects that one call of `ask` needs."""

    litellm: ModuleType
    dialect: Dialect
    key: str | None = field(repr=False)
    question: Question
    content_key: str
    listener: Listener


class LiteLLMModel:
    """A `LanguageModel` for all providers of litellm, and for any service with OpenAI's protocol.

    Args:
        config: the model, its key and its address. `config.params` go to litellm and override the question's own.
        limited: whether the cost is limited. Then a model with an unknown price is not asked.
        on_loading: called with True when the import of litellm begins, and with False when it ends.
        on_send: called with each request before it is sent.
        checked: whether `preflight` has been done elsewhere.
    """

    def __init__(
        self,
        config: ModelConfig,
        patience: RetryPolicy | None = None,
        *,
        limited: bool = False,
        on_loading: Callable[[bool], None] | None = None,
        on_send: OnSend | None = None,
        checked: bool = False,
    ) -> None:
        self._config = config
        self.patience = patience or RetryPolicy()
        self.limited = limited
        self.on_loading = on_loading
        self.on_send = on_send
        self._checked = checked

    @property
    def config(self) -> ModelConfig:
        """The model, its key and its address."""
        return self._config

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """One complete answer. A cancel closes the connection at once.

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
        with self._loading_reported():
            litellm = await library.preload()
            dialect, key = await background.call_blocking(lambda: self._prepare(litellm))
        session = _Session(litellm, dialect, key, question, content_key, listener)
        return await self._whole_answer(session)

    async def preflight(self) -> None:
        """Check once whether the model can be asked, before the slow import of litellm.

        The first question does this; a caller that knows that there will be a question can do it earlier. Later
        failures of the service are retried.

        Raises:
            ModelError: see `preflight.check`.
        """
        if not self._checked:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(UNLOCKED_SECONDS):
                    await background.call_blocking(lambda: preflight.recall_key(self._config))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DECIDED_SECONDS):
                    await background.call_blocking(lambda: preflight.check(self._config))
            if self.limited:
                await background.call_blocking(lambda: preflight.require_price(self._config))
            self._checked = True

    @contextlib.contextmanager
    def _loading_reported(self) -> Iterator[None]:
        if self.on_loading is None or library.is_loaded():
            yield
            return
        self.on_loading(True)
        try:
            yield
        finally:
            self.on_loading(False)

    def _prepare(self, litellm: ModuleType) -> tuple[Dialect, str | None]:
        """Check and import everything that is needed before a request."""
        if self.limited:
            require_price(self._config, litellm)
        library.load_client(self._config.model)
        response.install()
        return dialect_of(self._config, litellm), preflight.find_key(self._config, litellm)

    async def _whole_answer(self, session: _Session) -> Exchange:
        """The exchange with the joined answer, and the messages of the last request."""
        asked: Messages = [dict(message) for message in session.question.messages]
        messages, started = asked, time.monotonic()
        room = session.question.max_tokens
        answer, thoughts, usage, allowed = "", "", Usage(), 0

        def exchange(finish_reason: str, cut_off_at: int | None = None) -> Exchange:
            return Exchange(
                stage=session.question.stage,
                key=session.content_key,
                model=self._config.model,
                messages=tuple(as_sent(message, marked=False) for message in messages),
                answer=answer if answer.strip() or not thoughts else f"<think>{thoughts}",
                finish_reason=finish_reason,
                usage=usage,
                seconds=time.monotonic() - started,
                room=cut_off_at,
            )

        for _ in range(1 + CONTINUATIONS):
            reply, grant, spent, is_full, wanted = None, None, "", False, room
            try:
                reply, grant, wanted = await self._request_with_retries(session, messages, room)
            except BudgetSpent as error:
                if not answer.strip():
                    raise
                spent = str(error)
            except UnusableAnswer as error:
                if not answer.strip() or not str(error).startswith(faults.DOES_NOT_FIT):
                    raise
                spent, is_full = "Question and answer fill its context window.", True
            if reply is None or grant is None:
                if is_full and has_closed_block(answer):  # what is cut off stands below the block
                    return exchange("length")
                raise cut_off_error(exchange(CUT_OFF, allowed), spent, shortened=not is_full)
            usage, allowed = usage + reply.usage, grant.room
            answer, thoughts = join(answer, reply.text), reply.thoughts
            if reply.stopped:
                shortened = bool(reply.limit) or allowed < wanted
                raise cut_off_error(exchange(CUT_OFF, allowed), reply.stopped, shortened=shortened)
            if reply.finish_reason != "length":
                return exchange(reply.finish_reason)
            if answer.strip():
                continuation = [{"role": "assistant", "content": answer}, {"role": "user", "content": CONTINUE}]
                messages = asked + continuation
            else:  # a reasoning model used all tokens for reasoning
                room = max(room * 2, session.question.max_tokens)
        why = f"It was still cut off after {CONTINUATIONS} continuations. Each part may have {allowed:,} tokens."
        if not answer.strip():
            why = f"Within {allowed:,} tokens it wrote {f'only thoughts: {thoughts}' if thoughts else 'nothing'}"
        raise cut_off_error(exchange(CUT_OFF, allowed), why, shortened=False)

    async def _request_with_retries(
        self, session: _Session, messages: Messages, room: int
    ) -> tuple[ServiceResponse, Grant, int]:
        """One response, what was granted for it, and the room that was wanted: at most what is left of the window.

        Transient faults are retried, refused options are left out.
        """
        failures, started = 0, time.monotonic()
        left_out: set[str] = set()
        while True:
            offered = self._optional_parameters(session, messages, room)
            offered = {name: value for name, value in offered.items() if name not in left_out}
            try:
                worst = await self._worst_case(session, messages, offered, room)
                if (
                    offered.keys() & set(_LIMIT_NAMES)
                    and (fitting := session.dialect.fitting(room, worst.question.input_tokens)) < room
                ):
                    room = fitting
                    continue
                usual = session.question.max_tokens
                asked = worst.question.input_tokens + min(max(room, usual), 2 * usual)  # a window takes memory
                if "num_ctx" not in self._config.params and (context := session.dialect.context(asked)) is not None:
                    offered["num_ctx"] = context
                async with session.listener.meter.reserve(worst) as grant:
                    sent = [as_sent(message, marked=session.dialect.marks) for message in messages]
                    arguments = self._arguments(session, sent, offered, grant.room)
                    return await self._request(session, arguments, worst, grant), grant, room
            except AutocodeError:
                raise
            except Exception as error:
                limits = offered.keys() & set(_LIMIT_NAMES)
                if limits and (smaller := session.dialect.smaller_room(error, room)) is not None:
                    room = smaller
                    continue
                if session.dialect.learn(error, offered, left_out):
                    continue
                fault = faults.classify_error(error, self._config, session.litellm)
                if isinstance(fault, ModelError):
                    raise fault from error
                failures += 1
                elapsed = time.monotonic() - started
                seconds = self.patience.pause(failures, elapsed, fault.retry_after, fault.tries)
                if seconds is None or (failures >= TRIES_OF_UNLISTED and self._is_unlisted(fault.reason)):
                    raise self._unavailable(fault, failures) from error
            session.listener.on_retry(fault.reason, seconds)
            await asyncio.sleep(seconds)

    def _optional_parameters(self, session: _Session, messages: Messages, room: int) -> dict[str, Any]:
        """The optional parameters that the model supports and the user has not set."""
        # With a schema, a continuation would begin a new object instead of completing the old one.
        whole = len(messages) == len(session.question.messages)
        optional = session.dialect.optional(session.question, room, structured=whole)
        if self._config.params.keys() & set(_LIMIT_NAMES):
            optional = {name: value for name, value in optional.items() if name not in _LIMIT_NAMES}
        return {name: value for name, value in optional.items() if name not in self._config.params}

    async def _worst_case(self, session: _Session, messages: Messages, offered: dict[str, Any], room: int) -> WorstCase:
        own = next((self._config.params[name] for name in _LIMIT_NAMES if name in self._config.params), room)
        room = own if type(own) is int else room
        schema = offered.get("response_format")
        return await background.call_blocking(lambda: worst_case(messages, schema, room, self._config, session.litellm))

    def _arguments(self, session: _Session, messages: Messages, offered: dict[str, Any], room: int) -> dict[str, Any]:
        arguments = {
            "api_base": self._config.api_base,
            "api_key": session.key,
            "timeout": AnswerLimits.of(self._config).silence,
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
        limits = {name: min(arguments[name], room) for name in _LIMIT_NAMES if type(arguments.get(name)) is int}
        return arguments | limits

    async def _request(
        self, session: _Session, arguments: dict[str, Any], worst: WorstCase, grant: Grant
    ) -> ServiceResponse:
        """One response. What it used is charged to the grant."""
        reader = ResponseReader(
            AnswerLimits.of(self._config),
            grant,
            worst,
            arguments["messages"],
            session.listener.on_text,
            session.listener.on_sign,
        )
        reply = await reader.reply(lambda: self._open_stream(session, arguments))
        if reply.stopped:  # it is charged already
            return reply
        usage = await self._priced(reply.usage, worst, session.litellm)
        grant.spend(usage)
        if reply.finish_reason == "content_filter":
            raise faults.filtered(self._config)
        return replace(reply, usage=usage)

    async def _priced(self, usage: Usage, worst: WorstCase, litellm: ModuleType) -> Usage:
        """The usage with its cost; unknown if the tokens were not counted, and are not free."""
        if usage.cost is None:
            is_free = worst.question.cost == worst.answer.cost == 0
            return usage.model_copy(update={"cost": 0.0}) if is_free else usage
        cost = await background.call_blocking(lambda: cost_of(usage, self._config, litellm))
        return usage.model_copy(update={"cost": cost})

    async def _open_stream(self, session: _Session, arguments: dict[str, Any]) -> Any:
        """The stream of an answer; the request is reported to `on_send` first."""
        with library.importing_tokenizer():
            if self.on_send is None:
                return await session.litellm.acompletion(**arguments)
            reporter = RequestReporter(session.question.stage, session.content_key, self.on_send)
            response.before_sending(reporter.noted)
            try:
                stream = await session.litellm.acompletion(**arguments, logger_fn=reporter)
            except Exception:
                reporter.require_noted()
                raise
            finally:
                reporter.report_changes()
        reporter.require_reported(arguments)
        await reporter.noted()
        return stream

    def _is_unlisted(self, reason: str) -> bool:
        """Whether the name of the model is probably wrong, and no service answers that could say so."""
        return reason == faults.NO_CONNECTION and self._config.api_base is None and bool(unlisted(self._config.model))

    def _unavailable(self, fault: faults.TransientFault, tries: int) -> ModelUnavailable:
        address, is_cut_off = self._config.api_base, fault.reason == faults.NO_CONNECTION
        place = f" The address is {address}." if address else ""
        if address and is_cut_off:
            place = f" Is the service at {address} running?"
        name = f" {unlisted(self._config.model)}" if self._is_unlisted(fault.reason) else ""
        first = f"{fault.hint} " if fault.hint else ""
        if is_cut_off and not address:
            first = "Is this machine online? Behind a proxy, set HTTPS_PROXY where the kernel starts. "
        return ModelUnavailable(
            f"{self._config.model} did not answer in {tries} {'try' if tries == 1 else 'tries'}.",
            why=fault.why,
            hint=f"{first}Try again later (%autocode retry), or choose another model with -m.{place}{name}",
        )
