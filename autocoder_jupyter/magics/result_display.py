"""What a result shows as the last line of a cell: the inspector where it lives, and the static form beside it.

The static form goes with every output: it is what a saved notebook, an export or another front end has.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.magics.inspection import Inspectors, subject_of
from autocoder_jupyter.magics.notebook import Notebook

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.widget import Inspector
    from autocoder_jupyter.result import CodeGenEvalResult

INSPECTOR = "application/vnd.autocoder-jupyter.inspector+json"
"""Rendered by our lab extension: the widget while it lives, else the static form of the same output."""

WIDGET = "application/vnd.jupyter.widget-view+json"


class ResultDisplay:
    """Formats results for IPython.

    Args:
        notebook: where they are shown.
    """

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._inspectors = Inspectors()

    def __call__(self, result: CodeGenEvalResult, include: object = None, exclude: object = None) -> dict[str, Any]:
        """The bundle of a result, by mime type; IPython applies `include` and `exclude`. Never waits."""
        words = {"text/plain": repr(result)}
        if self._notebook.is_terminal:
            return words
        from autocoder_jupyter.display.inspector.static import pending_html, render_html

        if not result.done:
            waits = result.state == "waiting for approval"
            return {"text/html": pending_html(repr(result), waits=waits), **words}
        inspector = self._inspector(result)
        subject = inspector.subject if inspector else subject_of(result)
        live = self._live(result.name, inspector) if inspector else {}
        return {**live, "text/html": render_html(subject), **words}

    def _inspector(self, result: CodeGenEvalResult) -> Inspector | None:
        if self._notebook.is_headless:
            return None
        with contextlib.suppress(ImportError):  # without ipywidgets the static form is all there is
            return self._inspectors.of(result, self._notebook.namespace)
        return None

    def _live(self, name: str, inspector: Inspector) -> dict[str, Any]:
        if self._notebook.front_end.has_page():
            return {INSPECTOR: {"name": name, "model_id": inspector.model_id}}
        return {WIDGET: {"version_major": 2, "version_minor": 0, "model_id": inspector.model_id}}

    def close(self) -> None:
        """Freeze what is open."""
        self._inspectors.freeze()
