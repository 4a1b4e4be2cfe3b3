"""The section *Function*: description, signature, assumptions, and the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.calls.outputs import field_names
from autocoder_jupyter.display import parts, readings
from autocoder_jupyter.display.changes import changes_html
from autocoder_jupyter.display.inspector.call_code import variable_name
from autocoder_jupyter.display.inspector.source import source_block
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.html import EMPTY, Html, escape, join
from autocoder_jupyter.view.side_by_side import side_by_side

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Subject
    from autocoder_jupyter.types import InputSpec, Report


def function_section(subject: Subject, *, coloured: bool = True, source: bool = True) -> Html:
    """The section; after a failure the code of the best attempt, with the reason.

    Args:
        subject: the result.
        coloured: whether the code is in colours, which takes five times as many characters.
        source: whether to include the code and its changes.
    """
    report = subject.report
    refinable = report.name if report.success else ""
    code = source_block(code_of(report), f"{report.name}.py", report.name, coloured=coloured) if source else EMPTY
    return join(
        markup.row("Reason", _reason(report)),
        markup.row("Description", escape(report.plan.description if report.plan else "")),
        markup.row("Call", markup.inline_code(call) if (call := signature(report)) else EMPTY),
        markup.row("Assumptions", parts.assumptions(report.plan, refinable)),
        markup.row("Refinements", markup.items(escape(wish) for wish in report.wishes)),
        markup.row("Changes", _changes(report)),
        markup.row("Second opinion", readings.opinion_html(refinable, report.second_opinion)),
        markup.row("Passed", join(parts.evidence_line(report.evidence), parts.warnings(report.evidence, report.trace))),
        parts.refining(refinable) if refinable else EMPTY,
        code,
        markup.details("What changed in the code", _changed_code(report) if source else EMPTY),
        markup.details("How to call it", how_to_call(report) if subject.can_be_called else EMPTY),
        markup.details("Approach", parts.plan_parts(report.plan) if report.plan else EMPTY),
    )


def _changes(report: Report) -> Html:
    if report.changes is None or report.plan is None:
        return EMPTY
    return changes_html(report.changes, report.plan, report.evidence.tests)


def _changed_code(report: Report) -> Html:
    if report.changes is None:
        return EMPTY
    return side_by_side(report.changes.code, code_of(report), "before", "now", equal=False)


def signature(report: Report) -> str:
    """`growth.run(sales: DataFrame, min_orders: int = 5) -> (monthly: DataFrame, best_month: str)`.

    Empty if the run ended before the interface was known.
    """
    if not report.declared_outputs and not report.success:
        return ""
    return parts.signature(report.name, report.declared_inputs, report.declared_outputs)


def code_of(report: Report) -> str:
    """The source, or ""."""
    return report.solution.code if report.solution else ""


def how_to_call(report: Report) -> Html:
    """An example call, and a table of inputs and outputs."""
    if not report.declared_outputs:
        return EMPTY
    rows = [("input", spec.name, spec.written_type, _otherwise(spec), spec.meaning) for spec in report.declared_inputs]
    rows += [("output", spec.name, spec.written_type, "", spec.meaning) for spec in report.declared_outputs]
    table = markup.table(("", "name", "type", "default", "meaning"), rows)
    return join(source_block(example(report)), markup.scrolled(table))


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


def _reason(report: Report) -> Html:
    return markup.text_lines(line for line in (report.error or "").splitlines() if line.strip())
