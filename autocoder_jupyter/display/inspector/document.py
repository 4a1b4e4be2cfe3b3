"""A finished result as one document: all sections below each other.

It is the saved form of the inspector, the output of `%autocode show`, and what front ends without widgets show. Its
size is bounded: sections are replaced by shorter forms, the least important first, and at last by a sentence that says
where the full section is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from autocoder_jupyter.display import card, folds, parts
from autocoder_jupyter.display.calls import example
from autocoder_jupyter.display.inspector.conversation import (
    CONVERSATION_BRIEF,
    CONVERSATION_FACTS,
    CONVERSATION_SAVED,
    TRACE_BRIEF,
    TRACE_FACTS,
    TRACE_LIVE,
    TRACE_SAVED,
    ConversationBounds,
    TraceBounds,
    conversation_section,
    trace_lines,
    trace_section,
)
from autocoder_jupyter.display.inspector.data import data_section
from autocoder_jupyter.display.inspector.evidence import (
    attempts_section,
    attempts_with_changes,
    evidence_section,
)
from autocoder_jupyter.display.parts import source_block
from autocoder_jupyter.run.of_report import headline
from autocoder_jupyter.settings.choices import sandbox_line
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import UNDER_WAY, blocks_html, document_html
from autocoder_jupyter.view.as_text import document_text
from autocoder_jupyter.view.document import (
    Block,
    Button,
    Diff,
    Document,
    Fold,
    Row,
    Section,
    Source,
    Table,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import Html, element, escape

if TYPE_CHECKING:
    from autocoder_jupyter.calls.options import CallOptions
    from autocoder_jupyter.display.inspector.subject import Subject
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
    shown = (Row(label, lines([text], "code" if label == "Image" else ""), only="html") for label, text in rows.items())
    return (
        Row("Sandbox", sandbox),
        *shown,
        Fold(f"Locked packages ({len(report.lock)})", (Source(_lock(report, most)),), only="html"),
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


# Result and code


def result_section(subject: Subject, *, coloured: bool = True, with_source: bool = True) -> tuple[Block, ...]:
    """What the card shows first, in full, and the code; after a failure that of the best attempt."""
    report = subject.report
    code = source_block(code_of(report), f"{report.name}.py", report.name, coloured=coloured)
    return (
        *_first_rows(subject),
        Row("", _buttons(subject), only="html", refines=report.name),
        *((code,) if with_source else ()),
        Fold("What changed in the code", _changed_code(report) if with_source else (), only="html"),
        Fold("How to call it", how_to_call(report) if subject.can_be_called else (), only="html"),
        Fold("Approach", parts.plan_blocks(report.plan) if report.plan else (), only="html"),
    )


def _first_rows(subject: Subject) -> tuple[Row, ...]:
    """The rows that the card shows first, and how to call it. What can be done next has buttons here."""
    rows = (row for row in card.rows(subject.run, in_full=True) if row.label)
    return (
        *(replace(row, only="text") if row.label == "Next" else row for row in rows),
        folds.call_row(subject.run),
    )


def _buttons(subject: Subject) -> tuple[Block, ...]:
    """The buttons of our lab extension."""
    has_code = bool(subject.report.plan and subject.report.solution)
    shown = (
        *((Button("Run", "autocode-call"),) if subject.can_be_called else ()),
        *((Button("Edit", "autocode-edit"),) if has_code else ()),
        *((Button("Refine or ask"),) if subject.run.is_current else ()),
    )
    return (line(*shown),) if shown else ()


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
    state = subject.run
    named = Document(state.name, headline(state), card.tone(state), card.facts(state))
    return replace(named, kind="autocode-result", is_indented=True)


def _document(subject: Subject, part: Part) -> Document:
    if part == "trace":
        calls = Section("Trace", trace_section(subject.report, TRACE_LIVE), folded=False)
        return replace(head(subject), sections=(calls,))
    if part == "report":
        return replace(head(subject), sections=_report(subject))
    overviews = subject.overviews(subject.share)
    return replace(head(subject), sections=_sections(subject, overviews), shorter=_shorter(subject, overviews))


RESULT, EVIDENCE, SENT, HISTORY = "Result and code", folds.EVIDENCE, folds.SENT, folds.HISTORY
"""The titles of the sections."""


def _sections(subject: Subject, overviews: Mapping[str, Overview]) -> tuple[Section, ...]:
    """All sections. `%autocode` has subcommands for what a terminal does not show."""
    return (
        Section(RESULT, result_section(subject), folded=False),
        Section(EVIDENCE, evidence_section(subject)),
        Section(SENT, data_section(subject, overviews), only="html"),
        Section(HISTORY, _history(subject, attempts_with_changes(subject.report))),
    )


def _history(
    subject: Subject,
    attempts: tuple[Block, ...],
    trace: TraceBounds = TRACE_SAVED,
    conversation: ConversationBounds = CONVERSATION_SAVED,
    lock: int = LOCK_LINES,
) -> tuple[Block, ...]:
    """Who wrote it where, the attempts, the tool calls of an agent, and the conversation."""
    report = subject.report
    listed = {
        "Attempts": attempts,
        "Tool calls": trace_section(report, trace),
        "Conversation": conversation_section(report, conversation),
    }
    return (
        *made_by(subject, lock=lock),
        *(Fold(title, blocks, only="html") for title, blocks in listed.items()),
    )


def made_by(subject: Subject, *, lock: int = LOCK_LINES) -> tuple[Block, ...]:
    """Who wrote it, and where it was tested."""
    rows = (row for row in folds.history_rows(subject.run) if row.label != "Sandbox")
    return (*rows, *environment_section(subject.report, subject.options, most=lock))


def _shorter(subject: Subject, overviews: Mapping[str, Overview]) -> tuple[tuple[str, tuple[Block, ...]], ...]:
    """Shorter forms of the sections, the least important first."""
    report = subject.report
    attempts = attempts_with_changes(report, unified=True)
    few = attempts_section(report)
    elsewhere = (muted(f"Too long for a saved notebook: %autocode show {report.name} shows it in the kernel."),)
    return (
        (HISTORY, _history(subject, attempts_with_changes(report), TRACE_SAVED, CONVERSATION_BRIEF)),
        (HISTORY, _history(subject, attempts, TRACE_BRIEF, CONVERSATION_BRIEF)),
        (HISTORY, _history(subject, attempts, TRACE_BRIEF, CONVERSATION_FACTS)),
        (EVIDENCE, evidence_section(subject, coloured=False)),
        (RESULT, result_section(subject, coloured=False)),
        (EVIDENCE, (*evidence_section(subject, with_source=False), *elsewhere)),
        (SENT, data_section(subject, overviews, words=False)),
        (HISTORY, (*_history(subject, few, TRACE_FACTS, CONVERSATION_FACTS, lock=0), *elsewhere)),
        (SENT, elsewhere),
        (RESULT, (*result_section(subject, with_source=False), *elsewhere)),
        (HISTORY, (*made_by(subject, lock=0), *elsewhere)),
        (EVIDENCE, elsewhere),
        (HISTORY, elsewhere),
        (RESULT, elsewhere),
    )


def _report(subject: Subject) -> tuple[Section, ...]:
    return (
        Section(RESULT, _first_rows(subject), folded=False),
        Section(EVIDENCE, evidence_section(subject), folded=False),
        Section(HISTORY, made_by(subject), folded=False),
    )


def pending_html(words: str, *, waits: bool) -> Html:
    """One line for a result that is not finished; showing it never waits."""
    line = element("span", escape(words), class_=UNDER_WAY)
    return markup.frame("autocode-result", "warn" if waits else "busy", line)
