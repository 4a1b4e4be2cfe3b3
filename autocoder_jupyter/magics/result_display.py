"""Show a result as the last line of a cell: the inspector as a widget, and the same as static HTML.

Every output contains the static HTML, for saved notebooks, exports and front ends without widgets.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.magics.inspection import Inspectors, outputs_of, subject_of
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.pending_display import unfinished
from autocoder_jupyter.magics.terminal import columns

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.inspector import Inspector
    from autocoder_jupyter.display.live import View
    from autocoder_jupyter.result import CodeGenEvalResult
    from autocoder_jupyter.run.events import SampleOutputs
    from autocoder_jupyter.run.function_run import FunctionRun


class NotebookEditor:
    """Tests the code and tests that the user edits in an inspector.

    Args:
        notebook: the notebook of the result.
        result: the result that is edited.
    """

    def __init__(self, notebook: Notebook, result: CodeGenEvalResult) -> None:
        self._notebook = notebook
        self._result = result

    def sources(self) -> tuple[str, str]:
        """Code and tests, as they are on disk now."""
        from autocoder_jupyter.magics.retesting import sources

        return sources(self._notebook, self._result.report)

    def retest(self, code: str, tests: str, view: View[FunctionRun]) -> None:
        """Start to test them. The name is bound to the new result."""
        from autocoder_jupyter.magics.retesting import retest

        retest(self._notebook, self._result.name, code, tests, views=(view,))


class ResultDisplay:
    """Formats results for IPython.

    Args:
        notebook: the notebook that shows them.
    """

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._inspectors = Inspectors()

    def __call__(self, result: CodeGenEvalResult, include: object = None, exclude: object = None) -> dict[str, Any]:
        """The mime bundle of a result; IPython applies `include` and `exclude`. Never waits."""
        if (shown := unfinished(self._notebook, result)) is not None:
            return shown
        from autocoder_jupyter.display.inspector.document import render_html, render_text
        from autocoder_jupyter.display.live import widget_bundle

        outputs = outputs_of(self._notebook, result)
        if self._notebook.is_terminal:
            return {"text/plain": render_text(subject_of(result, outputs), columns=columns())}
        from autocoder_jupyter.view.markup import html_output

        inspector = self._inspector(result, outputs)
        subject = inspector.subject if inspector else subject_of(result, outputs)
        live = widget_bundle(inspector.model_id, for_page=self._notebook.front_end.has_page()) if inspector else {}
        return {**live, **html_output(render_html(subject), repr(result))}

    def _inspector(self, result: CodeGenEvalResult, outputs: SampleOutputs | None) -> Inspector | None:
        if self._notebook.is_headless:
            return None
        from autocoder_jupyter.magics.version_manager import VersionManager

        with contextlib.suppress(ImportError):  # without ipywidgets there is only the static HTML
            notebook = self._notebook
            version_manager = (
                VersionManager(notebook, result.name) if result.journal_root == notebook.journal_root else None
            )
            editor = NotebookEditor(notebook, result)
            return self._inspectors.of(result, notebook.namespace, editor, version_manager, outputs)
        return None

    def close(self) -> None:
        """Freeze all open inspectors."""
        self._inspectors.freeze()
