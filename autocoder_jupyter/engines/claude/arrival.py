"""Reads one answer of the service. What arrived is used if the answer is complete, and counted in any case."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.concurrency.background import Pauses, call_blocking
from autocoder_jupyter.engines.claude import wire
from autocoder_jupyter.engines.claude.service import Refusal, Service
from autocoder_jupyter.models import response as plain_answer
from autocoder_jupyter.models.faults import NoAnswer, Silent, WebPage
from autocoder_jupyter.models.protocol import AnswerLimits
from autocoder_jupyter.models.response import Intake
from autocoder_jupyter.types import Usage
from autocoder_jupyter.untrusted.plain_json import TextPieces


@dataclass(frozen=True)
class Arrived:
    """An answer, or the part of one.

    Args:
        message: the message.
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
    intake: Intake,
    on_text: Callable[[str], None],
) -> Arrived:
    """Send a request, and read its answer. What an incomplete answer used is charged to the grant.

    Args:
        service: the service to ask.
        body: the request.
        headers: the headers of the program.
        intake: the limits of the answer.
        on_text: called with pieces of its text.

    Raises:
        Refusal, ResponseFault: there is no complete answer.
    """
    message, error = wire.Message(), None
    try:
        async with intake.arriving():
            await _read(service, {**body, "stream": True}, headers, message, intake, on_text)
    except asyncio.CancelledError:
        intake.charge(message.asked, message.said)
        raise
    except Exception as raised:
        error = raised
    raw = intake.raw.body
    if not message.stop_reason and raw:  # a service that does not stream
        whole = await call_blocking(lambda: wire.message_of(raw))
        if whole is not None:
            message = whole
            intake.note(message.size)
            on_text(message.text)
    message.repair()
    if message.stop_reason:
        usage = intake.counted(message.asked, message.said)
        cut_off = "The service stopped it at its maximum length." if message.stop_reason == "max_tokens" else ""
        return Arrived(message, message.with_cached(usage), cut_off=cut_off)
    usage = intake.charge(message.asked, message.said)
    if intake.stopped and not usage.output_tokens:
        raise NoAnswer(intake.stopped) from error
    if intake.stopped:
        return Arrived(message, usage, is_charged=True, cut_off=intake.stopped, limit=intake.limit)
    if intake.was_silent:
        raise Silent(AnswerLimits.of(service.config).silence) from error
    if (title := plain_answer.page_title(raw)) is not None:
        raise WebPage(title) from error
    raise error or _broke_off()


async def _read(
    service: Service,
    body: Mapping[str, Any],
    headers: Mapping[str, str],
    message: wire.Message,
    intake: Intake,
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
                intake.take(wire.content_size(event))
                if event.get("type") == "message_stop":
                    return
            await pauses.pause_when_due()


def _broke_off() -> Refusal:
    return Refusal("the answer broke off", 503)
