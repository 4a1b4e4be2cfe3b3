"""Reads one response through litellm. What arrived is used if the answer is complete, and counted in any case."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.models import plain_answer
from autocoder_jupyter.models.faults import EndedEarly, NoAnswer, Silent, WebPage
from autocoder_jupyter.models.intake import Intake, size_of, valid_count
from autocoder_jupyter.models.limits import AnswerLimits
from autocoder_jupyter.models.metering import Grant, Worst
from autocoder_jupyter.types import Usage
from autocoder_jupyter.untrusted.valid_unicode import TextPieces, valid_unicode

_GEMINI, _END_OF_GEMINI = b'"candidates"', b'"finishReason"'
"""litellm reports an end for each piece of an answer of Gemini, so the end is looked for in the response."""


@dataclass(frozen=True)
class ServiceResponse:
    """One response of the service.

    Args:
        text: the text of the answer, as valid Unicode.
        finish_reason: why it ended.
        usage: its tokens. The cost is None if they are only estimated.
        stopped: why it was stopped; "" if it came to its end.
        limit: the setting because of whose limit it was stopped, if any.
    """

    text: str
    finish_reason: str
    usage: Usage
    stopped: str = ""
    limit: str = ""


class ResponseReader:
    """Reads one response.

    Args:
        limits: its limits of time.
        grant: its limit of tokens.
        worst: the most that it may use.
        messages: the messages of the request, from which its tokens are estimated.
        on_text: called with pieces of the answer.
    """

    def __init__(
        self,
        limits: AnswerLimits,
        grant: Grant,
        worst: Worst,
        messages: Sequence[Mapping[str, Any]],
        on_text: Callable[[str], None],
    ) -> None:
        asked = sum(len(str(message.get("content") or "")) for message in messages) // 4 + 1
        self._intake = Intake(limits, grant, worst, asked)
        self._silence = limits.silence
        self._on_text = on_text
        self._stream: Any = None
        self._pieces: list[str] = []
        self._unicode = TextPieces()
        self._choice: int | None = None

    async def reply(self, send: Callable[[], Awaitable[Any]]) -> ServiceResponse:
        """Send the request and read its response. What an incomplete response used is charged to the grant.

        Args:
            send: sends the request and returns litellm's stream.

        Raises:
            ResponseFault: the response has no complete answer.
            Exception: the error of litellm.
        """
        intake, error = self._intake, None
        try:
            async with intake.arriving():
                self._stream = await send()
                await self._take_all()
        except asyncio.CancelledError:
            self._charge(is_sent=True)  # the service bills the question, and what it wrote until it notices the end
            raise
        except Exception as raised:
            error = raised
        self._say(self._unicode.end())
        if (reply := await self._complete(broken=error is not None)) is not None:
            return reply
        usage = self._charge()
        if intake.stopped and not usage.output_tokens:
            raise NoAnswer(intake.stopped) from error
        if intake.stopped:
            return ServiceResponse("".join(self._pieces), "length", usage, intake.stopped, intake.limit)
        if intake.was_silent:
            raise Silent(self._silence) from error
        if (title := plain_answer.page_title(intake.raw.body)) is not None:
            raise WebPage(title) from error
        raise error or EndedEarly

    async def _take_all(self) -> None:
        pauses = background.Pauses()
        if isinstance(source := getattr(self._stream, "completion_stream", None), AsyncIterable):
            self._stream.completion_stream = _Iterated(source)
        with contextlib.suppress(_AllCame):
            async with contextlib.aclosing(self._stream):
                async for chunk in self._stream:
                    self._take(chunk)
                    await pauses.pause_when_due()

    def _take(self, chunk: Any) -> None:
        choices = [one for one in chunk.choices or () if one.delta is not None]
        if choices and self._choice is None:
            self._choice = choices[0].index
        for one in choices:  # other choices were not asked for, and are paid for
            if one.index == self._choice and isinstance(content := getattr(one.delta, "content", None), str):
                self._say(self._unicode.take(content))
            self._intake.take(size_of(one.delta.model_dump()))

    def _say(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._on_text(piece)

    async def _complete(self, *, broken: bool) -> ServiceResponse | None:
        """The answer, if it is complete: also if something is broken after its end, or litellm could not read it."""
        # litellm reports "stop" even if a stream just ended; these two have the service's own value.
        if self._intake.stopped:
            return None
        stream, text = self._stream, "".join(self._pieces)
        reason = getattr(stream, "received_finish_reason", None) or getattr(stream, "intermittent_finish_reason", None)
        body = self._intake.raw.body
        if _GEMINI in body and _END_OF_GEMINI not in body:
            return None
        if text and reason is not None:
            return ServiceResponse(text, _word(reason), self._usage(_counts(stream)))
        plain = await background.call_blocking(lambda: plain_answer.read_answer(body)) if body else None
        if plain is not None:
            self._pieces.clear()
            self._say(valid_unicode(plain.text))
            self._intake.note(len(plain.text.encode("utf-8", "replace")))
            return ServiceResponse("".join(self._pieces), _word(plain.finish_reason), self._usage([plain.counts]))
        return None if reason is None or broken else ServiceResponse(text, _word(reason), self._usage(_counts(stream)))

    def _charge(self, *, is_sent: bool = False) -> Usage:
        counts = _counts(self._stream)
        asked, said = _highest(counts, "prompt_tokens"), _highest(counts, "completion_tokens")
        return self._intake.charge(asked, said, is_sent=is_sent)

    def _usage(self, counts: Sequence[Mapping[str, Any]]) -> Usage:
        """The usage that the service counted. litellm also reports guesses, so only counts in the response are used."""
        usage = self._intake.counted(_highest(counts, "prompt_tokens"), _highest(counts, "completion_tokens"))
        if usage.cost is None:
            return usage
        details = [one for count in counts if isinstance(one := count.get("prompt_tokens_details"), Mapping)]
        cached, written = _highest(details, "cached_tokens") or 0, _highest(details, "cache_creation_tokens") or 0
        return usage.model_copy(update={"cached_tokens": cached, "written_tokens": written})


class _AllCame(BaseException):
    """The last piece has come. litellm would now put the answer together for its log, but lets this error pass."""


class _Iterated(AsyncIterator[Any]):
    """A stream with one iterator for all its pieces.

    litellm asks for a new one for each piece. That of OpenAI's client is a generator each time, and the event loop
    closes it in a task of its own: half of the processor time of an answer.

    Args:
        stream: what litellm reads and closes.
    """

    def __init__(self, stream: AsyncIterable[Any]) -> None:
        self._stream = stream
        self._pieces = aiter(stream)

    async def __anext__(self) -> Any:
        try:
            return await anext(self._pieces)
        except StopAsyncIteration:
            raise _AllCame from None

    async def aclose(self) -> None:
        """Close the stream as litellm would."""
        close = getattr(self._stream, "aclose", None) or getattr(self._stream, "close", None)
        if close is not None and (closing := close()) is not None:
            await closing


def _word(reason: object) -> str:
    return valid_unicode(str(reason))[:100]


def _counts(stream: Any) -> list[Mapping[str, Any]]:
    usages = (getattr(chunk, "usage", None) for chunk in getattr(stream, "chunks", ()))
    return [_record(usage) for usage in usages if usage is not None]


def _record(usage: Any) -> Mapping[str, Any]:
    """A usage object as it is; pydantic would warn about invalid values."""
    values = dict(getattr(usage, "__dict__", {}))
    details = values.get("prompt_tokens_details")
    return values | {"prompt_tokens_details": dict(getattr(details, "__dict__", {}))}


def _highest(counts: Iterable[Mapping[str, Any]], name: str) -> int | None:
    """The highest valid count. Anthropic's stream has that of the question at its start and the answer's at its end."""
    valid = (valid_count(count.get(name)) for count in counts)
    return max((count for count in valid if count is not None), default=None)
