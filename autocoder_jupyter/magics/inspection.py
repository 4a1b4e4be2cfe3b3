"""What the inspector of a result needs of this notebook, and which inspectors are open."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display.inspector.subject import Subject, Variable
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Editor, VersionManager
    from autocoder_jupyter.display.inspector.widget import Inspector
    from autocoder_jupyter.request import Share
    from autocoder_jupyter.result import CodeGenEvalResult
    from autocoder_jupyter.types import InputSpec, Report
    from autocoder_jupyter.types.overview import Excerpt, Overview

MAX_OPEN = 12
"""Inspectors that are alive at a time; the one that was shown longest ago is frozen first."""

MAX_VARIABLES = 100
"""Variables of one type that the form looks at."""


def subject_of(result: CodeGenEvalResult) -> Subject:
    """A result that is done."""
    from autocoder_jupyter.engine.journal import sent_record

    report = result.report
    return Subject(
        report=report,
        state=result.state if result.state in ("ready", "failed", "cancelled", "over_budget") else "failed",
        sent=sent_record(result.journal_root, report.name, report.run_id),
        options=result.options,
        overviews=_Samples(result),
    )


def subject_of_report(report: Report, journal_root: Any) -> Subject:
    """A run of which only the record is left."""
    from autocoder_jupyter.engine.journal import sent_record

    return Subject(
        report, "ready" if report.success else "failed", sent_record(journal_root, report.name, report.run_id)
    )


class _Samples:
    """The overviews of a result's samples, made once for each share."""

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
    """The way from the form to the function: the notebook's variables in, the outputs out.

    Args:
        result: with a function that can be trusted.
        namespace: of the notebook; it is only read.
    """

    def __init__(self, result: CodeGenEvalResult, namespace: Mapping[str, Any]) -> None:
        self._result = result
        self._namespace = namespace

    def variables(self, spec: InputSpec) -> Sequence[Variable]:
        """The variables of the notebook that have the type of an input, and whether they fit."""
        from autocoder_jupyter.magics.references import kind_of

        names = [
            name
            for name, value in list(self._namespace.items())
            if not name.startswith("_") and kind_of(value) in (spec.type, "table" if spec.type == "DataFrame" else None)
        ]
        return [self._variable(spec, name) for name in names[:MAX_VARIABLES]]

    def _variable(self, spec: InputSpec, name: str) -> Variable:
        from autocoder_jupyter.magics.references import kind_of

        value = self._namespace.get(name)
        if kind_of(value) == "table":  # of another library: converted, and looked at, when it is used
            return Variable(name, type(value).__name__)
        why = self._result.misfit(spec.name, value)  # a sentence about the input; the variable's name stands before it
        return Variable(name, _size(value), why.removeprefix(f"{spec.name} ").partition("; ")[0])

    def sample(self, name: str) -> str:
        """The size of the sample of an input; "" when there is none."""
        samples = self._result.original_samples
        return _size(samples[name]) if name in samples else ""

    def captured(self, variable: str) -> Any:
        """The value of a variable as it is now.

        Raises:
            InvalidRequest: it is gone, or is no data any more.
        """
        from autocoder_jupyter.data.capture import capture

        if variable not in self._namespace:
            raise InvalidRequest(f"There is no {variable!r} in the notebook any more.", hint="Choose another.")
        return capture(self._namespace[variable])

    async def call(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run the function; its outputs by name."""
        names = [spec.name for spec in self._result.declared_outputs]
        value = await self._result.run.aio(**arguments)
        return {names[0]: value} if len(names) == 1 else dict(zip(names, value, strict=True))

    def excerpt(self, table: Any) -> Excerpt:
        """The first rows of a table."""
        from autocoder_jupyter.data.excerpt import excerpt

        return excerpt(table)


def _size(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None:
        return " × ".join(f"{length:,}" for length in shape) + (" rows" if len(shape) == 1 else "")
    return visible(getattr(value, "path", ""))


@dataclass
class Inspectors:
    """The inspectors of this kernel: one for each result, and the newest result only of each name."""

    _open: dict[str, tuple[CodeGenEvalResult, Inspector]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def of(
        self,
        result: CodeGenEvalResult,
        namespace: Mapping[str, Any],
        editor: Editor | None = None,
        version_manager: VersionManager | None = None,
    ) -> Inspector:
        """The inspector of a result; the one of an older result of that name is frozen.

        Args:
            result: that is done.
            namespace: of the notebook.
            editor: the way to test what a person writes.
            version_manager: the versions of its name.

        Raises:
            ImportError: ipywidgets is not installed.
        """
        with self._lock:  # a result that was awaited is shown from a thread of its own
            return self._of(result, namespace, editor, version_manager)

    def _of(
        self,
        result: CodeGenEvalResult,
        namespace: Mapping[str, Any],
        editor: Editor | None,
        version_manager: VersionManager | None,
    ) -> Inspector:
        from autocoder_jupyter.display.inspector.widget import Inspector

        known = self._open.pop(result.name, None)
        if known is not None and known[0] is result:
            inspector = known[1]
        else:
            if known is not None:
                known[1].freeze()
            caller = NotebookCaller(result, namespace) if result.success else None
            editor = editor if result.plan and result.solution else None
            inspector = Inspector(
                subject_of(result),
                caller,
                editor,
                version_manager if version_manager and version_manager.rows() else None,
            )
        self._open[result.name] = result, inspector
        while len(self._open) > MAX_OPEN:
            self._open.pop(next(iter(self._open)))[1].freeze()
        return inspector

    def freeze(self) -> None:
        """Freeze all of them."""
        with self._lock:
            for _, inspector in self._open.values():
                inspector.freeze()
            self._open.clear()
