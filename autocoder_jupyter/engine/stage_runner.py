"""Runs the stages of a generation and emits an event when a stage begins or ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.run.events import Emit, StageFinished, StageStarted
from autocoder_jupyter.types import Exchange
from autocoder_jupyter.types.records import StageName

T = TypeVar("T")


class StageRunner:
    """Runs stages, and counts attempts.

    Args:
        emit: called with an event when a stage begins or ends.
        exchanges: returns all exchanges with models so far.
        attempts_allowed: the maximum number of attempts.

    Attributes:
        attempt: the number of the current attempt, from 1.
        attempts_allowed: see above; the loop may raise it.
        answers_at_fault: the answers that would cause a failure: those of the newest sources, or the unusable ones.
    """

    def __init__(self, emit: Emit, exchanges: Callable[[], Sequence[Exchange]], attempts_allowed: int) -> None:
        self._emit = emit
        self.exchanges = exchanges
        self.attempt = 1
        self.attempts_allowed = attempts_allowed
        self.answers_at_fault: Sequence[Exchange] = ()

    def started(self, stage: StageName) -> None:
        """Emit that a stage begins."""
        self._emit(StageStarted(stage, self.attempt, self.attempts_allowed))

    def finished(self, stage: StageName, ok: bool, *, replayed: bool = False) -> None:
        """Emit how a stage ended."""
        self._emit(StageFinished(stage, self.attempt, ok, replayed=replayed))

    async def run(self, stage: StageName, work: Callable[[], Awaitable[T]]) -> T:
        """Run the work of a stage."""
        self.started(stage)
        before = len(self._exchanges_of(stage))
        try:
            outcome = await work()
        except BaseException as error:
            if isinstance(error, Exception) and isinstance(innermost(error), UnusableAnswer):
                self.answers_at_fault = self._exchanges_of(stage)[before:]
            self.finished(stage, False)
            raise
        exchanges = self._exchanges_of(stage)[before:]
        replayed = bool(exchanges) and all(exchange.replayed for exchange in exchanges)
        self.finished(stage, True, replayed=replayed)
        return outcome

    def _exchanges_of(self, stage: StageName) -> list[Exchange]:
        return [exchange for exchange in self.exchanges() if exchange.stage == stage]


def innermost(error: Exception) -> Exception:
    """The first error of the first failed task, if a task group has wrapped it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
