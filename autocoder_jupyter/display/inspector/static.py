"""The static form of the inspector: all sections below each other, for saved notebooks, exports and front ends
without widgets.

Its size is bounded: sections are replaced by shorter forms, the least important first, and at last by a sentence that
says where the full section is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from autocoder_jupyter.display import parts, readings, tool_calls
from autocoder_jupyter.display.changes import changes_text
from autocoder_jupyter.display.fitting import fit
from autocoder_jupyter.display.inspector import trace
from autocoder_jupyter.display.inspector.attempts import attempts_section, attempts_with_changes
from autocoder_jupyter.display.inspector.conversation import BRIEF, FACTS_ONLY, SAVED, conversation_section
from autocoder_jupyter.display.inspector.data import data_section
from autocoder_jupyter.display.inspector.environment import environment_section
from autocoder_jupyter.display.inspector.evidence import evidence_section
from autocoder_jupyter.display.inspector.function import code_of, function_section, signature
from autocoder_jupyter.display.inspector.head import colour, facts, head, verdict
from autocoder_jupyter.display.inspector.opinion import opinion_section
from autocoder_jupyter.display.inspector.source import source_block
from autocoder_jupyter.display.inspector.trace import trace_lines, trace_section
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Subject

MAX_CHARACTERS = 57_000
"""Characters of HTML; with its outline a form stays under 60 KB in a saved notebook."""

Part = Literal["all", "code", "tests", "report", "trace"]


def render_html(subject: Subject, part: Part = "all") -> Html:
    """A finished result as HTML.

    Args:
        subject: the result.
        part: everything, or one part: the code, the tests, the report with the evidence first, or an agent's trace.
    """
    report = subject.report
    if part == "code":
        return source_block(code_of(report), f"{report.name}.py", report.name)
    if part == "tests":
        blind = source_block(report.blind_tests, f"test_{report.name}_blind.py")
        return join(parts.tests(report.evidence.tests), source_block(report.tests, f"test_{report.name}.py"), blind)
    if part == "trace":
        return markup.frame("autocode-result", colour(subject), head(subject), trace_section(report, trace.LIVE))
    first = head(subject)
    room = MAX_CHARACTERS - len(first)
    body = _evidence_first(subject) if part == "report" else _sections(subject, room)
    return markup.frame("autocode-result", colour(subject), first, body)


def _sections(subject: Subject, room: int) -> Html:
    report = subject.report
    overviews = subject.overviews(subject.share)
    elsewhere = markup.muted(f"Too long for a saved notebook: %autocode show {report.name} shows it in the kernel.")
    full = {
        "Function": function_section(subject),
        "Evidence": evidence_section(report),
        "Second opinion": opinion_section(report),
        "Trace": trace_section(report, trace.SAVED),
        "Attempts": attempts_with_changes(report),
        "Data": data_section(subject, overviews),
        "Conversation": conversation_section(report, SAVED),
        "Environment": environment_section(report, subject.options),
    }
    shorter = (
        ("Conversation", conversation_section(report, BRIEF)),
        ("Attempts", attempts_with_changes(report, unified=True)),
        ("Trace", trace_section(report, trace.BRIEF)),
        ("Conversation", conversation_section(report, FACTS_ONLY)),
        ("Evidence", evidence_section(report, coloured=False)),
        ("Function", function_section(subject, coloured=False)),
        ("Evidence", join(evidence_section(report, source=False), elsewhere)),
        ("Data", data_section(subject, overviews, words=False)),
        ("Attempts", join(attempts_section(report), elsewhere)),
        ("Environment", environment_section(report, subject.options, lines=0)),
        ("Trace", trace_section(report, trace.FACTS_ONLY)),
        ("Data", elsewhere),
        ("Function", join(function_section(subject, source=False), elsewhere)),
        ("Attempts", elsewhere),
        ("Evidence", elsewhere),
        ("Environment", elsewhere),
        ("Conversation", elsewhere),
        ("Function", elsewhere),
    )
    shown = fit(full, shorter, room)
    return join(shown.pop("Function"), *(_folded(title, content) for title, content in shown.items()))


def _folded(title: str, content: Html) -> Html:
    return markup.details(title, element("div", content, style="margin:2px 0 10px 14px") if content else EMPTY)


def _evidence_first(subject: Subject) -> Html:
    report = subject.report
    refinable = report.name if report.success else ""
    return join(
        markup.row("Reason", markup.paragraphs(report.error or "", 4_000)),
        markup.row("Call", markup.inline_code(call) if (call := signature(report)) else EMPTY),
        markup.row("Assumptions", parts.assumptions(report.plan)),
        markup.row("Second opinion", readings.opinion_html(refinable, report.second_opinion)),
        evidence_section(report),
        markup.details("Environment", environment_section(report, subject.options)),
    )


def render_text(subject: Subject, part: Part = "all") -> str:
    """The same as text."""
    report = subject.report
    if part == "code":
        return markup.plain(code_of(report))
    if part == "tests":
        return markup.plain("\n\n".join(filter(None, (report.tests, report.blind_tests))))
    if part == "trace":
        return markup.lines(trace_lines(report))
    lines = [" · ".join((f"● {report.name}  {verdict(subject)}", *facts(subject)))]
    lines.extend([f"  {call}"] if (call := signature(report)) else [])
    lines.extend([f"  {report.error}"] if report.error else [])
    lines.extend(f"  assumes: {assumption}" for assumption in (report.plan.assumptions if report.plan else ()))
    lines.extend(f"  refined: {wish}" for wish in report.wishes)
    if report.changes and report.plan:
        lines.extend(f"  {line}" for line in changes_text(report.changes, report.plan, report.evidence.tests))
    lines.extend(f"  your tests: {line}" for line in parts.own_lines(report.evidence))
    lines.extend(
        f"  {line}" for line in readings.opinion_lines(report.name if report.success else "", report.second_opinion)
    )
    for outcome in report.evidence.tests:
        lines.append(f"  {parts.MARKS[outcome.outcome]} {outcome.id}  {outcome.sentence}".rstrip())
    for check in report.evidence.checks:
        lines.append(f"  {'✓' if check.passed else '✗'} {check.name}  {check.message}".rstrip())
    lines.extend(f"  {line}" for line in parts.warning_lines(report.evidence, report.trace))
    if report.trace is not None:
        lines.append(f"  agent: {tool_calls.distribution(report.trace.calls)}")
    if part == "all":
        lines.extend(["", code_of(report)])
    return markup.plain("\n".join(lines))


def pending_html(words: str, *, waits: bool) -> Html:
    """One line for a result that is not finished; showing it never waits.

    Args:
        words: its `repr`.
        waits: whether the run waits for the user.
    """
    return markup.frame("autocode-result", markup.WARN if waits else markup.BUSY, escape(words))
