"""Counts the bytes that arrive on a connection, also those that clients drop: interim responses, extensions of chunks.

Clients pass neither on and have no hook for them, so the classes that read from the connections of aiohttp and httpx
are wrapped. If a version of theirs has no such method, nothing is counted here, and the limits of time remain.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, Protocol

_MARK = "_counts_what_arrives"


class Counter(Protocol):
    """Counts the bytes of one response."""

    def count_raw(self, size: int) -> bool:
        """Count bytes. Returns whether they are too many."""
        ...


Watching = Callable[[], Counter | None]
"""Returns what counts the response to the current request, if anything does."""


def install(watching: Watching) -> None:
    """Wrap the classes, once."""
    _install_in_aiohttp(watching)
    _install_in_httpx(watching)


def _install_in_aiohttp(watching: Watching) -> None:
    """Data arrive outside of the request's context, so each connection is told the counter of its current request."""
    from aiohttp.client_proto import ResponseHandler

    counters: weakref.WeakKeyDictionary[Any, Counter | None] = weakref.WeakKeyDictionary()
    begin, receive = ResponseHandler.set_response_params, ResponseHandler.data_received
    if hasattr(receive, _MARK):
        return

    @functools.wraps(begin)
    def set_response_params(self: Any, **parameters: Any) -> None:
        counters[self] = watching()
        begin(self, **parameters)

    @functools.wraps(receive)
    def data_received(self: Any, data: bytes) -> None:
        counter = counters.get(self)
        if counter is not None and counter.count_raw(len(data)) and self.transport is not None:
            self.transport.abort()
        else:
            receive(self, data)

    setattr(data_received, _MARK, True)
    # mypy refuses assignments to methods
    setattr(ResponseHandler, "set_response_params", set_response_params)  # noqa: B010
    setattr(ResponseHandler, "data_received", data_received)  # noqa: B010


def _install_in_httpx(watching: Watching) -> None:
    import httpcore
    from httpcore._backends.anyio import AnyIOStream

    original = AnyIOStream.read
    if hasattr(original, _MARK):
        return

    @functools.wraps(original)
    async def read(self: Any, *arguments: Any, **parameters: Any) -> bytes:
        data = await original(self, *arguments, **parameters)
        counter = watching()
        if counter is not None and counter.count_raw(len(data)):
            raise httpcore.ReadError("too many bytes around the content")
        return data

    setattr(read, _MARK, True)
    setattr(AnyIOStream, "read", read)  # noqa: B010
