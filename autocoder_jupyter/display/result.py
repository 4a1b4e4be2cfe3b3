"""A finished result as a static page: the function, and everything that its success rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from autocoder_jupyter.display import markup, parts
from autocoder_jupyter.display.amounts import counted, duration, spending

if TYPE_CHECKING:
    from autocoder_jupyter.types import Report

Part = Literal["all", "code", "tests", "report"]


def render_html(result: Any, part: Part = "all") -> str:
    """A result as HTML; one line as long as it is pending, because showing must never wait.

    Args:
        result: a `CodeGenEvalResult`, or a `Report`.
        part: the whole, or only one side of it.
    """
    if not getattr(result, "done", True):
        return markup.frame("autocode-result", markup.BUSY, markup.text(repr(result)))
    report: Report = getattr(result, "report", result)
    if part == "code":
        return markup.python(_source(report))
    if part == "tests":
        return parts.tests(report.evidence.tests) + markup.python(report.tests)
    body = _evidence_html(report) if part == "report" else _page_html(report)
    colour = markup.GOOD if report.success else markup.BAD
    return markup.frame(
        "autocode-result", colour, markup.head(report.name, _verdict(report), colour, _facts(report)), body
    )


def _page_html(report: Report) -> str:
    """What the function is, with its code in view; the evidence in one line, and folded."""
    evidence = report.evidence
    return "".join(
        (
            markup.row("Reason", markup.text(report.error or "")),
            markup.row("Does", markup.text(report.plan.description if report.plan else "")),
            markup.row("Call", markup.inline_code(_signature(report))),
            markup.row("Assumes", parts.assumptions(report.plan)),
            markup.row("Rests on", parts.evidence_line(evidence) + parts.warnings(evidence)),
            '<div style="margin-top:8px">',
            markup.python(_source(report)),
            markup.details("Evidence", parts.tests(evidence.tests) + parts.checks(evidence)),
            markup.details("Source of the tests", markup.python(report.tests)),
            markup.details("Plan", parts.plan_parts(report.plan) if report.plan else ""),
            markup.details("Environment", _environment(report)),
            "</div>",
        )
    )


def _evidence_html(report: Report) -> str:
    """All that success rests on, in view."""
    return "".join(
        (
            markup.row("Reason", markup.text(report.error or "")),
            markup.row("Call", markup.inline_code(_signature(report))),
            markup.row("Assumes", parts.assumptions(report.plan)),
            markup.row("Tests", parts.tests(report.evidence.tests) or "none"),
            markup.row("Checks", parts.checks(report.evidence)),
            markup.row("Mind", parts.warnings(report.evidence)),
            markup.row("Ran in", _environment(report)),
        )
    )


def render_text(result: Any, part: Part = "all") -> str:
    """The same in words."""
    if not getattr(result, "done", True):
        return markup.plain(repr(result))
    report: Report = getattr(result, "report", result)
    if part == "code":
        return markup.plain(_source(report))
    if part == "tests":
        return markup.plain(report.tests)
    lines = [" · ".join((f"● {report.name}  {_verdict(report)}", *_facts(report))), f"  {_signature(report)}"]
    lines.extend([f"  {report.error}"] if report.error else [])
    lines.extend(f"  assumes: {assumption}" for assumption in (report.plan.assumptions if report.plan else ()))
    for outcome in report.evidence.tests:
        lines.append(f"  {parts.MARKS[outcome.outcome]} {outcome.id}  {outcome.sentence}".rstrip())
    for check in report.evidence.checks:
        lines.append(f"  {'✓' if check.passed else '✗'} {check.name}  {check.message}".rstrip())
    lines.extend(f"  {line}" for line in parts.warning_lines(report.evidence))
    if part == "all":
        lines.extend(["", _source(report)])
    return markup.plain("\n".join(lines))


def _signature(report: Report) -> str:
    return parts.signature(report.name, report.declared_inputs, report.declared_outputs)


def _verdict(report: Report) -> str:
    if not report.success:
        return "Failed"
    return "Ready, with changed tests" if report.evidence.tests_changed else "Ready"


def _facts(report: Report) -> list[str]:
    outcomes = report.evidence.tests
    passed = sum(outcome.outcome == "passed" for outcome in outcomes)
    replayed = bool(report.conversation_history) and all(said.replayed for said in report.conversation_history)
    facts = (
        f"{passed} of {len(outcomes)} tests passed" if outcomes else "not tested",
        counted(report.attempts, "attempt") if report.attempts else "",
        duration(report.seconds) if report.seconds else "",
        spending(report.usage, None),
        "replayed from the journal" if replayed else "",
        f"sandbox: {report.sandbox}" if report.sandbox else "",
    )
    return [fact for fact in facts if fact]


def _source(report: Report) -> str:
    return report.solution.code if report.solution else ""


def _environment(report: Report) -> str:
    facts = (
        f"{report.sandbox} sandbox" if report.sandbox else "",
        f"Python {'.'.join(map(str, report.python_version))}" if report.python_version else "",
        f"with {', '.join(report.detected_packages)}" if report.detected_packages else "",
        f"system packages {', '.join(report.detected_system_packages)}" if report.detected_system_packages else "",
    )
    lines = (", ".join(fact for fact in facts if fact), report.image or "")
    said = "".join(f"<div>{markup.text(line)}</div>" for line in lines if line)
    return said + (markup.details("Locked packages", markup.code("\n".join(report.lock))) if report.lock else "")
