"""A finished result as one document: all sections below each other.

It is the saved form of the inspector, the output of `%autocode show`, and what front ends without widgets show. Its
size is bounded: sections are replaced by shorter forms, the least important first, and at last by a sentence that says
where the full section is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from autocoder_jupyter.calls.outputs import field_names
from autocoder_jupyter.display import card, parts
from autocoder_jupyter.display.inspector.conversation import (
    CONVERSATION_BRIEF,
    CONVERSATION_FACTS,
    CONVERSATION_SAVED,
    TRACE_BRIEF,
    TRACE_FACTS,
    TRACE_LIVE,
    TRACE_SAVED,
    conversation_section,
    trace_lines,
    trace_section,
)
from autocoder_jupyter.display.inspector.data import data_section
from autocoder_jupyter.display.inspector.evidence import (
    attempts_section,
    attempts_with_changes,
    evidence_section,
    opinion_section,
)
from autocoder_jupyter.display.inspector.form import variable_name
from autocoder_jupyter.display.parts import source_block
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.settings.choices import sandbox_line
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import UNDER_WAY, blocks_html, document_html
from autocoder_jupyter.view.as_text import document_text
from autocoder_jupyter.view.document import Block, Diff, Document, Fold, Row, Section, Source, Table, lines, muted
from autocoder_jupyter.view.markup import Html, element, escape

if TYPE_CHECKING:
    from autocoder_jupyter.calls.options import CallOptions
    from autocoder_jupyter.display.inspector.subject import Subject
    from autocoder_jupyter.run.function_run import FunctionRun
    from autocoder_jupyter.types import InputSpec, Report
    from autocoder_jupyter.types.records import Overview


# Environment

LOCK_LINES = 200
"""Locked packages that are shown."""


def environment_section(report: Report, options: CallOptions | None, *, most: int = LOCK_LINES) -> tuple[Block, ...]:
    """The section. Without `options`, the limits of a call are unknown. `most` lines of the lock are shown."""
    rows = {
        "Image": report.image or "",
        "Python": ".".join(map(str, report.python_version or ())),
        "Limits": _limits(options) if options else "",
        "Network": _network(options) if options else "",
        "Variables": _variables(options) if options else "",
        "Packages": ", ".join(report.detected_packages) or ("only the preinstalled ones" if report.sandbox else ""),
        "System": ", ".join(report.detected_system_packages),
    }
    sandbox = parts.sandbox_blocks(sandbox_line(report.sandbox or "", report.sandbox_tier))
    if not any(rows.values()) and not sandbox:
        return lines(["The run ended before a sandbox was started."])
    shown = (Row(label, lines([text], "code" if label == "Image" else "")) for label, text in rows.items())
    return (
        Row("Sandbox", sandbox),
        *shown,
        Fold(f"Locked packages ({len(report.lock)})", (Source(_lock(report, most)),)),
    )


def _limits(options: CallOptions) -> str:
    cores = f"{options.resources.cpu:g} core{'' if options.resources.cpu == 1 else 's'}"
    return f"{cores}, {options.resources.memory} memory, {options.timeout:g} s a call"


def _network(options: CallOptions) -> str:
    return "allowed" if options.network else "none"


def _variables(options: CallOptions) -> str:
    """Names only; a value may be a secret."""
    secrets = [secret.as_env_var or secret.key for secret in options.secrets]
    return ", ".join([*options.env_vars, *(f"{name} (secret)" for name in secrets)])


def _lock(report: Report, most: int) -> str:
    more = len(report.lock) - most
    return "\n".join([*report.pins[:most], *([f"… and {more} more: {report.name}.report.pins"] if more > 0 else [])])


# Function

_ELSEWHERE = ("Agent", "Your tests", "Next")
"""Rows of the card that other sections of the inspector have."""

_FIRST = "Outputs"


def record_of(subject: Subject) -> FunctionRun:
    """The last record of its run."""
    return replace(run_of(subject.report, subject.state), outputs=subject.outputs, splits=subject.splits())


def function_section(subject: Subject, *, coloured: bool = True, with_source: bool = True) -> tuple[Block, ...]:
    """The section, the outputs on the sample first; after a failure the reason, and the code of the best attempt."""
    report = subject.report
    rows = card.rows(record_of(subject))
    if subject.can_be_called:
        rows = tuple(sorted(rows, key=lambda row: row.label != _FIRST))
    code = source_block(code_of(report), f"{report.name}.py", report.name, coloured=coloured)
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
    return source_block(example(report)), Table(("", "name", "type", "default", "meaning"), tuple(rows))


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


# The document

MAX_CHARACTERS = 68_000
"""Characters of HTML; a form stays under 70 KB in a saved notebook. Evidence with a dozen changes fits."""

Part = Literal["all", "code", "tests", "report", "trace"]


def render_html(subject: Subject, part: Part = "all") -> Html:
    """A finished result as HTML."""
    report = subject.report
    if part == "code":
        return blocks_html([source_block(code_of(report), f"{report.name}.py", report.name)])
    if part == "tests":
        sources = (
            source_block(report.tests, f"test_{report.name}.py"),
            source_block(report.blind_tests, f"test_{report.name}_blind.py"),
        )
        return blocks_html([*parts.tests(report.evidence.tests), *sources])
    return document_html(_document(subject, part), MAX_CHARACTERS)


def render_text(subject: Subject, part: Part = "all", columns: int = 0) -> str:
    """The same as text, for a terminal that is so wide; 0 for none."""
    report = subject.report
    if part == "code":
        return markup.plain(code_of(report))
    if part == "tests":
        return markup.plain("\n\n".join(filter(None, (report.tests, report.blind_tests))))
    if part == "trace":
        return markup.lines(trace_lines(report))
    return document_text(_document(subject, part), columns)


def head(subject: Subject) -> Document:
    """The first line of the card, without its sections."""
    state = run_of(subject.report, subject.state)
    named = Document(state.name, card.title(state), card.tone(state), card.facts(state))
    return replace(named, kind="autocode-result", is_indented=True)


def _document(subject: Subject, part: Part) -> Document:
    if part == "trace":
        calls = Section("Trace", trace_section(subject.report, TRACE_LIVE), folded=False)
        return replace(head(subject), sections=(calls,))
    if part == "report":
        return replace(head(subject), sections=_evidence_first(subject))
    overviews = subject.overviews(subject.share)
    return replace(head(subject), sections=_sections(subject, overviews), shorter=_shorter(subject, overviews))


def _sections(subject: Subject, overviews: Mapping[str, Overview]) -> tuple[Section, ...]:
    """All sections. A terminal shows the function and its evidence; `%autocode` has subcommands for the others."""
    report = subject.report
    others = {
        "Second opinion": opinion_section(report),
        "Trace": trace_section(report, TRACE_SAVED),
        "Attempts": attempts_with_changes(report),
        "Data": data_section(subject, overviews),
        "Conversation": conversation_section(report, CONVERSATION_SAVED),
        "Environment": environment_section(report, subject.options),
    }
    return (
        Section("Function", function_section(subject), folded=False),
        Section("Evidence", evidence_section(report)),
        *(Section(title, blocks, only="html") for title, blocks in others.items()),
    )


def _shorter(subject: Subject, overviews: Mapping[str, Overview]) -> tuple[tuple[str, tuple[Block, ...]], ...]:
    """Shorter forms of the sections, the least important first."""
    report = subject.report
    elsewhere = (muted(f"Too long for a saved notebook: %autocode show {report.name} shows it in the kernel."),)
    return (
        ("Conversation", conversation_section(report, CONVERSATION_BRIEF)),
        ("Attempts", attempts_with_changes(report, unified=True)),
        ("Trace", trace_section(report, TRACE_BRIEF)),
        ("Conversation", conversation_section(report, CONVERSATION_FACTS)),
        ("Evidence", evidence_section(report, coloured=False)),
        ("Function", function_section(subject, coloured=False)),
        ("Evidence", (*evidence_section(report, with_source=False), *elsewhere)),
        ("Data", data_section(subject, overviews, words=False)),
        ("Attempts", (*attempts_section(report), *elsewhere)),
        ("Environment", environment_section(report, subject.options, most=0)),
        ("Trace", trace_section(report, TRACE_FACTS)),
        ("Data", elsewhere),
        ("Function", (*function_section(subject, with_source=False), *elsewhere)),
        ("Attempts", elsewhere),
        ("Evidence", elsewhere),
        ("Environment", elsewhere),
        ("Conversation", elsewhere),
        ("Function", elsewhere),
    )


def _evidence_first(subject: Subject) -> tuple[Section, ...]:
    report = subject.report
    return (
        Section("Result", card.rows(record_of(subject)), folded=False),
        Section("Evidence", evidence_section(report), folded=False),
        Section("Environment", environment_section(report, subject.options), only="html"),
    )


def pending_html(words: str, *, waits: bool) -> Html:
    """One line for a result that is not finished; showing it never waits."""
    line = element("span", escape(words), class_=UNDER_WAY)
    return markup.frame("autocode-result", "warn" if waits else "busy", line)
