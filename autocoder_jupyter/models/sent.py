"""What goes over the wire to a model's service: the body of each request, reported before it is sent.

litellm says for every provider what it is about to send (`logger_fn`), in that provider's own form. To some it then
adds a flag; what was told is put right when the service has answered. Continuations, repairs and repeated tries are
requests like the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_HANDED_OVER = ("model", "messages", "response_format", "max_tokens", "temperature")
_NO_PART_OF_THE_BODY = frozenset({"extra_headers", "extra_query", "extra_body", "timeout", "api_key"})


@dataclass(frozen=True)
class SentRequest:
    """One request.

    Args:
        stage: what it is for.
        key: content key of the question.
        to: address of the service, without what may stand in it of a password or a key.
        body: the JSON that is sent. Headers, where keys are, are no part of it.
        number: names the request; who is told the same number again is told better.
    """

    stage: str
    key: str
    to: str
    body: Mapping[str, Any]
    number: int


_numbers = itertools.count(1)


OnSend = Callable[[SentRequest], None]
"""Is told of each request before it is sent."""


class Announcer:
    """A `logger_fn` for one request, which litellm calls also after the answer.

    Args:
        stage, key: of the question.
        on_send: is told.
    """

    def __init__(self, stage: str, key: str, on_send: OnSend) -> None:
        self._stage = stage
        self._key = key
        self._on_send = on_send
        self._number = next(_numbers)
        self._address = ""
        self._announced: Mapping[str, Any] = {}
        self._told: dict[str, Any] | None = None
        self._fault: Exception | None = None

    def __call__(self, details: Mapping[str, Any]) -> None:
        """What litellm says."""
        known = details.get("additional_args") or {}
        body = known.get("complete_input_dict")
        if self._told is not None or details.get("log_event_type") != "pre_api_call" or not isinstance(body, Mapping):
            return
        self._address, self._announced = str(known.get("api_base") or ""), body
        self._tell(_whole(body))

    def put_right(self) -> None:
        """Now that the service has answered, or refused: tell what litellm had added before it sent."""
        if self._told is not None and _whole(self._announced) != self._told:
            self._tell(_whole(self._announced))

    def require_told(self, arguments: Mapping[str, Any]) -> None:
        """Where litellm said nothing, tell what was handed to it.

        Raises:
            Exception: what telling raised; litellm does not pass it on.
        """
        if self._told is None:
            self._address = str(arguments.get("api_base") or "")
            self._tell({name: arguments[name] for name in _HANDED_OVER if name in arguments})
        if self._fault is not None:
            raise self._fault

    def _tell(self, body: dict[str, Any]) -> None:
        self._told = body
        try:
            self._on_send(SentRequest(self._stage, self._key, place(self._address), body, self._number))
        except Exception as error:
            self._fault = error


def _whole(body: Mapping[str, Any]) -> dict[str, Any]:
    whole = {name: value for name, value in body.items() if name not in _NO_PART_OF_THE_BODY}
    return whole | dict(body.get("extra_body") or {})


def place(address: str) -> str:
    """The address without user, password and query."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else ""
