"""Answers that repeat themselves without end, as small models' do: found while they arrive, by comparing text."""

from __future__ import annotations

import re

REPEATED = "repeated"
"""The finish reason of an answer that was stopped because it repeated itself."""

_WINDOW = 3000
"""Characters at the end of an answer that repeat a quarter of them, or less. Data in an answer vary."""

_COUNTING_WINDOW = 12_000
"""The same for sentences that differ only in their numbers. Rows of data are no sentences."""

_NUMBER = re.compile(r"\d+")
_SENTENCE = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){2}")

_EVERY = 500
"""Characters after which it is looked again."""


class LoopFinder:
    """Finds whether text that arrives only repeats itself, or only counts."""

    def __init__(self) -> None:
        self._tail = ""
        self._unseen = 0

    def take(self, piece: str) -> bool:
        """Take a piece. Returns whether the end of the text is a loop."""
        self._tail = (self._tail + piece)[-_COUNTING_WINDOW:]
        self._unseen += len(piece)
        if len(self._tail) < _WINDOW or self._unseen < _EVERY:
            return False
        self._unseen = 0
        if _period(self._tail[-_WINDOW:]):
            return True
        return len(self._tail) == _COUNTING_WINDOW and bool(_counting_period(self._tail))


def _period(tail: str) -> int:
    """The length of what the text repeats, at most a quarter of it; 0 if it repeats nothing."""
    longest = len(tail) // 4
    found = tail.rfind(tail[longest:], 0, len(tail) - 1) if longest else -1
    return longest - found if found >= 0 else 0


def _counting_period(tail: str) -> int:
    """The same for a text whose numbers count on."""
    plain = _NUMBER.sub("0", tail)
    period = _period(plain)
    return period if _SENTENCE.search(plain[-period:]) else 0


def without_loop(text: str) -> str:
    """The text with its repeated end once."""
    if not (period := _period(text[-_WINDOW:]) or _period(text[-_WINDOW // 10 :])):
        counting = _counting_period(text[-_COUNTING_WINDOW:])
        return text[: counting - _COUNTING_WINDOW] if counting else text
    unit, end = text[-period:], len(text)
    while text[max(end - period, 0) : end] == unit:
        end -= period
    return text[: end + period]
