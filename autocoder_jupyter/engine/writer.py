"""The writer of a function, which also fixes it: by stages with one question each, or as an agent.

The loop tries what was written, and alone decides whether it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.generation_state import GenerationState
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import ErrorDiagnosis, Trace


class Writer(Protocol):
    """Writes the code and the tests of each attempt, into the state that it was made with."""

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped after an independent re-derivation."""
        ...

    @property
    def snapshot(self) -> object:
        """All that the next attempt depends on. If it is the same after a fix, nothing has changed."""
        ...

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The answers that could not be used, in order."""
        ...

    @property
    def trace(self) -> Trace | None:
        """What an agent has done; None for a writer that works by stages."""
        ...

    async def write(self) -> None:
        """Write the first code and tests. The base environment may still be in preparation."""
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


class WriterFactory(Protocol):
    """Makes the writer of a generation."""

    async def prepare(self) -> None:
        """Load what takes long to load. Called while the model is asked for the plan."""
        ...

    def create(self, state: GenerationState, packages: Packages) -> Writer:
        """The writer of one generation.

        Args:
            state: the state of the generation; its plan stands.
            packages: its packages.
        """
        ...
