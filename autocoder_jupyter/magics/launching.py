"""From a job that was started to what a person sees of it: the bound name, the card, the strip, the waiting cell."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from autocoder_jupyter.display.live import LiveCard, View
from autocoder_jupyter.magics.notebook import Job, Launch, Notebook
from autocoder_jupyter.magics.settings import Settings
from autocoder_jupyter.magics.waiting import NO_FUNCTION, Ending, wait_in_cell


def waits(notebook: Notebook, settings: Settings) -> bool:
    """Whether the cell itself waits: when told to, and by default where nobody could look later."""
    if settings.origins["wait"] != "default":
        return bool(settings["wait"])
    return notebook.is_headless or notebook.is_terminal


def show_job(
    notebook: Notebook,
    job: Job,
    card: LiveCard[Any],
    *,
    notices: tuple[str, ...] = (),
    views: tuple[View[Any], ...] | None = None,
) -> Launch:
    """Bind the name of a job to its result and show its card.

    Args:
        notebook: where it was started.
        job: of that name.
        card: listens to it already.
        notices: what the person should know before; a card has it as its notice.
        views: show the card, in place of an output of the cell.
    """
    notebook.namespace[job.name] = job.result
    started = Launch(job, card, notebook.cell_id)
    notebook.launched[job.name] = started
    for view in _views(notebook, started) if views is None else (*notebook.front_end.views, *views):
        card.add_view(view)
    card.start()
    if notebook.is_terminal:  # before it waits, not with the card at the end
        print("\n".join(notices), end="\n" * bool(notices))
    return started


def wait_for(
    notebook: Notebook,
    started: Launch,
    tell: Callable[[], None],
    ask: Callable[[], None],
    ending: Ending = NO_FUNCTION,
    *,
    asks_consent: bool = False,
) -> None:
    """Wait in the cell until a job has ended.

    Args:
        notebook: whose cell waits.
        started: what to wait for.
        tell: prints what is new, in a terminal.
        ask: puts what the job asks to the person: no click reaches a kernel that is busy with the cell.
        ending: how a failure is said.
        asks_consent: whether `ask` asks for consent too; else it is said how to give it.

    Raises:
        GenerationFailed, Cancelled: that is how it ended.
    """

    def decline() -> None:
        if started.job.pending_approval is not None:
            started.job.decline()  # nobody is there to be asked

    def tell_and_ask() -> None:
        if notebook.is_terminal:
            tell()
        ask()

    progress = decline if notebook.is_headless else tell_and_ask
    wait_in_cell(started, progress=progress, ending=ending, asks=asks_consent)


def _views(notebook: Notebook, started: Launch) -> Iterator[View[Any]]:
    """The card, what a page adds, and the strip of buttons where somebody could click them; nothing in a terminal."""
    if notebook.is_terminal:
        return
    yield from notebook.front_end.views
    from autocoder_jupyter.display.view import NotebookView

    has_page = notebook.front_end.has_page
    yield NotebookView(started.card.state, started.started, has_page)
    if notebook.is_headless:
        return
    from autocoder_jupyter.display.controls import Controls

    with contextlib.suppress(ImportError):  # without ipywidgets there is %autocode cancel
        yield Controls(started.job, started.card.state, for_page=has_page())
