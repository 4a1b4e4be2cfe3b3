"""The card in a notebook's output: one display, updated in place."""

from __future__ import annotations

import importlib
from typing import Any

from autocoder_jupyter.display.card import render_html, render_text
from autocoder_jupyter.display.state import CardState


class NotebookView:
    """Shows states in the output of the cell that made it. Make it in the cell; call it from any thread."""

    def __init__(self, state: CardState) -> None:
        display_module: Any = importlib.import_module("IPython.display")
        self._handle: Any = display_module.DisplayHandle()
        self._shown = _bundle(state)
        self._handle.display(self._shown, raw=True)

    def __call__(self, state: CardState) -> None:
        """Put `state` in the place of what is shown. What would look the same is not sent: an update folds what a
        person has opened.
        """
        bundle = _bundle(state)
        if bundle != self._shown:
            self._shown = bundle
            self._handle.update(bundle, raw=True)


def _bundle(state: CardState) -> dict[str, str]:
    return {"text/html": render_html(state), "text/plain": render_text(state)}
