"""Reports the body of each request to a model's service before it is sent.

litellm calls `logger_fn` with the request, in the form of each provider. For some providers it adds a flag afterwards;
then the report is corrected when the service has answered. Continuations, repairs and retries are reported too.
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
        stage: its purpose.
        key: content key of the question.
        to: address of the service, without passwords and keys.
        body: the JSON that is sent, without headers, because these contain keys.
        number: the id of the request. A second report with the same number corrects the first.
    """

    stage: str
    key: str
    to: str
    body: Mapping[str, Any]
    number: int


_numbers = itertools.count(1)


OnSend = Callable[[SentRequest], None]
"""Called with each request before it is sent."""


class Announcer:
    """A `logger_fn` for one request. litellm calls it after the answer, too.

    Args:
        stage, key: stage and key of the question.
        on_send: called with the request.
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
        """Take litellm's details of the request, and report it."""
        known = details.get("additional_args") or {}
        body = known.get("complete_input_dict")
        if self._told is not None or details.get("log_event_type") != "pre_api_call" or not isinstance(body, Mapping):
            return
        self._address, self._announced = str(known.get("api_base") or ""), body
        self._tell(_whole(body))

    def put_right(self) -> None:
        """After the answer: report the request again if litellm changed it before it was sent."""
        if self._told is not None and _whole(self._announced) != self._told:
            self._tell(_whole(self._announced))

    def require_told(self, arguments: Mapping[str, Any]) -> None:
        """If litellm did not report the request, report the arguments instead.

        Raises:
            Exception: the error of `on_send`, which litellm suppresses.
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
