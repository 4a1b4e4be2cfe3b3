"""Wait for a job in a cell, with a useful reaction to an interrupt (■)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from autocoder_jupyter.concurrency.awaited import Awaited, Wait, print_obstacles
from autocoder_jupyter.concurrency.background import POLL_SECONDS
from autocoder_jupyter.errors import GenerationFailed
from autocoder_jupyter.magics.notebook import Launch
from autocoder_jupyter.run.code_run import CodeRun


@dataclass(frozen=True)
class FailureWords:
    """The text of a failure.

    Args:
        what: the text after the name.
        hint: the next step, if there is an attempt to look at; `{name}` is replaced by the name.
    """

    what: str
    hint: str


NO_FUNCTION = FailureWords("could not be built", "%autocode show {name} shows the best attempt.")
NO_ANSWER = FailureWords("has no answer", "%autocode show {name} shows what its code did.")

SECOND_CHANCE = 2.0
"""Seconds after a first interrupt in which a second one cancels the job."""

LAST_UPDATE_SECONDS = 3.0
"""Seconds to wait until the card shows the end of a job."""


def wait_in_cell(
    launch: Launch,
    *,
    progress: Callable[[], None] = lambda: None,
    ending: FailureWords = NO_FUNCTION,
    asks: bool = False,
) -> bool:
    """Wait until the job ends. A first interrupt ends the waiting, a second one soon after cancels the job.

    Args:
        launch: the job to wait for.
        progress: called regularly on this thread.
        ending: the text of a failure.
        asks: whether `progress` asks for consent. If not, a message explains how to give it.

    Returns:
        Whether it ended; False if it continues in the background.

    Raises:
        GenerationFailed: it ended without a function that passed.
        AutocodeError: the error of the generation, such as a missing key or sandbox, or a cancellation.
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
    # The card above shows the progress.
    # `progress` asks the questions of the plan.
    wait = Wait(Awaited(job.name, str, "", lambda: "" if asks or job.pending_questions else job.obstacle()))
    with print_obstacles(wait) as tell_obstacle:
        while not job.done and (deadline is None or time.monotonic() < deadline):
            progress()
            tell_obstacle()
            launch.card.wait(POLL_SECONDS)


def _cancelled_by_second(launch: Launch) -> bool:
    name = launch.job.name
    print(f"{name} continues in the background. Interrupt again now to cancel it.")
    try:
        _until_done(launch, lambda: None, SECOND_CHANCE)
    except KeyboardInterrupt:
        launch.job.cancel()
        _until_done(launch, lambda: None, LAST_UPDATE_SECONDS)
        return True
    if launch.job.done:
        return True
    print(f"{name}.wait() waits for it, %autocode cancel {name} cancels it.")
    return False


def _raise_if_failed(launch: Launch, ending: FailureWords) -> None:
    launch.job.result.wait()
    name, state = launch.job.name, launch.job.state
    if state in ("failed", "over_budget"):
        what = "went over its budget" if state == "over_budget" else ending.what
        shown = launch.card.state
        has_code = bool(shown.blocks if isinstance(shown, CodeRun) else shown.solution)
        hint = ending.hint.format(name=name) if has_code else ""
        raise GenerationFailed(f"{name} {what}.", why=shown.reason, hint=hint)
