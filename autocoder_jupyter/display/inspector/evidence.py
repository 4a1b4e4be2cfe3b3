"""The section *Evidence*: every test with its docstring, the checks, and whether the tests can fail."""

from __future__ import annotations

import pprint
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display import parts
from autocoder_jupyter.display.verified import change_items, relation_items
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.tasks.export import places
from autocoder_jupyter.types import Dir, Figure, File
from autocoder_jupyter.untrusted.charts import chart_place, why_not_drawn
from autocoder_jupyter.untrusted.plain_json import shortened
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import amount
from autocoder_jupyter.view.as_html import blocks_html, data_address, download
from autocoder_jupyter.view.document import (
    Block,
    Bullets,
    Diff,
    Fold,
    Group,
    Line,
    Row,
    Source,
    Span,
    Table,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import EMPTY, Html, clipped, element, escape, join, plain
from autocoder_jupyter.view.source import MAX_LINES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autocoder_jupyter.types import Attempt, Difference, ErrorDiagnosis, Evidence, Report, TestFailure, Trace
    from autocoder_jupyter.types.records import Excerpt


# The section *Attempts*: the outcome and diagnosis of each attempt, and the changes between two attempts.


KINDS = {"logic": "the code is wrong", "environment": "something is missing", "test_error": "the test is wrong"}

MAX_CHANGES = 3
"""Comparisons of consecutive attempts in the static form, the last ones."""

SAVED_LINES = 150
"""Lines of each comparison."""


def attempts_section(report: Report) -> tuple[Block, ...]:
    """Every attempt, without comparisons."""
    if not report.history:
        return lines(["There were no attempts."])
    return tuple(block for attempt in report.history for block in _attempt(attempt, is_result(attempt, report)))


def attempts_with_changes(report: Report, *, unified: bool = False) -> tuple[Block, ...]:
    """Every attempt, and the changes between consecutive attempts."""
    pairs = list(pairwise(report.history))
    note = [f"Earlier changes: %autocode diff {report.name} A B."] if len(pairs) > MAX_CHANGES else []
    changes = (
        Fold(f"What changed from attempt {old.number} to {new.number}", changes_blocks(old, new, unified=unified))
        for old, new in pairs[-MAX_CHANGES:]
    )
    return (*attempts_section(report), *changes, *lines(note, "muted"))


def _attempt(attempt: Attempt, result: bool) -> Iterator[Block]:
    """One attempt: its outcome, its failures, and the diagnosis."""
    failing = parts.failures(attempt.evidence.tests, attempt.evidence)
    head = line(Span(f"Attempt {attempt.number}", "strong"), _outcome(attempt), Span("the result" if result else ""))
    yield Row("", (head,))
    reason = clipped(attempt.error or "", parts.MESSAGE_CHARACTERS).splitlines()
    yield Row("Reason", () if failing else lines(words for words in reason if words.strip()))
    yield Row("Failed", failing)
    yield Row("Diagnosis", tuple(_diagnosis(attempt.diagnosis)) if attempt.diagnosis else ())


def changes_blocks(before: Attempt, after: Attempt, *, saved: bool = True, unified: bool = False) -> tuple[Block, ...]:
    """The changes in the code, and in the tests if there are any."""
    names = f"attempt {before.number}", f"attempt {after.number}"
    most, equal = (SAVED_LINES, False) if saved else (MAX_LINES, True)
    code = Diff(before.code, after.code, names, sides=not unified, most=most, equal=equal)
    if before.tests == after.tests:
        return (code,)
    tests = Diff(before.tests, after.tests, names, sides=not unified, most=most, equal=equal)
    return Group("Code", (code,)), Group("Tests", (tests,))


def is_result(attempt: Attempt, report: Report) -> bool:
    """Whether the result has the code and tests of this attempt; of equal attempts, the last one."""
    code = report.solution.code if report.solution else ""
    same = [other.number for other in report.history if (other.code, other.tests) == (code, report.tests)]
    return bool(same) and attempt.number == same[-1]


def outcome_words(attempt: Attempt) -> tuple[bool | None, str]:
    """Whether it passed, None if nothing says so, and the outcome in a few words."""
    tests, checks = attempt.evidence.tests, attempt.evidence.conditions
    passed = sum(test.outcome == "passed" for test in tests)
    failed = sum(not check.passed for check in checks)
    words = [f"{passed} of {len(tests)} tests passed"] if tests else []
    words += [f"{failed} of {len(checks)} checks failed"] if failed else []
    ok = False if attempt.error is not None else True if tests or checks else None
    if ok is False and tests and passed == len(tests) and not failed:
        words += ["but not accepted"]  # because of a second opinion, for example; the reason says it
    return ok, ", ".join(words) or ("passed" if ok else "not tested")


def _outcome(attempt: Attempt) -> Span:
    ok, words = outcome_words(attempt)
    if ok is None:
        return Span(words, "muted")
    return Span(f"{'✓' if ok else '✗'} {words}", "good" if ok else "bad")


def _diagnosis(diagnosis: ErrorDiagnosis) -> Iterator[Block]:
    for merged in _merged(diagnosis.failures):
        yield from _failure(*merged)
    if lacking := (*diagnosis.needs_language_packages, *diagnosis.needs_system_packages):
        yield line(f"It needs {', '.join(lacking)}.")


def _merged(failures: tuple[TestFailure, ...]) -> list[tuple[tuple[str, ...], TestFailure]]:
    """Failures grouped by cause, with the names of their tests."""
    by_cause: dict[tuple[str, str, str], list[TestFailure]] = {}
    for failure in failures:
        by_cause.setdefault((failure.error_type, failure.root_cause, failure.suggested_fix), []).append(failure)
    return [(tuple(one.test_name for one in alike), alike[0]) for alike in by_cause.values()]


def _failure(names: tuple[str, ...], failure: TestFailure) -> Iterator[Line]:
    yield line(Span(KINDS[failure.error_type], "warn"), Span(", ".join(names), "muted code"))
    texts = {
        "Cause": failure.root_cause or failure.error_message,
        "Expected": failure.expected_behavior,
        "Got": failure.actual_behavior,
        "Fix": failure.suggested_fix,
    }
    yield from (line(Span(f"{label}:", "muted"), text) for label, text in texts.items() if text)


# The outputs of a call: tables as tables, figures as images, files as links, everything else as text.


DOWNLOAD_BYTES = 2**20
"""Bytes of the largest file with a download link; the kernel may be on another machine."""

_LISTED = 20
_TEXT_CHARACTERS = 4_000


def outputs_html(name: str, values: Mapping[str, Any], excerpt: Callable[[Any], Excerpt]) -> Html:
    """Every output with its name."""
    shown = (one for output, value in values.items() for one in _parts(output, value))
    return join(*(_named(output, _output(name, output, value, excerpt)) for output, value in shown))


def _parts(output: str, value: Any) -> list[tuple[str, Any]]:
    """A value; or the parts of a list or dict of tables or figures, each with its place in it."""
    items = (
        list(value.items() if isinstance(value, dict) else enumerate(value)) if isinstance(value, list | dict) else []
    )
    if not items or not (isinstance(items[0][1], Figure) or _is_table(items[0][1])):
        return [(output, value)]
    shown = [(f"{output}[{key!r}]", part) for key, part in items[:_LISTED]]
    more = len(items) - _LISTED
    return [*shown, (output, f"and {more} more")] if more > 0 else shown


def _is_table(value: Any) -> bool:
    return type(value).__name__ in ("DataFrame", "Series") and hasattr(value, "index")


def _named(output: str, shown: Html) -> Html:
    return element("div", join(element("strong", escape(output)), shown, between=" "), look="below-rows")


def error_html(error: Exception) -> Html:
    """An error: its message, its cause, and what to do next."""
    what, *rest = (error.what, error.why, error.hint) if isinstance(error, AutocodeError) else (str(error),)
    title = markup.marked(f"✗ {type(error).__name__}", "bad", what)
    return element("div", title, markup.text_lines(filter(None, rest)), role="alert", look="below-rows")


def _output(name: str, output: str, value: Any, excerpt: Callable[[Any], Excerpt]) -> Html:
    if isinstance(value, Figure):
        return figure_html(value, f"{name}-{output}", output)
    if isinstance(value, File):
        return _file(value.path)
    if isinstance(value, Dir):
        return _dir(value.path)
    if _is_table(value):
        return table_html(excerpt(value))
    return value_text(value)


def figure_html(figure: Figure, filename: str, name: str) -> Html:
    """An image as wide as the page at most, with download links; an interactive figure is a chart."""
    if not figure.png:
        place = chart_place(figure.kind, figure.spec, DOWNLOAD_BYTES) if figure.kind != "matplotlib" else ""
        return markup.chart(place, figure.description) if place else _not_drawn(figure)
    links = [download(f"{filename}.png", figure.png, "image/png", f"Save {filename}.png")]
    if 0 < len(figure.svg) <= DOWNLOAD_BYTES:
        links.append(download(f"{filename}.svg", figure.svg, "image/svg+xml", "SVG"))
    size = markup.muted(f"{figure.width} × {figure.height} pixels")
    picture = element(
        "img", alt=f"{name}: {figure.description}", src=data_address(figure.png, "image/png"), look="figure"
    )
    return join(join(size, *links, between=" "), picture)


def _not_drawn(figure: Figure) -> Html:
    reason = "" if figure.kind == "matplotlib" else why_not_drawn(figure.kind, figure.spec)
    why = f"It is not drawn here: {reason or 'it is too large'}."
    return join(element("div", escape(figure.description)), markup.muted_line(why))


def table_html(excerpt: Excerpt) -> Html:
    """The first rows, and the size of the whole table."""
    size = excerpt.size + ("; first rows:" if excerpt.cut else "")
    return blocks_html([muted(size), Table(excerpt.headings, excerpt.rows, excerpt.numeric)])


def _file(path: Path) -> Html:
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= DOWNLOAD_BYTES else b""
    except OSError as error:
        return escape(f"{path} cannot be read: {error.strerror}")
    link = download(path.name, content, "application/octet-stream") if size <= DOWNLOAD_BYTES else EMPTY
    return join(_sized(path, size), link, between=" ")


def _sized(path: Path, size: int) -> Html:
    return join(markup.inline_code(path), markup.muted(f"{size:,} bytes"), between=" ")


def _dir(path: Path) -> Html:
    try:
        files = sorted(file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
        entries = [_sized(file.relative_to(path), file.stat().st_size) for file in files[:_LISTED]]
    except OSError as error:
        return escape(f"{path} cannot be read: {error.strerror}")
    more = [markup.muted(f"and {len(files) - _LISTED} more")] if len(files) > _LISTED else []
    return join(markup.inline_code(path), markup.items([*entries, *more]))


def value_text(value: Any) -> Html:
    """A single value as HTML, cut where it is long."""
    value = shortened(value)
    if isinstance(value, str):
        text = value
    elif isinstance(value, dict | list):
        text = pprint.pformat(value, width=100, sort_dicts=False)
    else:
        text = str(value)
    cut = text if len(text) <= _TEXT_CHARACTERS else f"{text[:_TEXT_CHARACTERS]}… (+{len(text) - _TEXT_CHARACTERS:,})"
    return markup.code(cut) if "\n" in cut or len(cut) > 80 else markup.inline_code(cut if cut else "(empty)")


# Source code with buttons: copy and insert with our lab extension, download anywhere.


def source(code: str, filename: str = "", defines: str = "", *, coloured: bool = True) -> Source:
    """Python code with buttons."""
    # For the button *Insert*: the positions of the name in the text as it is shown.
    found = places(plain(code).rstrip(), defines) if defines else ()
    return Source(code, coloured, filename=filename, defines=defines, places=tuple(found))


# What the docstring of this file says.


def evidence_section(
    report: Report, *, with_source: bool = True, coloured: bool = True, in_full: bool = False
) -> tuple[Block, ...]:
    """The section. In a terminal it has the outcomes; `%autocode show --tests` has the source."""
    evidence = report.evidence
    if not evidence.tests and not evidence.conditions and not report.tests:
        return lines(["The run ended before a test was written."])
    noticed = tuple(line(Span("⚠", "warn"), remark) for remark in parts.remarks(evidence))
    return (
        Row("Outputs", noticed, prefix=""),
        Row("Your tests", parts.checks(evidence.acceptance, in_full=in_full), only="html"),
        Row("Tests", parts.tests(evidence.tests) or (muted("no tests were run"),), prefix=""),
        Row("Checks", parts.checks(evidence.checks), prefix=""),
        Row("Sanity check", _vacuity(evidence), only="html"),
        Row("Small changes of the code", change_items(evidence.strength), prefix=""),
        Row("Changes of the data", relation_items(evidence.strength), prefix=""),
        Row("Cost", _costs(evidence)),
        Row("Changed tests", _changed(evidence, report.trace), only="html"),
        *(_sources(report, coloured=coloured) if with_source else ()),
    )


def _costs(evidence: Evidence) -> tuple[Block, ...]:
    """What each layer took. Tokens of recorded answers, which this run did not pay for, have a column of their own."""
    costs = evidence.costs
    replayed = any(cost.recorded for cost in costs)
    rows = tuple(
        (
            clipped(cost.layer, 80),
            amount(cost.tokens),
            *((amount(cost.recorded),) if replayed else ()),
            f"{cost.seconds:.1f}",
        )
        for cost in costs
    )
    headings = ("", "tokens", *(("recorded tokens",) if replayed else ()), "seconds")
    return (Table(headings, rows, (False, *(True for _ in headings[1:])), "cost"),) if rows else ()


def _sources(report: Report, *, coloured: bool) -> tuple[Fold, ...]:
    sources = {
        "Source of the tests": (report.tests, f"test_{report.name}.py"),
        "Source of the blind tests, which the agent did not see": (report.blind_tests, f"test_{report.name}_blind.py"),
        "Source of your tests": (report.own_tests, "test_own.py"),
    }
    return tuple(
        Fold(title, (source(text, filename, coloured=coloured),), only="html")
        for title, (text, filename) in sources.items()
    )


def _vacuity(evidence: Evidence) -> tuple[Block, ...]:
    if not evidence.tests:
        return ()
    count, idle = len(evidence.tests), evidence.vacuous_tests
    if not idle:
        return lines(["Every test fails on some function that does nothing, as it should."])
    one = len(idle) == 1
    told = f"{len(idle)} of {count} {'passes' if one else 'pass'} on functions that do nothing, whatever these return:"
    return _listed(told, idle)


def _changed(evidence: Evidence, trace: Trace | None) -> tuple[Block, ...]:
    if not parts.has_changed_tests(evidence, trace):
        return lines(["No test was changed."] if evidence.tests else [])
    return (
        *_listed(
            "The model changed or removed these tests without seeing the code or its output:",
            evidence.tests_changed,
        ),
        *_listed(
            "The agent, which also wrote the code, changed these tests after a test had failed:",
            trace.suite_changed if trace else (),
        ),
    )


def _listed(text: str, tests: Iterable[str]) -> tuple[Block, ...]:
    listed = tuple(line(Span(test, "code")) for test in tests)
    return (line(Span("⚠", "warn"), text), Bullets(listed)) if listed else ()


# The section *Second opinion*: the differences to a second solution, the smallest input, and its code.


CODE_CHARACTERS = 20_000
"""Characters of the second solution."""

_HEADINGS = ("where", "on", "at", "the function", "the second solution", "rows")


def opinion_section(report: Report) -> tuple[Block, ...]:
    """The section; nothing without a second opinion."""
    opinion = report.second_opinion
    if opinion is None:
        return ()
    rows = tuple(
        (entry.where, _on(entry), entry.at, entry.first, entry.second, f"{entry.count} of {entry.of}")
        for entry in opinion.differences
    )
    code = source(opinion.code[:CODE_CHARACTERS])
    return (
        *parts.opinion_blocks(report.name if report.success else "", opinion),
        *([Table(_HEADINGS, rows)] if rows else []),
        Row("Inputs tried", lines([", ".join(opinion.tried)])),
        Row("They differ on", lines([", ".join(opinion.differs_on)])),
        Row("Smallest input", (Source(opinion.smallest, python=True),)),
        Row("Expected result", (Source(opinion.derivation),)),
        Fold(f"The second solution, by {opinion.model}", (code,) if opinion.code.strip() else ()),
    )


def _on(difference: Difference) -> str:
    return f"the sample {difference.on}" if difference.on else "the sample"
