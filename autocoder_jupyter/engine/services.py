"""What the engine works with, handed to it from above, so that it can be driven by a test as well as by a cell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autocoder_jupyter.engine.events import Emit
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.models.protocol import LanguageModel
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.protocol import Sandbox
from autocoder_jupyter.settings.tiers import SandboxTier
from autocoder_jupyter.types import PlanQuestion

if TYPE_CHECKING:
    from autocoder_jupyter.engine.environment import Packages
    from autocoder_jupyter.engine.work import Work
    from autocoder_jupyter.engine.writer import Writer

Ask = Callable[[tuple[PlanQuestion, ...]], Awaitable[tuple[str, ...] | None]]


async def nobody(questions: tuple[PlanQuestion, ...]) -> None:
    """Nobody is there to be asked."""
    return


@dataclass(frozen=True)
class Services:
    """The outside of a generation.

    Args:
        model: asks; replay, if wanted, is already inside and uses the same journal.
        sandbox: builds environments.
        pool: lends workers of that sandbox.
        journal: of this result's name; the engine begins the run in it.
        emit: is told every event; returns at once.
        approve: asks a person about distributions that are not known to be harmless; True is consent.
        second_model: asks for the second opinion; `model` does when there is none.
        ask: puts the questions of a plan to a person; an answer for each, "" for what is left to the plan, or None
            where there is nobody.
        tier: by what that sandbox holds; None where it is not known.
        writer: makes who writes and mends; the stages of this package do when there is none.
    """

    model: LanguageModel
    sandbox: Sandbox
    pool: Pool
    journal: Journal
    emit: Emit
    approve: Callable[[tuple[str, ...]], Awaitable[bool]]
    second_model: LanguageModel | None = None
    ask: Ask = nobody
    tier: SandboxTier | None = None
    writer: Callable[[Work, Packages], Writer] | None = None
