"""The client of a service with Anthropic's Messages API: its address, its key, and the meaning of its errors."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.concurrency.background import Pauses, call_blocking
from autocoder_jupyter.engines.claude import wire
from autocoder_jupyter.errors import InvalidRequest, ModelError
from autocoder_jupyter.models import catalogue, keys, preflight
from autocoder_jupyter.models import response as model_response
from autocoder_jupyter.models.faults import NoAnswer, Silent, TransientFault, WebPage, classify_error
from autocoder_jupyter.models.protocol import AnswerLimits, ModelConfig
from autocoder_jupyter.models.response import IncomingAnswer
from autocoder_jupyter.types import Usage
from autocoder_jupyter.untrusted.plain_json import TextPieces

if TYPE_CHECKING:
    import httpx


_PREFIX = "anthropic/"
_DEFAULT_ADDRESS = "https://api.anthropic.com"
_ADDRESS_VARIABLES = ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL")
_PASSED_ON = ("anthropic-version", "anthropic-beta")
"""Headers of the program that are passed to the service."""

_HEADER_PARAMETERS = ("headers", "extra_headers")
"""Parameters of litellm that contain headers."""

_CONNECT_SECONDS = 20.0

LONGEST_REFUSAL = 64 * 1024
"""The maximum number of bytes of a refusal that are read."""


def require_claude(model: str) -> None:
    """Check that a model has Anthropic's Messages API.

    Raises:
        InvalidRequest: another provider serves it.
    """
    if model.startswith(_PREFIX) or catalogue.provider_of(model) == "anthropic":
        return
    raise InvalidRequest(
        f"The Claude backend works only with models of Anthropic, and {model} is not one.",
        hint="Name one, such as -m anthropic/claude-sonnet-4-5, or leave out --backend claude.",
    )


def plain_name(model: str) -> str:
    """The model as its service calls it."""
    return model.removeprefix(_PREFIX)


class Refusal(Exception):
    """A service's error response instead of an answer.

    Args:
        status: the HTTP status; None if the service was not reached.
    """

    def __init__(self, message: str, status: int | None = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.litellm_response_headers = headers or {}  # `classify_error` reads the time to wait from this attribute


class Service:
    """The service of one model.

    Args:
        config: the model, the key's variable, the address.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.config = config

    @property
    def url(self) -> str:
        """The address of requests."""
        given = (self.config.params.get("api_base"), self.config.params.get("base_url"), self.config.api_base)
        known = next((str(address) for address in given if address), "")
        base = known or next(
            (os.environ[name] for name in _ADDRESS_VARIABLES if os.environ.get(name)), _DEFAULT_ADDRESS
        )
        base = base.rstrip("/").removesuffix("/v1/messages").removesuffix("/v1")
        return f"{base}/v1/messages"

    def require_reachable(self) -> None:
        """Check that there is a key, and that something listens at the address. Blocks."""
        preflight.recall_key(self.config)
        preflight.check(self.config)

    def _key_headers(self) -> dict[str, str]:
        config = self.config
        if given := config.params.get("api_key"):
            return {"x-api-key": str(given)}
        if key := keys.typed(config):
            return {"x-api-key": key}
        if config.api_key:
            return {"x-api-key": preflight.named_key(config)}
        if key := os.environ.get("ANTHROPIC_API_KEY", "").strip():
            return {"x-api-key": key}
        if token := os.environ.get("ANTHROPIC_AUTH_TOKEN", "").strip():
            return {"authorization": f"Bearer {token}"}
        return {"x-api-key": "not-needed"}

    def _own_headers(self) -> dict[str, str]:
        """The user's headers, as in litellm's parameters."""
        given = (self.config.params.get(name) for name in _HEADER_PARAMETERS)
        return {str(name): str(value) for one in given if isinstance(one, Mapping) for name, value in one.items()}

    @asynccontextmanager
    async def stream(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        """Send a request, and yield the response while it arrives."""
        import httpx

        passed = {name: headers[name] for name in _PASSED_ON if name in headers}
        timeout = httpx.Timeout(None, connect=_CONNECT_SECONDS)  # the reader of the answer limits its time
        try:
            async with httpx.AsyncClient(timeout=timeout) as client:
                sent = {**passed, **self._key_headers(), **self._own_headers()}
                async with client.stream("POST", self.url, json=dict(body), headers=sent) as response:
                    if response.status_code != 200:
                        raise await _refusal(response)
                    yield response
        except httpx.HTTPError as error:
            raise Refusal(f"Connection error: {error}") from error

    def meaning_of(self, fault: Exception, litellm: ModuleType) -> TransientFault | ModelError:
        """The meaning of a refusal or another fault: a transient one, or an error for the user."""
        if isinstance(fault, Refusal) and fault.status_code is None:
            return TransientFault("no connection to the service")
        return classify_error(fault, self.config, litellm)


async def _refusal(response: httpx.Response) -> Refusal:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > LONGEST_REFUSAL:
            break
    text = body[:LONGEST_REFUSAL].decode("utf-8", "replace")
    with suppress(ValueError):
        reply = json.loads(text)
        error = reply.get("error") if isinstance(reply, dict) else None
        text = str(error.get("message") or text) if isinstance(error, dict) else text
    return Refusal(text, response.status_code, dict(response.headers))


# One answer
#
# What arrived is used if the answer is complete, and counted in any case.


@dataclass(frozen=True)
class Arrived:
    """An answer, or the part of one.

    Args:
        usage: its tokens. The cost is that of an incomplete answer; None if the tokens were only estimated.
        is_charged: whether it is charged to the grant already, because it is incomplete.
        cut_off: why it is not complete; "" if it is.
        limit: the setting because of whose limit it was stopped, if any.
    """

    message: wire.Message
    usage: Usage
    is_charged: bool = False
    cut_off: str = ""
    limit: str = ""


async def receive(
    service: Service,
    body: Mapping[str, Any],
    headers: Mapping[str, str],
    incoming: IncomingAnswer,
    on_text: Callable[[str], None],
) -> Arrived:
    """Send a request, and read its answer. What an incomplete answer used is charged to the grant."""
    message, error = wire.Message(), None
    try:
        async with incoming.arriving():
            await _read(service, {**body, "stream": True}, headers, message, incoming, on_text)
    except asyncio.CancelledError:
        incoming.charge(message.question_tokens, message.answer_tokens)
        raise
    except Exception as raised:
        error = raised
    raw = incoming.raw.body
    if not message.stop_reason and raw:  # a service that does not stream
        whole = await call_blocking(lambda: wire.message_of(raw))
        if whole is not None:
            message = whole
            incoming.note(message.size)
            on_text(message.text)
    message.repair()
    if message.stop_reason:
        usage = incoming.counted(message.question_tokens, message.answer_tokens)
        cut_off = "The service stopped it at its maximum length." if message.stop_reason == "max_tokens" else ""
        return Arrived(message, message.with_cached(usage), cut_off=cut_off)
    usage = incoming.charge(message.question_tokens, message.answer_tokens)
    if incoming.stopped and not usage.output_tokens:
        raise NoAnswer(incoming.stopped) from error
    if incoming.stopped:
        return Arrived(message, usage, is_charged=True, cut_off=incoming.stopped, limit=incoming.limit)
    if incoming.was_silent:
        raise Silent(AnswerLimits.of(service.config).silence) from error
    if (title := model_response.page_title(raw)) is not None:
        raise WebPage(title) from error
    raise error or _broke_off()


async def _read(
    service: Service,
    body: Mapping[str, Any],
    headers: Mapping[str, str],
    message: wire.Message,
    incoming: IncomingAnswer,
    on_text: Callable[[str], None],
) -> None:
    reader, pauses, text = wire.EventReader(), Pauses(), TextPieces()
    async with service.stream(body, headers) as response:
        async for data in response.aiter_bytes():
            for event in reader.feed(data):
                if event is None:
                    raise _broke_off()
                if event.get("type") == "error":
                    raise Refusal(str(event.get("error")), 529)
                if piece := text.take(message.take(event)):
                    on_text(piece)
                await incoming.take(wire.content_size(event))
                if event.get("type") == "message_stop":
                    return
            await pauses.pause_when_due()


def _broke_off() -> Refusal:
    return Refusal("the answer broke off", 503)
