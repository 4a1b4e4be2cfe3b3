"""How long to wait before a request to a failing service is retried."""

from __future__ import annotations

import random
from dataclasses import dataclass

_jitter = random.Random()
"""A separate generator: retries must not change the user's seeded sequence of random numbers."""


@dataclass(frozen=True)
class Patience:
    """Exponential backoff with jitter.

    Args:
        tries: the maximum number of calls, including the first.
        first: seconds before the second call; doubled for each further call.
        longest: the maximum seconds of one pause, even if the service asks for more.
        total: seconds after the start of the first call in which calls may begin.
    """

    tries: int = 6
    first: float = 1.0
    longest: float = 30.0
    total: float = 300.0

    def pause(self, failures: int, elapsed: float, retry_after: float | None) -> float | None:
        """Seconds to wait after this many failures and `elapsed` seconds; None to give up.

        `retry_after` is the pause that the service asks for; it is respected up to `longest`.
        """
        if failures >= self.tries:
            return None
        backoff = self.first * 2.0 ** (failures - 1) * _jitter.uniform(0.5, 1.0)
        seconds = min(max(backoff, retry_after or 0.0), self.longest)
        return seconds if elapsed + seconds <= self.total else None
