"""The display of an answer of code mode as the last line of a cell: its card, and its charts below the card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.result_display import PendingDisplay, unfinished
from autocoder_jupyter.magics.terminal import columns

if TYPE_CHECKING:
    from autocoder_jupyter.jobs.code_job import CodeModeResult


class AnswerDisplay:
    """Formats answers for IPython."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._pending = PendingDisplay(notebook, self)

    def __call__(self, result: CodeModeResult, include: object = None, exclude: object = None) -> dict[str, Any]:
        """The mime bundle of an answer. Never waits."""
        if (shown := unfinished(self._notebook, result)) is not None:
            return shown
        from autocoder_jupyter.display.live import card_html, card_text
        from autocoder_jupyter.magics.codemode.cell import state_of
        from autocoder_jupyter.view.markup import html_output

        if self._notebook.is_terminal:
            return {"text/plain": card_text(state_of(result), columns())}
        return {**html_output(card_html(state_of(result)), repr(result))}

    def show(self, result: CodeModeResult) -> None:
        """Show a pending answer, or an answer with charts, in separate outputs."""
        if result.done:
            self._show_with_charts(result)
        else:
            self._pending(result)

    def _show_with_charts(self, result: CodeModeResult) -> None:
        if self._notebook.is_terminal:
            raise NotImplementedError
        from autocoder_jupyter.display.charts import drawn

        for_page = self._notebook.front_end.has_page()
        shown = (drawn(chart, for_page=for_page) for chart in result.charts)
        charts = [bundle for bundle in shown if bundle is not None]
        if not charts:
            raise NotImplementedError
        for bundle in (self(result), *charts):
            self._notebook.shell.display_pub.publish(bundle)
