"""A finished result as a static page: the function, and everything that its success rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from autocoder_jupyter.display import markup

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
        return f'<div style="{markup.FRAME.format(colour=markup.BUSY)}">{markup.text(repr(result))}</div>'
    report: Report = getattr(result, "report", result)
    if part == "code":
        return markup.code(_source(report))
    if part == "tests":
        return markup.tests(report.evidence.tests) + markup.code(report.tests)
    colour = markup.GOOD if report.success else markup.BAD
    error = f"<div>{markup.coloured(report.error, markup.BAD)}</div>" if report.error else ""
    parts = (
        f'<div><strong style="color:{colour}">● {markup.text(report.name)}</strong> {markup.text(_verdict(report))}'
        f"{markup.muted(''.join(f' · {fact}' for fact in _facts(report)))}</div>",
        error,
        f"<div><code>{markup.text(signature(report))}</code></div>",
        markup.warnings(report.evidence),
        markup.details("Assumptions", markup.assumptions(report.plan), opened=part == "all"),
        markup.details("Code", markup.code(_source(report)), opened=part == "all") if part == "all" else "",
        markup.details(tests_line(report), markup.tests(report.evidence.tests), opened=part == "report"),
        markup.details("Checks", markup.checks(report.evidence), opened=part == "report"),
        markup.details("Plan", markup.plan_parts(report.plan) if report.plan else ""),
        markup.details("Source of the tests", markup.code(report.tests)) if part == "all" else "",
        markup.details("Environment", _environment(report)),
    )
    return f'<div class="autocode-result" style="{markup.FRAME.format(colour=colour)}">{"".join(parts)}</div>'


def render_text(result: Any, part: Part = "all") -> str:
    """The same in words."""
    if not getattr(result, "done", True):
        return markup.plain(repr(result))
    report: Report = getattr(result, "report", result)
    if part == "code":
        return markup.plain(_source(report))
    if part == "tests":
        return markup.plain(report.tests)
    lines = [" · ".join((f"● {report.name}  {_verdict(report)}", *_facts(report))), signature(report)]
    lines.extend([report.error] if report.error else [])
    lines.extend(f"assumes: {assumption}" for assumption in (report.plan.assumptions if report.plan else ()))
    for outcome in report.evidence.tests:
        lines.append(f"{markup.MARKS[outcome.outcome]} {outcome.id}  {outcome.sentence}".rstrip())
    for check in report.evidence.checks:
        lines.append(f"{'✓' if check.passed else '✗'} {check.name}  {check.message}".rstrip())
    if report.evidence.tests_changed:
        lines.append(f"Tests changed on the way: {', '.join(report.evidence.tests_changed)}")
    if report.evidence.vacuous_tests:
        lines.append(f"Tests that also pass on a stub: {', '.join(report.evidence.vacuous_tests)}")
    if part == "all":
        lines.extend(["", _source(report)])
    return markup.plain("\n".join(lines))


def signature(report: Report) -> str:
    """`growth.run(sales: DataFrame, min_orders: int = 5) -> (monthly: DataFrame, best_month: str)`."""
    inputs = ", ".join(
        f"{spec.name}: {spec.type}" + ("" if spec.required else f" = {spec.default!r}")
        for spec in report.declared_inputs
    )
    outputs = [f"{spec.name}: {spec.type}" for spec in report.declared_outputs]
    returned = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    return f"{report.name}.run({inputs}) -> {returned}"


def tests_line(report: Report) -> str:
    """`Tests 9/9`, or that there are none."""
    outcomes = report.evidence.tests
    passed = sum(outcome.outcome == "passed" for outcome in outcomes)
    return f"Tests {passed}/{len(outcomes)}" if outcomes else "Tests: none"


def _verdict(report: Report) -> str:
    if not report.success:
        return "Failed"
    return "Ready, with changed tests" if report.evidence.tests_changed else "Ready"


def _facts(report: Report) -> list[str]:
    attempts = f"{report.attempts} attempt{'' if report.attempts == 1 else 's'}" if report.attempts else ""
    replayed = bool(report.conversation_history) and all(said.replayed for said in report.conversation_history)
    facts = (
        tests_line(report),
        attempts,
        markup.clock(report.seconds),
        markup.spending(report.usage, None),
        "replayed from the journal" if replayed else "",
        f"sandbox: {report.sandbox}" if report.sandbox else "",
    )
    return [fact for fact in facts if fact]


def _source(report: Report) -> str:
    return report.solution.code if report.solution else ""


def _environment(report: Report) -> str:
    python = ".".join(str(number) for number in report.python_version) if report.python_version else ""
    lines = [
        f"Python {python}" if python else "",
        f"Environment: {report.image}" if report.image else "",
        f"Packages: {', '.join(report.detected_packages)}" if report.detected_packages else "",
        f"System packages: {', '.join(report.detected_system_packages)}" if report.detected_system_packages else "",
    ]
    said = "".join(f"<div>{markup.text(line)}</div>" for line in lines if line)
    return said + (markup.details("Lock", markup.code("\n".join(report.lock))) if report.lock else "")
