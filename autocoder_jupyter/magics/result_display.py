"""A result as the last line of a cell: the inspector as a widget and as static HTML, or a line while it is pending.

The outputs of a call are shown here too.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.terminal import columns
from autocoder_jupyter.redaction.logs import redacting_logger

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.inspector import Inspector
    from autocoder_jupyter.display.inspector.subject import VersionActions
    from autocoder_jupyter.jobs.code_job import CodeModeResult
    from autocoder_jupyter.request import Share
    from autocoder_jupyter.result import CodeGenEvalResult
    from autocoder_jupyter.run.function_run import FunctionRun
    from autocoder_jupyter.run.record import AsksFor
    from autocoder_jupyter.types import Report
    from autocoder_jupyter.types.records import Overview
    from autocoder_jupyter.view.markup import Html


# Inspectors

MAX_OPEN = 12
"""Maximum number of live inspectors. The one that was shown longest ago is frozen first."""


def card_of(notebook: Notebook, result: CodeGenEvalResult) -> FunctionRun | None:
    """The state of the card of a result; None if no cell of this kernel made it."""
    from autocoder_jupyter.run.function_run import FunctionRun

    launch = notebook.launched.get(result.name)
    state = launch.card.state if launch and launch.job.result is result else None
    return state if isinstance(state, FunctionRun) else None


def subject_of(result: CodeGenEvalResult, card: FunctionRun | None = None) -> Subject:
    """The subject of an inspector for a result that is done."""
    from autocoder_jupyter.engine.journal import sent_record

    report, state = result.report, result.state
    if state == "running" or state == "waiting for approval" or state == "waiting for answers":
        state = "failed"  # it was read before the run had ended
    return Subject(
        report=report,
        state=state,
        asks_for=cast("AsksFor", result.asks_for),
        sent=sent_record(result.journal_root, report.name, report.run_id),
        options=result.options,
        overviews=_Samples(result),
        card=card,
        splits=lambda: result.known_splits,
    )


def subject_of_report(report: Report, journal_root: Path) -> Subject:
    """The subject of an inspector for a run of which only the record exists."""
    from autocoder_jupyter.engine.journal import sent_record
    from autocoder_jupyter.versions import Versions
    from autocoder_jupyter.versions.verification import shown, unverified, unverified_failure

    versions = Versions(journal_root, report.name)
    version = versions.get(report.run_id)
    if version is None:
        if report.success:
            return Subject(unverified(report), "not_verified")
        return Subject(unverified_failure(report), "failed")
    state, report = shown(versions, version)
    return Subject(report, state, sent=sent_record(journal_root, report.name, report.run_id))


class _Samples:
    """The overviews of a result's samples, computed once for each sharing level."""

    def __init__(self, result: CodeGenEvalResult) -> None:
        self._result = result
        self._made: dict[Share | None, Mapping[str, Overview]] = {}

    def __call__(self, share: Share | None) -> Mapping[str, Overview]:
        from autocoder_jupyter.data.overview import overview

        if share not in self._made:
            samples = self._result.original_samples
            self._made[share] = {name: overview(value, share) for name, value in samples.items()}
        return self._made[share]


@dataclass
class Inspectors:
    """The inspectors of this kernel: one for the newest result of each name."""

    _open: dict[str, tuple[CodeGenEvalResult, Inspector]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def of(
        self,
        result: CodeGenEvalResult,
        version_manager: VersionActions | None = None,
        card: FunctionRun | None = None,
    ) -> Inspector:
        """The inspector of a result. The inspector of an older result with that name is frozen."""
        with self._lock:  # a pending result is shown from another thread
            return self._of(result, version_manager, card)

    def _of(
        self, result: CodeGenEvalResult, version_manager: VersionActions | None, card: FunctionRun | None
    ) -> Inspector:
        from autocoder_jupyter.display.inspector.inspector import Inspector

        known = self._open.pop(result.name, None)
        if known is not None and known[0] is result and known[1].subject.report is result.report:
            inspector = known[1]
        else:
            if known is not None:
                known[1].freeze()
            inspector = Inspector(
                subject_of(result, card),
                result if result.can_be_called else None,
                version_manager if version_manager and version_manager.rows() else None,
            )
        self._open[result.name] = result, inspector
        while len(self._open) > MAX_OPEN:
            self._open.pop(next(iter(self._open)))[1].freeze()
        return inspector

    def freeze(self) -> None:
        with self._lock:
            for _, inspector in self._open.values():
                inspector.freeze()
            self._open.clear()


# Outputs of a call: each under its name, as a table, a picture or text

OUTPUTS_TYPE = ("autocoder_jupyter.calls.outputs", "NamedOutputs")
"""Module and name of the type. It is checked by name, so that its module need not be imported."""


def outputs_page(outputs: Any) -> Html:
    """A named tuple of outputs as static HTML."""
    from autocoder_jupyter.data.overview import excerpt
    from autocoder_jupyter.display.outputs import outputs_html
    from autocoder_jupyter.view.markup import NO_FORMULAS, element

    values = {name: _of_pandas(value) for name, value in outputs._asdict().items()}
    page = outputs_html("outputs", values, excerpt)
    return element("div", page, class_=f"autocode-outputs {NO_FORMULAS}", look="text")


def _of_pandas(value: Any) -> Any:
    """A table of another library converted to pandas, to show it. Any other value is returned unchanged."""
    from autocoder_jupyter.data.capture import converted

    table = converted(value)
    return value if table is None else table


# Pending results: a line that is replaced by the result when it is done
#
# *Run All* executes the cell that shows a result long before the result is done.

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
    """Shows pending results in a separate output, because the output of a cell's value cannot be updated."""

    def __init__(self, notebook: Notebook, finished: Callable[[Any], dict[str, Any]]) -> None:
        self._notebook = notebook
        self._finished = finished

    def __call__(self, result: CodeGenEvalResult | CodeModeResult) -> None:
        """Show a result, and return at once."""
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


# Results
#
# Every output contains the static HTML, for saved notebooks, exports and front ends without widgets.


class ResultDisplay:
    """Formats results for IPython."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._inspectors = Inspectors()

    def __call__(self, result: CodeGenEvalResult, include: object = None, exclude: object = None) -> dict[str, Any]:
        """The mime bundle of a result; IPython applies `include` and `exclude`. Never waits."""
        if (shown := unfinished(self._notebook, result)) is not None:
            return shown
        from autocoder_jupyter.display.inspector.document import render_html, render_text
        from autocoder_jupyter.display.live import widget_bundle

        card = card_of(self._notebook, result)
        if self._notebook.is_terminal:
            return {"text/plain": render_text(subject_of(result, card), columns=columns())}
        from autocoder_jupyter.view.markup import html_output

        inspector = self._inspector(result, card)
        subject = inspector.subject if inspector else subject_of(result, card)
        live = widget_bundle(inspector.model_id, for_page=self._notebook.front_end.has_page()) if inspector else {}
        return {**live, **html_output(render_html(subject), repr(result))}

    def _inspector(self, result: CodeGenEvalResult, card: FunctionRun | None) -> Inspector | None:
        if self._notebook.is_headless:
            return None
        from autocoder_jupyter.magics.versions import VersionManager

        with contextlib.suppress(ImportError):  # without ipywidgets there is only the static HTML
            notebook = self._notebook
            version_manager = (
                VersionManager(notebook, result.name) if result.journal_root == notebook.journal_root else None
            )
            return self._inspectors.of(result, version_manager, card)
        return None

    def close(self) -> None:
        """Freeze all open inspectors."""
        self._inspectors.freeze()
