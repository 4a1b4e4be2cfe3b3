"""The card in a notebook's output: one display, updated in place."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from autocoder_jupyter.display.bundles import card_bundle
from autocoder_jupyter.display.shown import Shown


class NotebookView:
    """Shows states in the output of the cell that made it. Make it in the cell; call it from any thread.

    Args:
        state: the first state.
        started: start of the run, in seconds since 1970.
        has_page: whether our lab extension is present; that may change.
    """

    def __init__(self, state: Shown, started: float, has_page: Callable[[], bool]) -> None:
        display_module: Any = importlib.import_module("IPython.display")
        self._started = started
        self._has_page = has_page
        self._handle: Any = display_module.DisplayHandle()
        self._shown = self._key(state)
        self._handle.display(self._bundle(state), raw=True)

    def __call__(self, state: Shown) -> None:
        """Show `state`. Nothing is rendered or sent if the card would be the same: rendering holds the interpreter, and
        an update closes the parts that the user has opened.
        """
        key = self._key(state)
        if key != self._shown:
            self._shown = key
            self._handle.update(self._bundle(state), raw=True)

    def _key(self, state: Shown) -> tuple[Shown, bool]:
        return state.still, self._has_page()

    def _bundle(self, state: Shown) -> dict[str, Any]:
        return card_bundle(state, self._started, for_page=self._has_page())
