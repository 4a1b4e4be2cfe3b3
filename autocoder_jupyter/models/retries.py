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
        longest: the maximum seconds of one pause that the service did not ask for.
        total: seconds after the start of the first call in which calls may begin.
    """

    tries: int = 6
    first: float = 1.0
    longest: float = 30.0
    total: float = 300.0

    def pause(self, failures: int, elapsed: float, retry_after: float | None, tries: int | None = None) -> float | None:
        """Seconds to wait after this many failures and `elapsed` seconds; None to give up.

        Args:
            failures: the number of calls that failed.
            elapsed: the seconds since the first one.
            retry_after: the pause that the service asks for. A call before it would be refused as well, so there is
                none if it does not fit into `total`.
            tries: the maximum number of calls for this fault, if it is less than that of all.
        """
        if failures >= min(self.tries, tries or self.tries):
            return None
        backoff = min(self.first * 2.0 ** (failures - 1) * _jitter.uniform(0.5, 1.0), self.longest)
        seconds = max(backoff, retry_after or 0.0)
        return seconds if elapsed + seconds <= self.total else None
