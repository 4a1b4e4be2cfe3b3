"""Who writes a function and mends it: the stages of this package, or an agent of somebody else's.

The loop tries what was written, and alone decides whether it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import CodePlan, ErrorDiagnosis, Trace


class Writer(Protocol):
    """Makes what an attempt is made with. All that it writes goes into the generation's `Work`."""

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped after an independent re-derivation."""
        ...

    @property
    def state(self) -> object:
        """All that the next attempt depends on, to see whether a mending changed anything."""
        ...

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The answers that could not be used, in order."""
        ...

    @property
    def trace(self) -> Trace | None:
        """What an agent has done; None for one that works by stages."""
        ...

    async def plan(self) -> CodePlan:
        """The interface and the assumptions."""
        ...

    async def write(self) -> None:
        """Code and tests for the plan that `Work` has. The base environment may still be on its way."""
        ...

    async def mend(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Act on a verdict that is no success.

        Returns:
            The diagnosis, when a model was asked for one.
        """
        ...

    async def close(self) -> None:
        """End what still runs. Called once, however the generation ended."""
        ...
