"""A result as the last line of a cell: the inspector as a widget and as static HTML, or a line while it is pending.

The outputs of a call are shown here too.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.display.inspector.subject import InputVariable, Subject
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.terminal import columns
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.inspector import Inspector
    from autocoder_jupyter.display.inspector.subject import Editor, VersionActions
    from autocoder_jupyter.display.live import View
    from autocoder_jupyter.jobs.code_job import CodeModeResult
    from autocoder_jupyter.request import Share
    from autocoder_jupyter.result import CodeGenEvalResult
    from autocoder_jupyter.run.events import SampleOutputs
    from autocoder_jupyter.run.function_run import FunctionRun
    from autocoder_jupyter.types import InputSpec, Report
    from autocoder_jupyter.types.records import Excerpt, Overview
    from autocoder_jupyter.view.markup import Html


# Inspectors

MAX_OPEN = 12
"""Maximum number of live inspectors. The one that was shown longest ago is frozen first."""

MAX_VARIABLES = 100
"""Maximum number of variables of one type that the form checks."""


def outputs_of(notebook: Notebook, result: CodeGenEvalResult) -> SampleOutputs | None:
    """The outputs on the sample that the card of a result shows; None if no cell of this kernel made it."""
    launch = notebook.launched.get(result.name)
    return getattr(launch.card.state, "outputs", None) if launch and launch.job.result is result else None


def subject_of(result: CodeGenEvalResult, outputs: SampleOutputs | None = None) -> Subject:
    """The subject of an inspector for a result that is done."""
    from autocoder_jupyter.engine.journal import sent_record

    report, state = result.report, result.state
    if state == "running" or state == "waiting for approval" or state == "waiting for answers":
        state = "failed"  # it was read before the run had ended
    return Subject(
        report=report,
        state=state,
        sent=sent_record(result.journal_root, report.name, report.run_id),
        options=result.options,
        overviews=_Samples(result),
        outputs=outputs,
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
    return Subject(report, state, sent_record(journal_root, report.name, report.run_id))


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


class NotebookCaller:
    """Calls the function from the inspector's form, with variables of the notebook.

    Args:
        namespace: of the notebook; it is not changed.
    """

    def __init__(self, result: CodeGenEvalResult, namespace: Mapping[str, Any]) -> None:
        self._result = result
        self._namespace = namespace

    def variables(self, spec: InputSpec) -> Sequence[InputVariable]:
        """The variables that have the type of an input, each with the reason why it does not fit, if any."""
        from autocoder_jupyter.magics.references import kind_of

        names = [
            name
            for name, value in list(self._namespace.items())
            if not name.startswith("_") and kind_of(value) in (spec.type, "table" if spec.type == "DataFrame" else None)
        ]
        return [self._variable(spec, name) for name in names[:MAX_VARIABLES]]

    def _variable(self, spec: InputSpec, name: str) -> InputVariable:
        from autocoder_jupyter.magics.references import kind_of
        from autocoder_jupyter.types.of_flyte import has_data_of_flyte

        value = self._namespace.get(name)
        # a table of another library is converted and checked when it is used, and data of Flyte are fetched then
        if kind_of(value) == "table" or has_data_of_flyte({name: value}):
            return InputVariable(name, type(value).__name__)
        why = self._result.misfit(spec.name, value)  # a sentence about the input; it is shown after the variable's name
        return InputVariable(name, _size(value), why.removeprefix(f"{spec.name} ").partition("; ")[0])

    def sample(self, name: str) -> str:
        """The size of the sample of an input; "" if there is none."""
        samples = self._result.original_samples
        return _size(samples[name]) if name in samples else ""

    def captured(self, variable: str) -> Any:
        """The value of a variable as it is now."""
        from autocoder_jupyter.data.capture import capture
        from autocoder_jupyter.data.sources import lazy_kind
        from autocoder_jupyter.types.of_flyte import has_data_of_flyte

        if variable not in self._namespace:
            raise InvalidRequest(f"There is no {variable!r} in the notebook any more.", hint="Choose another variable.")
        value = self._namespace[variable]
        is_elsewhere = lazy_kind(value) is not None or has_data_of_flyte({variable: value})
        return value if is_elsewhere else capture(value)  # the call fetches it, or computes it if it is small

    async def call(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run the function. Returns its outputs by name."""
        names = [spec.name for spec in self._result.declared_outputs]
        value = await self._result.run.aio(**arguments)
        return {names[0]: value} if len(names) == 1 else dict(zip(names, value, strict=True))

    def check_split(self) -> None:
        """Start to find out how the function may be split."""
        self._result.check_split()

    def on_split(self, callback: Callable[[], object]) -> None:
        """Call the callback whenever more is known of that."""
        self._result.on_split(callback)

    def excerpt(self, table: Any) -> Excerpt:
        """The first rows of a table."""
        from autocoder_jupyter.data.overview import excerpt

        return excerpt(table)


def _size(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None:
        return " × ".join(f"{length:,}" for length in shape) + (" rows" if len(shape) == 1 else "")
    return visible(getattr(value, "path", ""))


@dataclass
class Inspectors:
    """The inspectors of this kernel: one for the newest result of each name."""

    _open: dict[str, tuple[CodeGenEvalResult, Inspector]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def of(
        self,
        result: CodeGenEvalResult,
        namespace: Mapping[str, Any],
        editor: Editor | None = None,
        version_manager: VersionActions | None = None,
        outputs: SampleOutputs | None = None,
    ) -> Inspector:
        """The inspector of a result. The inspector of an older result with that name is frozen."""
        with self._lock:  # a pending result is shown from another thread
            return self._of(result, namespace, editor, version_manager, outputs)

    def _of(
        self,
        result: CodeGenEvalResult,
        namespace: Mapping[str, Any],
        editor: Editor | None,
        version_manager: VersionActions | None,
        outputs: SampleOutputs | None,
    ) -> Inspector:
        from autocoder_jupyter.display.inspector.inspector import Inspector

        known = self._open.pop(result.name, None)
        if known is not None and known[0] is result and known[1].subject.report is result.report:
            inspector = known[1]
        else:
            if known is not None:
                known[1].freeze()
            caller = NotebookCaller(result, namespace) if result.can_be_called else None
            editor = editor if result.plan and result.solution else None
            inspector = Inspector(
                subject_of(result, outputs),
                caller,
                editor,
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


class NotebookEditor:
    """Tests the code and tests that the user edits in an inspector."""

    def __init__(self, notebook: Notebook, result: CodeGenEvalResult) -> None:
        self._notebook = notebook
        self._result = result

    def sources(self) -> tuple[str, str]:
        """Code and tests, as they are on disk now."""
        from autocoder_jupyter.magics.own_tests import sources

        return sources(self._notebook, self._result.report)

    def retest(self, code: str, tests: str, view: View[FunctionRun]) -> None:
        """Start to test them. The name is bound to the new result."""
        from autocoder_jupyter.magics.own_tests import retest

        retest(self._notebook, self._result.name, code, tests, views=(view,))


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
        from autocoder_jupyter.magics.versions import VersionManager

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
