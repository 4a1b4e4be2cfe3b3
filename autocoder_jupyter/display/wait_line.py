"""The line below a cell that waits: for what, how long, and what an interrupt does. It is removed at the end."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autocoder_jupyter.concurrency.awaited import Awaited, Wait, Watch, print_obstacles
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import so_far
from autocoder_jupyter.view.html import element, escape, html_output

logger = redacting_logger(__name__)

PATIENCE_SECONDS = 1.5
"""A shorter wait shows no line."""

UPDATE_SECONDS = 1.0
"""Least time between two updates."""


def watch_in_notebook(is_interactive: Callable[[], bool]) -> Watch:
    """A watch that shows each wait as a line in the output of the cell that waits.

    Args:
        is_interactive: whether a user looks at the notebook. If not, or in another thread than the main one, problems
            are printed, as in a script.
    """

    @contextmanager
    def watch(wait: Wait) -> Iterator[Callable[[], None]]:
        if threading.current_thread() is not threading.main_thread() or not is_interactive():
            with print_obstacles(wait) as look:
                yield look
            return
        line = WaitLine(wait)
        try:
            yield line.look
        finally:
            line.close()

    return watch


class WaitLine:
    """The line.

    Args:
        wait: the wait that it describes.
        now: a clock in seconds.
        display: makes a display with `display` and `update`; IPython's by default.
    """

    def __init__(
        self, wait: Wait, *, now: Callable[[], float] = time.monotonic, display: Callable[[], Any] | None = None
    ) -> None:
        self._wait = wait
        self._now = now
        self._display = display or _notebook_display
        self._began = now()
        self._shown_at: float | None = None
        self._place: Any = None

    def look(self) -> None:
        """Show or update the line when it is due. Raises nothing but an interrupt, because the wait must go on."""
        now = self._now()
        due = self._began + PATIENCE_SECONDS if self._shown_at is None else self._shown_at + UPDATE_SECONDS
        if self._wait.awaited is None or now < due:
            return
        self._shown_at = now
        try:
            self._show(_bundle(self._wait.awaited, now))
        except Exception:
            logger.exception("the line of a wait could not be shown")

    def close(self) -> None:
        """Remove the line from the notebook."""
        if self._place is not None:
            self._place.update({}, raw=True)

    def _show(self, bundle: dict[str, str]) -> None:
        if self._place is None:
            self._place = self._display()
            self._place.display(bundle, raw=True)
        else:
            self._place.update(bundle, raw=True)


def wait_text(awaited: Awaited, now: float) -> str:
    """`growth.run · 12 s · docker sandbox · interrupt to stop it`; a problem replaces the last two."""
    obstacle = awaited.obstacle()
    rest = (obstacle,) if obstacle else (awaited.doing(), awaited.interrupt)
    return markup.line(awaited.name, so_far(now - awaited.since), *rest)


def _bundle(awaited: Awaited, now: float) -> dict[str, str]:
    text = wait_text(awaited, now)
    return html_output(element("div", escape(text), class_="autocode-wait", look="text muted digits"), text)


def _notebook_display() -> Any:
    display_module: Any = importlib.import_module("IPython.display")
    return display_module.DisplayHandle()
