"""A finished result as one document: all sections below each other.

It is the saved form of the inspector, the output of `%autocode show`, and what front ends without widgets show. Its
size is bounded: sections are replaced by shorter forms, the least important first, and at last by a sentence that says
where the full section is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from autocoder_jupyter.display import card, parts
from autocoder_jupyter.display.inspector import trace
from autocoder_jupyter.display.inspector.attempts import attempts_section, attempts_with_changes
from autocoder_jupyter.display.inspector.conversation import BRIEF, FACTS_ONLY, SAVED, conversation_section
from autocoder_jupyter.display.inspector.data import data_section
from autocoder_jupyter.display.inspector.environment import environment_section
from autocoder_jupyter.display.inspector.evidence import evidence_section
from autocoder_jupyter.display.inspector.function import code_of, function_section, record_of
from autocoder_jupyter.display.inspector.opinion import opinion_section
from autocoder_jupyter.display.inspector.source import source
from autocoder_jupyter.display.inspector.trace import trace_lines, trace_section
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import UNDER_WAY, blocks_html, document_html
from autocoder_jupyter.view.as_text import document_text
from autocoder_jupyter.view.document import Block, Document, Section, muted
from autocoder_jupyter.view.markup import Html, element, escape

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Subject
    from autocoder_jupyter.types.records import Overview

MAX_CHARACTERS = 68_000
"""Characters of HTML; a form stays under 70 KB in a saved notebook. Evidence with a dozen changes fits."""

Part = Literal["all", "code", "tests", "report", "trace"]


def render_html(subject: Subject, part: Part = "all") -> Html:
    """A finished result as HTML.

    Args:
        subject: the result.
        part: everything, or one part: the code, the tests, the report with the evidence first, or an agent's trace.
    """
    report = subject.report
    if part == "code":
        return blocks_html([source(code_of(report), f"{report.name}.py", report.name)])
    if part == "tests":
        sources = (
            source(report.tests, f"test_{report.name}.py"),
            source(report.blind_tests, f"test_{report.name}_blind.py"),
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
        calls = Section("Trace", trace_section(subject.report, trace.LIVE), folded=False)
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
        "Trace": trace_section(report, trace.SAVED),
        "Attempts": attempts_with_changes(report),
        "Data": data_section(subject, overviews),
        "Conversation": conversation_section(report, SAVED),
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
        ("Conversation", conversation_section(report, BRIEF)),
        ("Attempts", attempts_with_changes(report, unified=True)),
        ("Trace", trace_section(report, trace.BRIEF)),
        ("Conversation", conversation_section(report, FACTS_ONLY)),
        ("Evidence", evidence_section(report, coloured=False)),
        ("Function", function_section(subject, coloured=False)),
        ("Evidence", (*evidence_section(report, with_source=False), *elsewhere)),
        ("Data", data_section(subject, overviews, words=False)),
        ("Attempts", (*attempts_section(report), *elsewhere)),
        ("Environment", environment_section(report, subject.options, most=0)),
        ("Trace", trace_section(report, trace.FACTS_ONLY)),
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
    """One line for a result that is not finished; showing it never waits.

    Args:
        words: its `repr`.
        waits: whether the run waits for the user.
    """
    line = element("span", escape(words), class_=UNDER_WAY)
    return markup.frame("autocode-result", "warn" if waits else "busy", line)
