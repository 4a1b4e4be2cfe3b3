"""The writer of a function, which also fixes it: by stages with one question each, or as an agent.

Only the loop tests the function and decides whether it passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import ErrorDiagnosis, Trace


class Writer(Protocol):
    """Writes the code and the tests of each attempt into the state that it was created with."""

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped after an independent re-derivation."""
        ...

    @property
    def snapshot(self) -> object:
        """Everything that the next attempt depends on. Equal snapshots mean that a fix changed nothing."""
        ...

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The unusable answers, in order."""
        ...

    @property
    def trace(self) -> Trace | None:
        """What an agent did; None for a writer that works by stages."""
        ...

    async def write(self) -> None:
        """Write the first code and tests. The base environment may not be built yet."""
        ...

    async def fix(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Fix code or tests after a failed verdict.

        Returns:
            The diagnosis, if a model was asked for one.
        """
        ...

    async def close(self) -> None:
        """Stop everything that still runs. Called once, after success, failure or cancel."""
        ...


class WriterFactory(Protocol):
    """Makes the writer of a generation."""

    async def prepare(self) -> None:
        """Import what takes long to import. Called while the model is asked for the plan."""
        ...

    def create(self, state: GenerationState, packages: Packages) -> Writer:
        """Create the writer of one generation.

        Args:
            state: the state of the generation; it has a plan.
            packages: its packages.
        """
        ...
