"""Reads one response of a service. What arrived is used if the answer is complete, and counted in any case."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import functools
import re
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.background import Pauses
from autocoder_jupyter.models.faults import EndedEarly, NoAnswer, Nothing, Silent, WebPage
from autocoder_jupyter.models.loops import REPEATED, LoopFinder, without_loop
from autocoder_jupyter.models.protocol import SLACK, AnswerLimits, Grant, WorstCase, most_bytes, most_bytes_in_event
from autocoder_jupyter.models.thoughts import AnswerText
from autocoder_jupyter.types import Usage
from autocoder_jupyter.untrusted.plain_json import TextPieces, parse, valid_unicode
from autocoder_jupyter.untrusted.visible import visible

# Answers that litellm could not read
#
# For instance plain JSON instead of a stream, text as a list of parts, or a broken event after the end. Only OpenAI's
# format and a message of Anthropic are known. An answer of which a part may be missing is not used.

_PAGE = re.compile(rb"\s*(?:<!doctype html|<html)", re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]{0,200}>([^<]{1,200})", re.IGNORECASE)
_TITLE_WITHIN = 20_000


@dataclass(frozen=True)
class PlainAnswer:
    """An answer in such bytes.

    Args:
        counts: the service's usage object, with OpenAI's names; empty if it has none.
    """

    text: str
    finish_reason: str
    counts: Mapping[str, Any]


def read_answer(body: bytes) -> PlainAnswer | None:
    """The answer in a response; None if there is none, or a part of it may be missing."""
    texts: list[str] = []
    calls: dict[int, str] = {}
    finish_reason: object = ""
    counts: Mapping[str, Any] = {}
    for record in _records(body):
        if record is None or "error" in record:
            if finish_reason:
                break
            return None
        choice = _choice(record)
        texts.append(_text(choice.get("content")))
        for number, piece in _call_arguments(choice.get("tool_calls")):
            calls[number] = calls.get(number, "") + piece
        finish_reason = finish_reason or choice.get("finish_reason") or ""
        counts = _openai_counts(record["usage"]) if isinstance(record.get("usage"), dict) else counts
    text = _with_calls("".join(texts), calls.values())
    return PlainAnswer(text, str(finish_reason), counts) if text and finish_reason else None


def _with_calls(text: str, arguments: Iterable[str]) -> str:
    """The text of an answer, and below it the arguments of its calls of tools: code may be in either."""
    return "\n\n".join(filter(str.strip, (text, *arguments))) or text


def page_title(body: bytes) -> str | None:
    """The title of an HTML page, "" if it has none; None if the response is not HTML."""
    if not _PAGE.match(body[:1000]):
        return None
    title = _TITLE.search(body[:_TITLE_WITHIN])
    return " ".join(title[1].decode("utf-8", "replace").split()) if title else ""


def _records(body: bytes) -> Iterator[dict[str, Any] | None]:
    """The whole body as JSON, or each event of a stream. None stands for an event that cannot be read."""
    text = body.decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        yield _object(text)
        return
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            yield _object(data)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = parse(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _choice(record: Mapping[str, Any]) -> dict[str, Any]:
    """The content and the finish reason of the first choice, or of Anthropic's message."""
    choices = record.get("choices")
    if not isinstance(choices, list):
        return {"content": record.get("content"), "finish_reason": _reason(record.get("stop_reason"))}
    for choice in choices:
        if isinstance(choice, dict) and choice.get("index", 0) == 0:
            message = choice.get("message") or choice.get("delta")
            if not isinstance(message, dict):
                return {"content": choice.get("text"), "finish_reason": choice.get("finish_reason")}
            return {**message, "finish_reason": choice.get("finish_reason")}
    return {}


def _call_arguments(calls: object) -> Iterator[tuple[int, str]]:
    """For each call of a tool its number, and its arguments or a piece of them."""
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(arguments, str):
            yield valid_count(call.get("index")) or 0, valid_unicode(arguments)


def _openai_counts(usage: Mapping[str, Any]) -> Mapping[str, Any]:
    other = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
    return {**other, **usage}


def _reason(stop_reason: object) -> object:
    return {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}.get(str(stop_reason), stop_reason)


def _text(content: object) -> str:
    """The text of a content: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


# Bytes of a response
#
# They are limited, whatever their form, and kept for the case that litellm cannot read the answer.
#
# litellm and the clients below it read a line or an error message of any length into memory, and unpack what is
# compressed. They have no parameter for that, and the whole process shares their connections. So `install` wraps the
# transports of httpx once; the wrapper does something only inside of `watched`, which is used for requests of this
# package.

KEPT_BYTES = 8 * 2**20
"""Bytes. Of a longer response nothing is kept."""

EVENTS = "text/event-stream"
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE_END = re.compile(rb"\r|\n")
_LONGEST_EVENT_END = 4
_MOST_LINES = 1_000
"""Lines of one event. Events of models have one to three."""

_PIECE = 64 * 1024
_SHOWN = 200
"""Most characters of an address, and of thoughts, that are shown."""

_COMPRESSIONS = ("gzip", "x-gzip", "deflate")
_MARK = "_limits_what_is_received"
_GZIP_OR_ZLIB = 47
"""zlib's code for data in the format of gzip or of zlib."""


async def _at_once() -> None:
    """Wait for nothing."""


class Received:
    """What arrived of a response.

    Args:
        most: the maximum number of bytes, packed or unpacked.
        most_in_event: the maximum number of bytes of one event of a stream, or of one line of other text. Clients join
            its parts in quadratic time.
    """

    def __init__(self, most: int, most_in_event: int) -> None:
        self.most = most
        self._most_in_event = most_in_event
        self.over = ""
        """What was too long or is not followed, so that reading was stopped; "" if nothing was."""
        self.before_sending: Callable[[], Awaitable[object]] = _at_once
        """Awaited before a request is sent."""
        self.is_connecting = False
        """Whether a request is not sent yet, because there is no connection."""
        self._begin("")

    def _begin(self, kind: str) -> None:
        self._size = self._in_event = self._lines = 0
        self._end = b""
        self._kind = kind
        self._is_text = kind.startswith("text/") or "json" in kind
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept: bytearray | None = bytearray()

    @property
    def body(self) -> bytes:
        """The response so far, unpacked; empty if it was too long to be kept."""
        return bytes(self._kept or b"")

    async def trace(self, name: str, details: object) -> None:
        """Take what httpx tells of a request."""
        if name.endswith(".send_request_headers.started"):
            self.is_connecting = False

    def begin(self, kind: str) -> None:
        """A response of this content type begins."""
        self._begin(kind.partition(";")[0].strip().lower())

    def repaired(self, data: bytes) -> bytes:
        """The data with U+FFFD instead of what is not valid UTF-8, if it is text. Clients would stop reading there."""
        return self._decoder.decode(data).encode() if self._is_text else data

    def count(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self.most:
            self.refuse(f"more than {self.most / 2**20:.0f} MiB")

    def keep(self, data: bytes) -> None:
        if self._kept is not None:
            self._kept += data
            if len(self._kept) > KEPT_BYTES:
                self._kept = None
        if self._is_text:
            self._measure_event(data)

    def _measure_event(self, data: bytes) -> None:
        near = self._end + data
        ends = [match.end() for match in (_EVENT_END if self._kind == EVENTS else _LINE_END).finditer(near)]
        begun = near[ends[-1] :] if ends else data
        self._in_event = len(begun) + (0 if ends else self._in_event)
        self._lines = begun.count(b"\n") + (0 if ends else self._lines)
        self._end = near[-_LONGEST_EVENT_END + 1 :]
        if self._in_event > self._most_in_event:
            self.refuse(f"one piece of more than {self._most_in_event / 2**20:.1f} MiB")
        if self._lines > _MOST_LINES:
            self.refuse(f"one piece of more than {_MOST_LINES:,} lines")

    def refuse(self, what: str) -> None:
        """Stop reading because of what the service sent."""
        import httpx

        self.over = what
        raise httpx.ReadError(what)


_watching: ContextVar[Received | None] = ContextVar("autocode_received", default=None)


@contextmanager
def watched(most: int, most_in_event: int) -> Iterator[Received]:
    """Limit the responses to requests that are sent inside of this context; see `Received`."""
    received = Received(most, most_in_event)
    token = _watching.set(received)
    try:
        yield received
    finally:
        _watching.reset(token)


def before_sending(wait: Callable[[], Awaitable[object]]) -> None:
    """Have `wait` awaited before a request of this context is sent. What it raises is not sent."""
    if (received := _watching.get()) is not None:
        received.before_sending = wait


def install() -> None:
    """Wrap the transports of httpx and litellm, and the connections of aiohttp, once."""
    import aiohttp
    import httpx
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    for transport in (httpx.AsyncHTTPTransport, LiteLLMAiohttpTransport):
        original = transport.handle_async_request
        if not hasattr(original, _MARK):
            setattr(transport, "handle_async_request", _limiting(original))  # noqa: B010 (mypy refuses an assignment)
    if not hasattr(original := aiohttp.BaseConnector.connect, _MARK):
        setattr(aiohttp.BaseConnector, "connect", _noting(original))  # noqa: B010


def _limiting(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        received = _watching.get()
        if received is None:
            return await original(self, request)
        received.is_connecting = True
        await received.before_sending()
        request.headers["accept-encoding"] = "identity"  # a small packed response can be a huge one
        request.extensions["trace"] = received.trace
        response = await original(self, request)
        received.is_connecting = False
        if (elsewhere := _redirected(request, response)) is not None:
            await response.stream.aclose()
            received.refuse(f"a redirect to {elsewhere}")
        return _limited(response, received)

    setattr(handle_async_request, _MARK, True)
    return handle_async_request


def _noting(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def connect(self: Any, *arguments: Any, **named: Any) -> Any:
        connection = await original(self, *arguments, **named)
        if (received := _watching.get()) is not None:
            received.is_connecting = False
        return connection

    setattr(connect, _MARK, True)
    return connect


def _redirected(request: Any, response: Any) -> str | None:
    """The address that a response redirects to, if it is not the one of the request; else None.

    Clients would send the question there, and keys that are in other headers than `Authorization`.
    """
    import httpx

    if not response.has_redirect_location:
        return None
    try:
        target = request.url.join(response.headers["location"])
    except httpx.InvalidURL:
        return "an address that is not valid"
    here, there = ((url.scheme, url.host, url.port) for url in (request.url, target))
    port = "" if target.port is None else f":{target.port}"
    return None if here == there else visible(f"{target.scheme}://{target.host}{port}"[:_SHOWN])


def _limited(response: Any, received: Received) -> Any:
    """The response with a limited stream. What was packed nevertheless is unpacked here, in small pieces."""
    import httpx

    packed = response.headers.get("content-encoding", "identity").strip().lower()
    received.begin(response.headers.get("content-type", ""))
    headers = httpx.Headers(
        [(name, value) for name, value in response.headers.raw if name.lower() != b"content-length"]
    )
    if packed in _COMPRESSIONS:
        del headers["content-encoding"]

    class UnpackedStream(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            if packed not in ("", "identity", *_COMPRESSIONS):  # these cannot be unpacked in small pieces
                raise httpx.DecodingError(f"the response is packed as {packed}, which was not asked for")
            unpacker = zlib.decompressobj(_GZIP_OR_ZLIB) if packed in _COMPRESSIONS else None
            pauses = Pauses()
            async for data in response.stream:
                received.count(data)
                for piece in [data] if unpacker is None else _unpacked(unpacker, data):
                    if unpacker is not None:
                        received.count(piece)
                    text = received.repaired(piece)
                    received.keep(text)
                    yield text
                    await pauses.pause_when_due()

        async def aclose(self) -> None:
            await response.stream.aclose()

    return httpx.Response(
        status_code=response.status_code, headers=headers, stream=UnpackedStream(), extensions=response.extensions
    )


def _unpacked(unpacker: Any, data: bytes) -> Iterator[bytes]:
    import httpx

    while data:
        try:
            piece = unpacker.decompress(data, _PIECE)
        except zlib.error as error:
            raise httpx.DecodingError(f"the response is packed wrongly: {error}") from error
        data = unpacker.unconsumed_tail
        if piece:
            yield piece


# One answer while it arrives: its time, tokens and bytes. Both engines read through it.

_MOST_COUNTED = 10**9
"""Tokens. A service that counts more counts wrongly."""

_WRONG_BY = 4
"""If an answer has this many times the tokens that the service counted, the service counted wrongly."""

_NOT_TEXT = frozenset({"role", "type", "id", "index"})


class AnswerTooLong(Exception):
    """The answer has more tokens than it may have."""


class IncomingAnswer:
    """One answer while it arrives.

    Args:
        grant: its limit of tokens.
        worst: the most that it may use. The prices of an incomplete answer are those of it.
        input_tokens: the estimated tokens of the question.
    """

    def __init__(self, limits: AnswerLimits, grant: Grant, worst: WorstCase, input_tokens: int) -> None:
        self._limits = limits
        self._grant = grant
        self._worst = worst
        self._input_tokens = input_tokens
        self._size = 0
        self._clock = asyncio.timeout(None)
        self._end = 0.0
        self.raw = Received(0, 0)  # replaced by `arriving`
        self.limit = ""
        """The setting because of whose limit the answer was stopped, if any."""

    @asynccontextmanager
    async def arriving(self) -> AsyncIterator[None]:
        """Send the request and read the response inside of this context.

        Raises:
            TimeoutError: a limit of time was exceeded.
        """
        room = self._grant.room
        with watched(most_bytes(room), most_bytes_in_event(room)) as self.raw:
            self._end = asyncio.get_running_loop().time() + self._limits.total
            async with self._clock:
                self._restart_clock()
                yield

    async def take(self, size: int) -> None:
        """Count bytes of content. Without content, the time of silence goes on.

        Raises:
            AnswerTooLong: it has more tokens than it may have.
        """
        if not size:
            return
        self._restart_clock()
        self._size += size
        if self.tokens > self._grant.room:
            self.limit = await self._grant.grow(self._worst.of(self._input_tokens, self.tokens))
            if self.limit or self._is_too_long:
                raise AnswerTooLong

    def note(self, size: int) -> None:
        """Set the bytes of an answer that was read from the whole response."""
        self._size = size

    def _restart_clock(self) -> None:
        now = asyncio.get_running_loop().time()
        self._clock.reschedule(min(now + self._limits.silence, self._end))

    @property
    def has_content(self) -> bool:
        """Whether any content has come."""
        return self._size > 0

    @property
    def tokens(self) -> int:
        """The estimated tokens of the content so far."""
        return self._size // 4 + 1

    @property
    def _is_too_long(self) -> bool:
        return self.tokens > SLACK * self._grant.room

    @property
    def stopped(self) -> str:
        """Why the answer was stopped; "" if it was not, or only because of silence."""
        if self.raw.over:
            return f"The service sent {self.raw.over} for an answer of {self._grant.room:,} tokens."
        if self.limit or self._is_too_long:
            return f"It may have {self._grant.room:,} tokens, and about {self.tokens:,} arrived."
        if self._clock.expired() and asyncio.get_running_loop().time() >= self._end:
            return f"It was not complete after {self._limits.total:g} s."
        return ""

    @property
    def was_silent(self) -> bool:
        """Whether a limit of time was exceeded."""
        return self._clock.expired()

    def counted(self, input_tokens: int | None, output_tokens: int | None) -> Usage:
        """The usage that the service counted, or the estimate with an unknown cost if it did not count."""
        if input_tokens is None or output_tokens is None:
            return Usage(input_tokens=self._input_tokens, output_tokens=self.tokens, cost=None)
        is_plausible = output_tokens * _WRONG_BY >= self.tokens - 1
        return Usage(input_tokens=input_tokens, output_tokens=output_tokens if is_plausible else self.tokens)

    @property
    def so_far(self) -> Usage:
        """The estimated usage so far, at the known prices."""
        return self._worst.of(self._input_tokens, self.tokens)

    def charge(self, input_tokens: int | None, output_tokens: int | None, *, is_sent: bool = False) -> Usage:
        """Charge an incomplete answer to the grant: the counts so far or the estimate, at the known prices.

        A question of which nothing came back is charged only if it certainly was sent.
        """
        if not self._size and input_tokens is None and not is_sent:
            return Usage()
        known = self._input_tokens if input_tokens is None else input_tokens
        usage = self._worst.of(known, max(output_tokens or 0, self.tokens))
        self._grant.spend(usage)
        return usage


def valid_count(value: object) -> int | None:
    """A number of tokens in the usage of a service; None if it is not valid."""
    return value if type(value) is int and 0 <= value <= _MOST_COUNTED else None


def size_of(delta: Mapping[str, Any]) -> int:
    """Bytes of the text in a delta: its content, and the longest of the other fields, because some repeat others."""
    others = [_bytes_in(value) for name, value in delta.items() if name not in {"content", *_NOT_TEXT}]
    return _bytes_in(delta.get("content")) + max(others, default=0)


def _bytes_in(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Mapping):
        return sum(_bytes_in(part) for name, part in value.items() if name not in _NOT_TEXT)
    return sum(map(_bytes_in, value)) if isinstance(value, list | tuple) else 0


# The response through litellm

_REPEATING = re.compile(r"repeating the same chunk", re.IGNORECASE)
"""Of litellm's own check, which it reports as a 500."""

_GEMINI, _END_OF_GEMINI = b'"candidates"', b'"finishReason"'
"""litellm reports an end for each piece of an answer of Gemini, so the end is looked for in the response."""


@dataclass(frozen=True)
class ServiceResponse:
    """One response of the service.

    Args:
        text: the text of the answer without thoughts, as valid Unicode, and the arguments of its calls of tools.
        usage: its tokens. The cost is None if they are only estimated.
        stopped: why it was stopped; "" if it came to its end.
        limit: the setting because of whose limit it was stopped, if any.
        thoughts: the beginning of the model's thoughts, if it wrote some.
    """

    text: str
    finish_reason: str
    usage: Usage
    stopped: str = ""
    limit: str = ""
    thoughts: str = ""


class ResponseReader:
    """Reads one response.

    Args:
        grant: its limit of tokens.
        worst: the most that it may use.
        messages: the messages of the request, from which its tokens are estimated.
    """

    def __init__(
        self,
        limits: AnswerLimits,
        grant: Grant,
        worst: WorstCase,
        messages: Sequence[Mapping[str, Any]],
        on_text: Callable[[str], None],
        on_sign: Callable[[], None] = lambda: None,
    ) -> None:
        input_tokens = sum(len(str(message.get("content") or "")) for message in messages) // 4 + 1
        self._incoming = IncomingAnswer(limits, grant, worst, input_tokens)
        self._silence = limits.silence
        self._on_text = on_text
        self._on_sign = on_sign
        self._stream: Any = None
        self._text = AnswerText()
        self._calls: dict[int, list[str]] = {}
        self._reasoning = ""
        self._loops = LoopFinder(), LoopFinder()
        self._unicode = TextPieces()
        self._choice: int | None = None

    async def reply(self, send: Callable[[], Awaitable[Any]]) -> ServiceResponse:
        """Send the request and read its response. What an incomplete response used is charged to the grant."""
        incoming, error = self._incoming, None
        try:
            async with incoming.arriving():
                self._stream = await send()
                await self._take_all()
        except asyncio.CancelledError:
            # The service bills a question that was sent, and what it wrote until it notices the end.
            self._charge(is_sent=not self._incoming.raw.is_connecting)
            raise
        except Exception as raised:
            error = raised
        self._add_text(self._unicode.end())
        self._stream_text(self._text.end())
        if isinstance(error, _Repeats) or _REPEATING.search(str(error or "")[:_SHOWN]):
            return self._response(REPEATED, self._incoming.so_far)
        if (reply := await self._complete(broken=error is not None)) is not None:
            return reply
        usage = self._charge()
        if incoming.stopped and not usage.output_tokens:
            raise NoAnswer(incoming.stopped) from error
        if incoming.stopped:
            return self._response("length", usage, incoming.stopped, incoming.limit)
        if incoming.was_silent:
            raise Silent(self._silence) from error
        if (title := page_title(incoming.raw.body)) is not None:
            raise WebPage(title) from error
        raise error or (EndedEarly if incoming.has_content else Nothing)

    async def _take_all(self) -> None:
        pauses = background.Pauses()
        if isinstance(source := getattr(self._stream, "completion_stream", None), AsyncIterable):
            self._stream.completion_stream = _SingleIterator(source)
        with contextlib.suppress(_AllReceived):
            async with contextlib.aclosing(self._stream):
                async for chunk in self._stream:
                    await self._take(chunk)
                    await pauses.pause_when_due()

    async def _take(self, chunk: Any) -> None:
        choices = [one for one in chunk.choices or () if one.delta is not None]
        if choices and self._choice is None:
            self._choice = choices[0].index
        for one in choices:  # other choices were not asked for, and are paid for
            delta = one.delta.model_dump()
            if one.index == self._choice and isinstance(content := delta.get("content"), str):
                self._add_text(self._unicode.take(content))
            if one.index == self._choice:
                self._add_others(delta)
            size = size_of(delta)
            if size and not self._incoming.has_content:
                self._on_sign()
            await self._incoming.take(size)

    def _add_text(self, piece: str) -> None:
        if piece:
            self._stream_text(self._text.take(piece))
            self._stop_loop(self._loops[0], piece)

    def _stream_text(self, piece: str) -> None:
        if piece:
            self._on_text(piece)

    def _add_others(self, delta: Mapping[str, Any]) -> None:
        """Keep what counts if there is no text: arguments of calls, and the beginning of thoughts."""
        for number, piece in _call_arguments(delta.get("tool_calls")):
            self._calls.setdefault(number, []).append(piece)
        reasoning = delta.get("reasoning_content")
        if isinstance(reasoning, str):
            self._reasoning = (self._reasoning + valid_unicode(reasoning))[:_SHOWN]
            self._stop_loop(self._loops[1], reasoning)

    def _stop_loop(self, finder: LoopFinder, piece: str) -> None:
        if finder.take(piece):
            raise _Repeats

    def _response(self, finish_reason: str, usage: Usage, stopped: str = "", limit: str = "") -> ServiceResponse:
        text, thoughts = self._text.answer, (self._text.thoughts or self._reasoning)[:_SHOWN]
        if self._calls:
            whole = _with_calls(text, map("".join, self._calls.values()))
            self._on_text(whole.removeprefix(text))
            text = whole
        if finish_reason == REPEATED:
            text = without_loop(text)
        return ServiceResponse(text, finish_reason, usage, stopped, limit, thoughts)

    async def _complete(self, *, broken: bool) -> ServiceResponse | None:
        """The answer, if it is complete: also if something is broken after its end, or litellm could not read it."""
        # litellm reports "stop" even if a stream just ended; these two have the service's own value.
        if self._incoming.stopped:
            return None
        stream = self._stream
        has_text = bool(self._text.answer or self._text.thoughts or self._calls)
        reason = getattr(stream, "received_finish_reason", None) or getattr(stream, "intermittent_finish_reason", None)
        body = self._incoming.raw.body
        if _GEMINI in body and _END_OF_GEMINI not in body:
            return None
        if has_text and reason is not None:
            return self._response(_reason_text(reason), self._usage(_counts(stream)))
        plain = await background.call_blocking(lambda: read_answer(body)) if body else None
        if plain is not None:
            self._text = AnswerText()
            self._add_text(valid_unicode(plain.text))
            self._stream_text(self._text.end())
            self._incoming.note(len(plain.text.encode("utf-8", "replace")))
            return self._response(_reason_text(plain.finish_reason), self._usage([plain.counts]))
        return None if reason is None or broken else self._response(_reason_text(reason), self._usage(_counts(stream)))

    def _charge(self, *, is_sent: bool = False) -> Usage:
        counts = _counts(self._stream)
        return self._incoming.charge(
            _highest(counts, "prompt_tokens"), _highest(counts, "completion_tokens"), is_sent=is_sent
        )

    def _usage(self, counts: Sequence[Mapping[str, Any]]) -> Usage:
        """The usage that the service counted. litellm also reports guesses, so only counts in the response are used."""
        usage = self._incoming.counted(_highest(counts, "prompt_tokens"), _highest(counts, "completion_tokens"))
        if usage.cost is None:
            return usage
        details = [one for count in counts if isinstance(one := count.get("prompt_tokens_details"), Mapping)]
        cached, written = _highest(details, "cached_tokens") or 0, _highest(details, "cache_creation_tokens") or 0
        return usage.model_copy(update={"cached_tokens": cached, "written_tokens": written})


class _Repeats(Exception):
    """The answer repeats itself."""


class _AllReceived(BaseException):
    """The last piece has come. litellm would now put the answer together for its log, but lets this error pass."""


class _SingleIterator(AsyncIterator[Any]):
    """A stream with one iterator for all its pieces.

    litellm asks for a new one for each piece. That of OpenAI's client is a generator each time, and the event loop
    closes it in its own task: half of the processor time of an answer.
    """

    def __init__(self, stream: AsyncIterable[Any]) -> None:
        self._stream = stream
        self._pieces = aiter(stream)

    async def __anext__(self) -> Any:
        try:
            return await anext(self._pieces)
        except StopAsyncIteration:
            raise _AllReceived from None

    async def aclose(self) -> None:
        """Close the stream as litellm would."""
        close = getattr(self._stream, "aclose", None) or getattr(self._stream, "close", None)
        if close is not None and (closing := close()) is not None:
            await closing


def _reason_text(reason: object) -> str:
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
