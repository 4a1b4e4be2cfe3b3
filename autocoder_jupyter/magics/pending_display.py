"""Show a pending result: a line that is replaced by the result when it is done.

*Run All* executes the cell that shows a result long before the result is done.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.concurrency.threads import start_thread
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.redaction.logs import redacting_logger

if TYPE_CHECKING:
    from autocoder_jupyter.jobs.code_job import CodeModeResult
    from autocoder_jupyter.result import CodeGenEvalResult

_log = redacting_logger(__name__)


def unfinished(notebook: Notebook, result: CodeGenEvalResult | CodeModeResult) -> dict[str, Any] | None:
    """The mime bundle of a result that cannot be used yet; None for a result to show. Never waits."""
    if result.is_usable:
        return None
    words = repr(result)
    if notebook.is_terminal:
        return {"text/plain": words}
    from autocoder_jupyter.display.inspector.document import pending_html
    from autocoder_jupyter.view.markup import html_output

    return {**html_output(pending_html(words, waits=result.state.startswith("waiting")), words)}


class PendingDisplay:
    """Shows pending results in a separate output, because the output of a cell's value cannot be updated.

    Args:
        notebook: the notebook that shows them.
        finished: formats a result that is done.
    """

    def __init__(self, notebook: Notebook, finished: Callable[[Any], dict[str, Any]]) -> None:
        self._notebook = notebook
        self._finished = finished

    def __call__(self, result: CodeGenEvalResult | CodeModeResult) -> None:
        """Show a result, and return at once.

        Raises:
            NotImplementedError: tells IPython to use the other formatters. The result is done, or no user is there
                to see the output change.
        """
        if result.done or self._notebook.is_terminal or self._notebook.is_headless:
            raise NotImplementedError
        from autocoder_jupyter.display.inspector.document import pending_html
        from autocoder_jupyter.view.markup import html_output

        handle: Any = importlib.import_module("IPython.display").DisplayHandle()
        if result.is_usable:  # verified; the second opinion is added at the end
            handle.display(self._finished(result), raw=True)
            result.on_done(lambda: self._show_soon(result, handle))
            return
        words = f"{result.name} is {result.state.replace('_', ' ')}: it is shown here when it is ready."
        if getattr(result, "last_good", None) is not None:
            words += f" {result.name}.last_good is the last good version."
        line = pending_html(words, waits=result.state.startswith("waiting"))
        handle.display({**self._for_page(result), **html_output(line, words)}, raw=True)
        result.on_usable(lambda: None if result.done else self._show_soon(result, handle))
        result.on_done(lambda: self._show_soon(result, handle))

    def _for_page(self, result: CodeGenEvalResult | CodeModeResult) -> dict[str, Any]:
        """A mime type for pages with the extension: they update outputs themselves after the page was reloaded."""
        from autocoder_jupyter.display.live import pending_result

        launch = self._notebook.launched.get(result.name)
        if launch is None or launch.job.result is not result or not self._notebook.front_end.has_page():
            return {}
        return pending_result(result.name, launch.started)

    def _show_soon(self, result: CodeGenEvalResult | CodeModeResult, handle: Any) -> None:
        # The thread that ends a job must not wait for a display.
        start_thread(partial(self._show, result, handle), "autocode-result")

    def _show(self, result: CodeGenEvalResult | CodeModeResult, handle: Any) -> None:
        try:
            handle.update(self._finished(result), raw=True)
        except Exception:
            _log.exception("%s could not be shown", result.name)
