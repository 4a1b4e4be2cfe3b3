"""Show a started job: bind its name, show its card and its buttons, and wait in the cell where that is wanted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from autocoder_jupyter.concurrency.threads import start_thread
from autocoder_jupyter.display.live import LiveCard, View
from autocoder_jupyter.magics.notebook import Launch, Notebook, NotebookJob, is_result
from autocoder_jupyter.magics.settings import Settings
from autocoder_jupyter.magics.waiting import NO_FUNCTION, FailureWords, wait_in_cell


def waits(notebook: Notebook, settings: Settings) -> bool:
    """Whether the cell waits: as `wait` is set; by default in a terminal and in a run without a user."""
    if settings.origins["wait"] != "default":
        return bool(settings["wait"])
    return notebook.is_headless or notebook.is_terminal


def show_job(
    notebook: Notebook,
    job: NotebookJob,
    card: LiveCard[Any],
    *,
    notices: tuple[str, ...] = (),
    views: tuple[View[Any], ...] | None = None,
) -> Launch:
    """Bind the name of a job to its result and show its card.

    Args:
        notebook: the notebook of the job.
        job: the job.
        card: its card, which already listens to its events.
        notices: messages to the user. A terminal prints them; elsewhere the card shows them.
        views: show the card here instead of in the output of the cell.
    """
    notebook.namespace[job.name] = job.result
    started = Launch(job, card, notebook.cell_id)
    notebook.launched[job.name] = started
    for view in _views(notebook, started) if views is None else (*notebook.front_end.views, *views):
        card.add_view(view)
    card.start()
    if is_result(job.result):
        _follow_splits(started)
    if notebook.is_terminal:  # printed before the cell waits, because the card comes at the end
        print("\n".join(notices), end="\n" * bool(notices))
    return started


def _follow_splits(started: Launch) -> None:
    """Show on the card what is known of how the function may be split; also what an earlier kernel found out."""
    result, card = started.job.result, started.card

    def show() -> None:
        card.add(splits=result.known_splits)

    def ended() -> None:
        show()
        if started.job.tracker.run.is_kept:
            result.recall_split()

    result.on_split(show)
    # The thread that ends a job must not wait, and the report can be read only when that has gone on.
    result.on_done(lambda: start_thread(ended, "autocode-split"))


def wait_for(
    notebook: Notebook,
    started: Launch,
    tell: Callable[[], None],
    ask: Callable[[], None],
    ending: FailureWords = NO_FUNCTION,
    *,
    asks_consent: bool = False,
) -> None:
    """Wait in the cell until a job has ended.

    Args:
        notebook: the notebook of the cell.
        started: the job to wait for.
        tell: prints the progress in a terminal.
        ask: asks the user at a prompt, because clicks do not reach a kernel that runs a cell.
        ending: the text of a failure.
        asks_consent: whether `ask` also asks for consent. If not, a message explains how to give it.

    Raises:
        GenerationFailed, Cancelled: the job failed or was cancelled.
    """

    def decline() -> None:
        if started.job.pending_approval is not None:
            started.job.decline()  # no user can be asked

    def tell_and_ask() -> None:
        if notebook.is_terminal:
            tell()
        ask()

    progress = decline if notebook.is_headless else tell_and_ask
    wait_in_cell(started, progress=progress, ending=ending, asks=asks_consent)


def _views(notebook: Notebook, started: Launch) -> Iterator[View[Any]]:
    """The views of a job: those of a page, the card, and the buttons if a user can click them. None in a terminal."""
    if notebook.is_terminal:
        return
    yield from notebook.front_end.views
    from autocoder_jupyter.display.live import NotebookView

    has_page = notebook.front_end.has_page
    yield NotebookView(started.card.state, started.started, has_page)
    if notebook.is_headless:
        return
    from autocoder_jupyter.display.controls import Controls

    with contextlib.suppress(ImportError):  # without ipywidgets there are no buttons; %autocode cancel works
        yield Controls(started.job, started.card.state, for_page=has_page())
