"""The section *Function*: the rows of the card, the code, and how to call it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from autocoder_jupyter.calls.outputs import field_names
from autocoder_jupyter.display import card, parts
from autocoder_jupyter.display.inspector.call_code import variable_name
from autocoder_jupyter.display.inspector.source import source
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.view.document import Block, Diff, Fold, Table

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Subject
    from autocoder_jupyter.run.function_run import FunctionRun
    from autocoder_jupyter.types import InputSpec, Report

_ELSEWHERE = ("Agent", "Your tests", "Next")
"""Rows of the card that other sections of the inspector have."""

_FIRST = "Outputs"


def record_of(subject: Subject) -> FunctionRun:
    """The last record of its run."""
    return replace(run_of(subject.report, subject.state), outputs=subject.outputs, splits=subject.splits())


def function_section(subject: Subject, *, coloured: bool = True, with_source: bool = True) -> tuple[Block, ...]:
    """The section, the outputs on the sample first; after a failure the reason, and the code of the best attempt.

    Args:
        subject: the result.
        coloured: whether the code is in colours, which takes five times as many characters.
        with_source: whether to include the code and its changes.
    """
    report = subject.report
    rows = card.rows(record_of(subject))
    if subject.can_be_called:
        rows = tuple(sorted(rows, key=lambda row: row.label != _FIRST))
    code = source(code_of(report), f"{report.name}.py", report.name, coloured=coloured)
    return (
        *(replace(row, only="text") if row.label in _ELSEWHERE else row for row in rows),
        *((code,) if with_source else ()),
        Fold("What changed in the code", _changed_code(report) if with_source else (), only="html"),
        Fold("How to call it", how_to_call(report) if subject.can_be_called else (), only="html"),
        Fold("Approach", parts.plan_blocks(report.plan) if report.plan else (), only="html"),
    )


def _changed_code(report: Report) -> tuple[Block, ...]:
    if report.changes is None:
        return ()
    return (Diff(report.changes.code, code_of(report), sides=True, equal=False),)


def code_of(report: Report) -> str:
    """The source, or ""."""
    return report.solution.code if report.solution else ""


def how_to_call(report: Report) -> tuple[Block, ...]:
    """An example call, and a table of inputs and outputs."""
    if not report.declared_outputs:
        return ()
    rows = [("input", spec.name, spec.written_type, _otherwise(spec), spec.meaning) for spec in report.declared_inputs]
    rows += [("output", spec.name, spec.written_type, "", spec.meaning) for spec in report.declared_outputs]
    return source(example(report)), Table(("", "name", "type", "default", "meaning"), tuple(rows))


def example(report: Report) -> str:
    """`monthly, best_month = growth.run()`."""
    returned = ", ".join(field_names([spec.name for spec in report.declared_outputs]))
    call = f"{returned} = {variable_name(report.name)}.run"
    needed = [spec.name for spec in report.declared_inputs if spec.required and KINDS[spec.type].form == "table"]
    if not needed or not all(map(str.isidentifier, needed)):
        return f"{call}()"
    return f"{call}()  # on the sample\n{call}({', '.join(needed)})"


def _otherwise(spec: InputSpec) -> str:
    return "the sample, if given" if spec.required else repr(spec.default)
