"""How long to wait for a service that fails now and may answer soon."""

from __future__ import annotations

import random
from dataclasses import dataclass

_jitter = random.Random()
"""Our own: the user's seeded sequence of random numbers must not depend on how often a service was busy."""


@dataclass(frozen=True)
class Patience:
    """Exponential backoff with jitter.

    Args:
        tries: calls at most, the first included.
        first: seconds before the second call; doubled from call to call.
        longest: seconds of one pause at most, whatever the service asks for.
        total: seconds from the start of the first call; no call begins later.
    """

    tries: int = 6
    first: float = 1.0
    longest: float = 30.0
    total: float = 300.0

    def pause(self, failures: int, elapsed: float, retry_after: float | None) -> float | None:
        """Seconds to wait after this many failures and `elapsed` seconds; None to give up.

        `retry_after` is the time that the service asks for; it is respected up to `longest`.
        """
        if failures >= self.tries:
            return None
        backoff = self.first * 2.0 ** (failures - 1) * _jitter.uniform(0.5, 1.0)
        seconds = min(max(backoff, retry_after or 0.0), self.longest)
        return seconds if elapsed + seconds <= self.total else None
