"""The bytes of a response: limited, whatever their form, and kept for the case that litellm cannot read the answer.

litellm and the clients below it read a line or an error message of any length into memory, and unpack what is
compressed. They have no parameter for that, and the whole process shares their connections. So `install` wraps the
transports of httpx once; the wrapper does something only inside of `watched`, which is used for requests of this
package.
"""

from __future__ import annotations

import codecs
import functools
import re
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from autocoder_jupyter.concurrency.background import Pauses
from autocoder_jupyter.untrusted.visible import visible

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
"""Most characters of an address that are shown."""

_UNPACKED = ("gzip", "x-gzip", "deflate")
_MARK = "_limits_what_is_received"
_EITHER_FORMAT = 47
"""zlib's code for data in the format of gzip or of zlib."""


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

    def begin(self, kind: str) -> None:
        """A response of this content type begins."""
        self._begin(kind.partition(";")[0].strip().lower())

    def repaired(self, data: bytes) -> bytes:
        """The data with U+FFFD instead of what is not valid UTF-8, if it is text. Clients would stop reading there."""
        return self._decoder.decode(data).encode() if self._is_text else data

    def count(self, data: bytes) -> None:
        """Count data.

        Raises:
            httpx.ReadError: there is too much.
        """
        self._size += len(data)
        if self._size > self.most:
            self.refuse(f"more than {self.most / 2**20:.0f} MiB")

    def keep(self, data: bytes) -> None:
        """Keep unpacked data.

        Raises:
            httpx.ReadError: an event is too long.
        """
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
        """Stop reading because of what the service sent.

        Raises:
            httpx.ReadError: always.
        """
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


def install() -> None:
    """Wrap the transports of httpx and litellm, once."""
    import httpx
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    for transport in (httpx.AsyncHTTPTransport, LiteLLMAiohttpTransport):
        original = transport.handle_async_request
        if not hasattr(original, _MARK):
            setattr(transport, "handle_async_request", _limiting(original))  # noqa: B010 (mypy refuses an assignment)


def _limiting(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        received = _watching.get()
        if received is None:
            return await original(self, request)
        request.headers["accept-encoding"] = "identity"  # a small packed response can be a huge one
        response = await original(self, request)
        if (elsewhere := _redirected(request, response)) is not None:
            await response.stream.aclose()
            received.refuse(f"a redirect to {elsewhere}")
        return _limited(response, received)

    setattr(handle_async_request, _MARK, True)
    return handle_async_request


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
    if packed in _UNPACKED:
        del headers["content-encoding"]

    class UnpackedStream(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            if packed not in ("", "identity", *_UNPACKED):  # these cannot be unpacked in small pieces
                raise httpx.DecodingError(f"the response is packed as {packed}, which was not asked for")
            unpacker = zlib.decompressobj(_EITHER_FORMAT) if packed in _UNPACKED else None
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
