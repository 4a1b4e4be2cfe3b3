"""What the engine works with. It is given from outside, so that a test can drive the engine as a cell does."""

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
    from autocoder_jupyter.engine.writer import WriterFactory

Ask = Callable[[tuple[PlanQuestion, ...]], Awaitable[tuple[str, ...] | None]]


async def ask_nobody(questions: tuple[PlanQuestion, ...]) -> None:
    """The `ask` of a run where no user can be asked."""
    return


@dataclass(frozen=True)
class Services:
    """The outside of a generation.

    Args:
        model: asks; replay, if wanted, is already inside and uses the same journal.
        sandbox: builds environments.
        pool: a pool of workers of that sandbox.
        journal: the journal of this result's name; the engine begins the run in it.
        emit: is told every event; returns at once.
        approve: asks the user about distributions that are not known to be harmless; True is consent.
        writer: makes the writer of code and tests, by stages or by an agent.
        second_model: asks for the second opinion; `model` does when there is none.
        ask: puts the questions of a plan to the user; an answer for each, "" for what is left to the plan, or None
            where no user can be asked.
        tier: by what that sandbox holds; None where it is not known.
    """

    model: LanguageModel
    sandbox: Sandbox
    pool: Pool
    journal: Journal
    emit: Emit
    approve: Callable[[tuple[str, ...]], Awaitable[bool]]
    writer: WriterFactory
    second_model: LanguageModel | None = None
    ask: Ask = ask_nobody
    tier: SandboxTier | None = None
