"""Waiting for a job inside a cell, so that ■ does what a person expects."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from autocoder_jupyter.concurrency.awaited import Awaited, Wait, print_obstacles
from autocoder_jupyter.concurrency.background import POLL_SECONDS
from autocoder_jupyter.errors import GenerationFailed
from autocoder_jupyter.magics.notebook import Launch


@dataclass(frozen=True)
class Ending:
    """How it is said that there is nothing in the end.

    Args:
        what: comes behind the name.
        hint: what to do next; `{name}` stands for the name.
    """

    what: str
    hint: str


NO_FUNCTION = Ending("could not be built", "The best attempt is on {name}: %autocode show {name}.")
NO_ANSWER = Ending("has no answer", "What its code did: %autocode show {name}.")

SECOND_CHANCE = 2.0
"""Seconds after a first interrupt in which another one cancels."""

LAST_UPDATE_SECONDS = 3.0
"""How long the end of a job may take to reach the card."""


def wait_in_cell(
    launch: Launch,
    *,
    progress: Callable[[], None] = lambda: None,
    ending: Ending = NO_FUNCTION,
    asks: bool = False,
) -> bool:
    """Wait until the job ends. A first interrupt lets go of the job, a second one soon after cancels it.

    Args:
        launch: what to wait for.
        progress: called now and then, on this thread.
        ending: how a failure is said.
        asks: whether `progress` itself asks for consent; else it is said how to give it.

    Returns:
        Whether it ended; False when it goes on in the background.

    Raises:
        GenerationFailed: it ended without a function that can be trusted.
        AutocodeError: what the generation itself raised: no key, no sandbox, cancelled.
    """
    try:
        _until_done(launch, progress, asks=asks)
    except KeyboardInterrupt:
        if not _cancelled_by_second(launch):
            return False
    launch.card.wait(LAST_UPDATE_SECONDS)
    progress()
    _raise_if_failed(launch, ending)
    return True


def _until_done(
    launch: Launch, progress: Callable[[], None], limit: float | None = None, *, asks: bool = False
) -> None:
    deadline = None if limit is None else time.monotonic() + limit
    job = launch.job
    # How far it is stands on the card, right above.
    # What the plan asks, the cell asks by itself (`progress`).
    wait = Wait(Awaited(job.name, str, "", lambda: "" if asks or job.pending_questions else job.obstacle()))
    with print_obstacles(wait) as tell_obstacle:
        while not job.done and (deadline is None or time.monotonic() < deadline):
            progress()
            tell_obstacle()
            launch.card.wait(POLL_SECONDS)


def _cancelled_by_second(launch: Launch) -> bool:
    name = launch.job.name
    print(f"{name} goes on in the background. Interrupt again now to cancel it.")
    try:
        _until_done(launch, lambda: None, SECOND_CHANCE)
    except KeyboardInterrupt:
        launch.job.cancel()
        _until_done(launch, lambda: None, LAST_UPDATE_SECONDS)
        return True
    if launch.job.done:
        return True
    print(f"{name}.wait() waits for it, %autocode cancel {name} ends it.")
    return False


def _raise_if_failed(launch: Launch, ending: Ending) -> None:
    launch.job.result.wait()
    name, state = launch.job.name, launch.job.state
    if state in ("failed", "over_budget"):
        what = "went over its budget" if state == "over_budget" else ending.what
        raise GenerationFailed(f"{name} {what}.", why=launch.card.state.reason, hint=ending.hint.format(name=name))
