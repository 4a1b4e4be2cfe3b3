"""The limits of one answer besides its tokens: seconds without content, seconds in all, bytes of the response.

The tokens are limited by the request (`metering.Grant`). A service may ignore that, send signs of life for ever, or
send something that is no answer. Each of these ends here.
"""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.models.protocol import ModelConfig

SPARE_BYTES = 8 * 2**20
BYTES_PER_TOKEN = 4096
"""Bytes of a response: some for everything around the answer, and some for each token. Services that send one token in
an event need 200 to 1,000 bytes for it."""

SLACK = 2
"""An answer is stopped at this multiple of its tokens. They are estimated as four characters each; an answer in
English with much white space has up to six, and a service that keeps to its limit must not be stopped."""


@dataclass(frozen=True)
class AnswerLimits:
    """The limits of one answer.

    Args:
        silence: seconds between two pieces of content, and before the first. Other signs of life do not count.
        total: seconds from the request to the end of the answer.
    """

    silence: float
    total: float

    @classmethod
    def of(cls, config: ModelConfig) -> AnswerLimits:
        """The limits of a model. A `timeout` in its parameters replaces the seconds of silence, in both engines."""
        silence = _seconds(config.params.get("timeout")) or config.seconds
        return cls(silence, max(config.total_seconds, silence))


def most_bytes(room: int) -> int:
    """The maximum number of bytes of a response to a request for `room` tokens."""
    return SPARE_BYTES + BYTES_PER_TOKEN * max(room, 0)


def most_bytes_in_event(room: int) -> int:
    """The maximum number of bytes of one event, which may contain the whole answer."""
    return SPARE_BYTES // 8 + BYTES_PER_TOKEN // 64 * max(room, 0)


def _seconds(timeout: object) -> float | None:
    """A timeout of litellm in seconds: a number, or httpx's object. None if it is neither."""
    timeout = getattr(timeout, "read", timeout)
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    return float(timeout) if is_number and 0 < timeout < float("inf") else None  # type: ignore[operator, arg-type]
