"""Small pieces of HTML that cards and results are made of. Whatever comes from outside passes through `text`.

The markup has no script and no outside resource, and says the same without its colours: GitHub and an untrusted
notebook strip styles. Colours are JupyterLab's variables with a fallback that reads on light and on dark.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocoder_jupyter.types import CodePlan, Evidence, TestOutcome, Usage

FONT = "font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:var(--jp-ui-font-size1,13px)"
FRAME = f"{FONT};line-height:1.5;border-left:3px solid {{colour}};padding:4px 0 4px 12px;margin:4px 0"
MUTED = "color:var(--jp-ui-font-color2,#808080)"
GOOD = "var(--jp-success-color1,#388e3c)"
BAD = "var(--jp-error-color1,#d32f2f)"
WARN = "var(--jp-warn-color1,#c77700)"
BUSY = "var(--jp-brand-color1,#1976d2)"
QUIET = "var(--jp-border-color1,#909090)"
CODE = (
    "font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,12px);"
    "background:var(--jp-layout-color2,rgba(128,128,128,.12));padding:8px;margin:4px 0;overflow:auto;max-height:30em"
)

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

MARKS = {"passed": "✓", "failed": "✗", "error": "✗", "missing": "?"}


def plain(value: object) -> str:
    """Text without escape sequences, control characters and direction overrides: safe for a terminal."""
    return _CONTROLS.sub("", _ESCAPES.sub("", str(value).replace("\r\n", "\n")))


def text(value: object) -> str:
    """Text that is safe inside HTML, in an element or an attribute."""
    return html.escape(plain(value), quote=True)


def details(summary: str, content: str, *, opened: bool = False) -> str:
    """A part that folds; `content` is HTML, `summary` text. Nothing when there is no content."""
    if not content:
        return ""
    return f"<details{' open' if opened else ''}><summary>{text(summary)}</summary>{content}</details>"


def code(source: str) -> str:
    """A block of source."""
    return f'<pre style="{CODE}"><code>{text(source)}</code></pre>' if source else ""


def items(entries: Iterable[str]) -> str:
    """A list of entries that are HTML already."""
    rows = "".join(f"<li>{entry}</li>" for entry in entries)
    return f'<ul style="margin:4px 0;padding-left:20px">{rows}</ul>' if rows else ""


def muted(value: object) -> str:
    """Text of second rank."""
    return f'<span style="{MUTED}">{text(value)}</span>'


def coloured(value: object, colour: str) -> str:
    """Text in one of the colours above; the text itself must say it as well."""
    return f'<strong style="color:{colour}">{text(value)}</strong>'


def table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of text."""
    lines = [_row("th", headings), *(_row("td", row) for row in rows)]
    return f'<table style="{FONT};border-collapse:collapse">{"".join(lines)}</table>'


def _row(tag: str, values: Iterable[object]) -> str:
    style = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"
    cells = (f'<{tag} style="{style}">{text(value)}</{tag}>' for value in values)
    return f"<tr>{''.join(cells)}</tr>"


def amount(count: int) -> str:
    """`950`, `12.3K`, `1.2M`."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}K" if count < 999_950 else f"{count / 1e6:.1f}M"


def dollars(cost: float | None) -> str:
    """`$0.031`, or that nobody knows."""
    if cost is None:
        return "cost unknown"
    return f"${cost:.3f}" if cost < 1 else f"${cost:.2f}"


def clock(seconds: float) -> str:
    """`00:41`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def spending(usage: Usage, max_cost: float | None) -> str:
    """`12.3K in (8.1K cached) / 1.9K out · $0.031 of $0.50`; empty as long as nothing was spent."""
    if not usage.input_tokens and not usage.output_tokens:
        return ""
    cached = f" ({amount(usage.cached_tokens)} cached)" if usage.cached_tokens else ""
    budget = f" of ${max_cost:.2f}" if max_cost is not None else ""
    return (
        f"{amount(usage.input_tokens)} in{cached} / {amount(usage.output_tokens)} out · {dollars(usage.cost)}{budget}"
    )


def plan_parts(plan: CodePlan) -> str:
    """What the plan says: approach, outputs, packages."""
    outputs = [
        f"<code>{text(output.name)}: {text(output.type)}</code> {text(output.meaning)}" for output in plan.outputs
    ]
    packages = f"<div>Packages: {text(', '.join(plan.packages))}</div>" if plan.packages else ""
    return f"<div>{text(plan.approach)}</div>{items(outputs)}{packages}"


def assumptions(plan: CodePlan | None) -> str:
    """How the request was read where it leaves something open."""
    return items(text(assumption) for assumption in plan.assumptions) if plan else ""


def tests(outcomes: Iterable[TestOutcome], pending: Iterable[str] = ()) -> str:
    """Every test with its sentence, its outcome and its time; what failed says why."""
    entries = []
    for outcome in outcomes:
        colour = GOOD if outcome.outcome == "passed" else BAD
        mark = coloured(f"{MARKS[outcome.outcome]} {outcome.outcome}", colour)
        message = code(outcome.message) if outcome.message and outcome.outcome != "passed" else ""
        sentence = f" {text(outcome.sentence)}" if outcome.sentence else ""
        took = muted(f" {outcome.seconds * 1000:.0f} ms") if outcome.seconds else ""
        entries.append(f"{mark} <code>{text(outcome.id)}</code>{sentence}{took}{message}")
    entries.extend(f"… <code>{text(test)}</code>" for test in pending)
    return items(entries)


def checks(evidence: Evidence) -> str:
    """What else had to hold, and whether it did."""
    entries = []
    for check in evidence.checks:
        mark = coloured("✓ holds", GOOD) if check.passed else coloured("✗ does not hold", BAD)
        entries.append(f"{mark} {text(check.name)}{' ' + muted(check.message) if check.message else ''}")
    return items(entries)


def warnings(evidence: Evidence) -> str:
    """Tests that were changed, and tests that prove nothing."""
    lines = []
    if evidence.tests_changed:
        lines.append(f"Tests changed on the way: {', '.join(evidence.tests_changed)}")
    if evidence.vacuous_tests:
        lines.append(f"Tests that also pass on a stub: {', '.join(evidence.vacuous_tests)}")
    return "".join(f"<div>{coloured(f'⚠ {line}', WARN)}</div>" for line in lines)
