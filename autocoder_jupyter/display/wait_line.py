"""The line below a waiting cell: what it waits for, how long, and what an interrupt does. It is removed at the end."""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.concurrency.awaited import Awaited, Wait, Watch, print_obstacles
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import so_far
from autocoder_jupyter.view.markup import element, escape, html_output

logger = redacting_logger(__name__)

DELAY_SECONDS = 1.5
"""A wait that is shorter shows no line."""

UPDATE_SECONDS = 1.0
"""Minimum time between two updates."""


def watch_in_notebook(is_interactive: Callable[[], bool], line: WaitLine) -> Watch:
    """A watch that shows each wait as a line in the output of the cell that waits."""

    @contextmanager
    def watch(wait: Wait) -> Iterator[Callable[[], None]]:
        if threading.current_thread() is not threading.main_thread() or not is_interactive():
            with print_obstacles(wait) as look:
                yield look
            return
        line.begin(wait)
        try:
            yield line.look
        finally:
            line.end(wait)

    return watch


@dataclass
class _Calls:
    """The waits of one name since the line was last cleared: when the first began, and how many have ended."""

    since: float
    done: int = 0


class WaitLine:
    """The line. Many short waits, as for a thousand groups or for calls at once, are one line that counts them.

    Args:
        now: a clock in seconds.
        display: makes a display with `display` and `update`; IPython's by default.
    """

    def __init__(self, *, now: Callable[[], float] = time.monotonic, display: Callable[[], Any] | None = None) -> None:
        self._now = now
        self._display = display or _notebook_display
        self._waits: dict[int, tuple[Wait, float]] = {}
        self._calls: dict[str, _Calls] = {}
        self._rests_since = -math.inf
        self._shown_at: float | None = None
        self._place: Any = None

    def begin(self, wait: Wait) -> None:
        now = self._now()
        if not self._waits and now - self._rests_since > DELAY_SECONDS:
            self.clear()
        self._waits[id(wait)] = wait, now

    def end(self, wait: Wait) -> None:
        """A wait ends. The line of a single wait is removed; that of several stays until `clear`."""
        _, began = self._waits.pop(id(wait))
        self._rests_since = self._now()
        if wait.awaited is None:
            return
        self._calls.setdefault(wait.awaited.name, _Calls(began)).done += 1
        if self._waits or sum(calls.done for calls in self._calls.values()) > 1:
            self._show_when_due(wait.awaited, began)
        else:
            self._remove()

    def look(self) -> None:
        """Show or update the line when it is due. Raises nothing but an interrupt, because the wait must go on."""
        for wait, began in self._waits.values():
            if wait.awaited is not None:
                self._show_when_due(wait.awaited, began)
                return

    def _show_when_due(self, awaited: Awaited, began: float) -> None:
        now, calls = self._now(), self._calls.get(awaited.name)
        since = calls.since if calls else began
        due = since + DELAY_SECONDS if self._shown_at is None else self._shown_at + UPDATE_SECONDS
        if now < due:
            return
        self._shown_at = now
        done = calls.done if calls else 0
        text = wait_text(awaited, now, since if done else awaited.since, done, len(self._waits))
        try:
            self._show(
                html_output(element("div", escape(text), class_="autocode-wait", look="text muted digits"), text)
            )
        except Exception:
            logger.exception("the line of a wait could not be shown")

    def clear(self) -> None:
        """Remove the line from the notebook, and count anew."""
        self._remove()
        self._calls.clear()

    def _remove(self) -> None:
        place, self._place, self._shown_at = self._place, None, None
        if place is not None:
            place.update({}, raw=True)

    def _show(self, bundle: dict[str, str]) -> None:
        if self._place is None:
            self._place = self._display()
            self._place.display(bundle, raw=True)
        else:
            self._place.update(bundle, raw=True)


def wait_text(awaited: Awaited, now: float, since: float, done: int = 0, waiting: int = 1) -> str:
    """`growth.run · 12 s · docker sandbox · interrupt to stop it`; a problem replaces the last two."""
    obstacle = awaited.obstacle()
    if done:
        step = f"{done:,} {'call' if done == 1 else 'calls'} done" + (f", {waiting:,} to go" if waiting > 1 else "")
    else:
        step = awaited.doing()
    rest = (obstacle,) if obstacle else (step, awaited.interrupt)
    return markup.line(awaited.name, so_far(now - since), *rest)


def _notebook_display() -> Any:
    display_module: Any = importlib.import_module("IPython.display")
    return display_module.DisplayHandle()
