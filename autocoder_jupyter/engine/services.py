"""The services that the engine uses. They are passed in, so that a test can run the engine like a cell does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.models.protocol import ConfiguredModel
from autocoder_jupyter.models.questions import SentRequest
from autocoder_jupyter.run.events import Emit, Noticed
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.protocol import Sandbox
from autocoder_jupyter.settings.choices import SandboxTier
from autocoder_jupyter.types import PlanQuestion, Report

Ask = Callable[[tuple[PlanQuestion, ...]], Awaitable[tuple[str, ...] | None]]


async def ask_nobody(questions: tuple[PlanQuestion, ...]) -> None:
    """The `ask` of a run without a user."""
    return


Offer = Callable[[Report | None], object]


def offer_nobody(report: Report | None) -> None:
    """The `offer` of a run whose result is only used at its end."""


@dataclass(frozen=True)
class Services:
    """The services of a generation.

    Args:
        model: the language model. Replay, if wanted, is already included and uses the same journal.
        sandbox: builds environments.
        pool: a pool of workers of that sandbox.
        journal: the journal of this result's name; the engine begins the run in it.
        tracker: keeps the record of the run, and is called with every event.
        approve: asks the user about distributions that are not well known; True means approved.
        second_model: the model for the second opinion; None means `model`.
        ask: asks the user the questions of a plan. It returns an answer for each ("" accepts the plan's assumption),
            or None if there is no user to ask.
        tier: the tier of the sandbox; None if it is not known.
        offer: called with the report of a draft (its `success` is False): of the first code as soon as that can run,
            and of later code before its rows are shown; with that of a function that is verified while its second
            opinion still runs, so that it can be used; and with None if that must be changed.
    """

    model: ConfiguredModel
    sandbox: Sandbox
    pool: Pool
    journal: Journal
    tracker: RunTracker[FunctionRun]
    approve: Callable[[tuple[str, ...]], Awaitable[bool]]
    second_model: ConfiguredModel | None = None
    ask: Ask = ask_nobody
    tier: SandboxTier | None = None
    offer: Offer = offer_nobody

    @property
    def emit(self) -> Emit:
        """The function that takes an event."""
        return self.tracker

    def tell_notes(self) -> None:
        """Emit what the journal has to say to the user: files that were repaired or could not be written."""
        for note in self.journal.take_notes():
            self.emit(Noticed(note))

    def add_sent(self, request: SentRequest) -> None:
        """Record a request before it is sent. If the disk is full, the user reads it now, not at the end."""
        self.journal.add_sent(request)
        self.tell_notes()
