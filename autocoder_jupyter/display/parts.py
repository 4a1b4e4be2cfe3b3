"""HTML and text that the card and the inspector share: signature, assumptions, plan, tests, checks and failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.types import CheckOutcome, CodePlan, Evidence, InputSpec, OutputSpec, TestOutcome, Trace

MOST_ASSUMPTIONS = 20
FIRST_LINE = 120
"""Characters of the first failure in the first line of the card."""

MESSAGE_CHARACTERS = 2_000
"""Characters of the message of a check."""

MARKS = {"passed": "✓", "failed": "✗", "error": "✗", "missing": "?"}


def signature(name: str, inputs: Iterable[InputSpec], outputs: Iterable[OutputSpec]) -> str:
    """`growth.run(sales: DataFrame, min_orders: int = 5) -> (monthly: DataFrame, best_month: str)`."""
    given = ", ".join(
        f"{spec.name}: {spec.written_type}" + ("" if spec.required else f" = {spec.default!r}") for spec in inputs
    )
    returned = [f"{spec.name}: {spec.written_type}" for spec in outputs]
    outcome = returned[0] if len(returned) == 1 else f"({', '.join(returned)})"
    return f"{name}.run({given}) -> {outcome}"


def assumptions(plan: CodePlan | None, name: str = "") -> Html:
    """The assumptions of a plan, as a list.

    Args:
        plan: the plan.
        name: the name of a function that can be refined; then each assumption has a button to change it.
    """
    if plan is None:
        return EMPTY
    change = [refine_button("Change")] if name else []
    shown = [
        join(escape(markup.clipped(assumption)), *change, between=" ")
        for assumption in plan.assumptions[:MOST_ASSUMPTIONS]
    ]
    more = len(plan.assumptions) - MOST_ASSUMPTIONS
    listed = markup.items([*shown, *([markup.muted(f"and {more} more, in the plan")] if more > 0 else [])])
    return _refinable(name, listed) if name else listed


def refining(name: str) -> Html:
    """The button *Refine*. Only our lab extension shows it."""
    return _refinable(name, refine_button("Refine"), style="margin-top:6px")


def _refinable(name: str, content: Html, style: str | None = None) -> Html:
    """Content with buttons that refine `name`. In a list, the text before a button is the assumption to change."""
    return element("div", content, data_autocode_refines=name, style=style)


def refine_button(words: str, kind: str = "autocode-wish") -> Html:
    """A hidden button. Our lab extension shows it, with its label as the text.

    Args:
        words: its label.
        kind: its CSS class. Saved notebooks contain it, so it cannot be renamed.
    """
    return element("button", hidden=True, class_=kind, aria_label=words)


def plan_parts(plan: CodePlan) -> Html:
    """The plan: approach, outputs and their columns, packages."""
    outputs = []
    for output in plan.outputs:
        columns = markup.items(
            _explained(f"{column.name}: {column.dtype}", column.meaning) for column in output.columns
        )
        outputs.append(join(_explained(f"{output.name}: {output.written_type}", output.meaning), columns))
    packages = (f"Packages: {', '.join(plan.packages)}",) if plan.packages else ()
    return join(markup.text_lines([plan.approach]), markup.items(outputs), markup.text_lines(packages))


def _explained(declared: str, meaning: str) -> Html:
    return join(markup.inline_code(declared), markup.muted(meaning), between=" ")


def evidence_line(evidence: Evidence) -> Html:
    """What passed, side by side; `failures` shows what failed."""
    return markup.line_up(markup.marked("✓", markup.GOOD, words) for words in passed(evidence))


def evidence_text(evidence: Evidence) -> str:
    """`evidence_line` as text."""
    return ", ".join(passed(evidence))


def passed(evidence: Evidence) -> Iterator[str]:
    """What passed, each in a few words: the user's tests, the generated tests, the checks."""
    accepted, demanded = sum(outcome.passed for outcome in evidence.acceptance), len(evidence.acceptance)
    if accepted:
        yours = f"your {counted(demanded, 'test')}" if demanded > 1 else "your test"
        yield yours if accepted == demanded else f"{accepted} of {yours}"
    for what, blind in (("test", False), ("blind test", True)):
        outcomes = [test.outcome for test in evidence.tests if test.is_blind is blind]
        if count := outcomes.count("passed"):
            yield counted(count, what) if count == len(outcomes) else f"{count} of {counted(len(outcomes), what)}"
    yield from (markup.clipped(check.name, 120) for check in evidence.checks if check.passed)


def has_changed_tests(evidence: Evidence, trace: Trace | None) -> bool:
    """Whether tests are not as they were first written."""
    return bool(evidence.tests_changed or (trace and trace.suite_changed))


def warnings(evidence: Evidence, trace: Trace | None = None) -> Html:
    """Warnings about tests: those that were changed, and those that also pass on an empty function.

    Args:
        evidence: the evidence of the attempt.
        trace: the trace of the agent that wrote the tests, if an agent wrote them.
    """
    lines = warning_lines(evidence, trace)
    return join(*(element("div", markup.marked("⚠", markup.WARN, line)) for line in lines))


def warning_lines(evidence: Evidence, trace: Trace | None = None) -> Iterator[str]:
    """The same as text."""
    if trace is not None and trace.suite_changed:
        yield f"Tests changed by the agent since it first wrote them: {', '.join(trace.suite_changed)}"
    if evidence.tests_changed:
        yield f"Tests changed since they were first written: {', '.join(evidence.tests_changed)}"
    if evidence.vacuous_tests:
        yield f"Tests that also pass on a function that does nothing: {', '.join(evidence.vacuous_tests)}"


def failures(tests: Sequence[TestOutcome], evidence: Evidence | None, most: int = 3, reason: str = "") -> Html:
    """The first failures with their messages: the user's tests, then the generated tests, then the checks.

    Args:
        tests: the outcomes of the generated tests.
        evidence: the outcomes of the user's tests and of the checks.
        most: the number of failures that are shown; the others are counted.
        reason: text that the reader sees already; a check that it reports is left out.
    """
    own, others = (evidence.acceptance, evidence.checks) if evidence else ((), ())
    entries = [_failed(check) for check in own if not check.passed and not is_reported(check, reason)]
    entries += [_failed_test(test) for test in tests if test.outcome != "passed"]
    entries += [_failed(check) for check in others if not check.passed and not is_reported(check, reason)]
    more = [markup.muted(f"and {len(entries) - most} more")] if len(entries) > most else []
    return join(*(element("div", entry) for entry in (*entries[:most], *more)))


def is_reported(check: CheckOutcome, reason: str) -> bool:
    """Whether a reason gives the name and the whole message of a check."""
    return check.name in reason and check.message in reason


def _failed(check: CheckOutcome) -> Html:
    name = markup.marked("✗", markup.BAD, markup.clipped(check.name))
    beside, below = _message(check.message)
    return join(join(name, markup.muted(beside), between=" "), below)


def _failed_test(test: TestOutcome) -> Html:
    mark, name = markup.coloured("✗", markup.BAD), markup.inline_code(test.id)
    message = element("div", markup.inline_code(markup.clipped(error_line(test))))
    return join(join(mark, name, escape(markup.clipped(test.sentence)), between=" "), message)


def _message(message: str) -> tuple[str, Html]:
    """The message of a check: text to show beside its name, and a block to show below when it has several lines."""
    if "\n" in message:
        return "", markup.code(markup.clipped(message, MESSAGE_CHARACTERS))
    return markup.clipped(message, MESSAGE_CHARACTERS), EMPTY


def first_failure(tests: Sequence[TestOutcome], evidence: Evidence | None, reason: str = "") -> str:
    """The first of `failures` in one short line; "" when there is none.

    Args:
        tests: the outcomes of the generated tests.
        evidence: the outcomes of the user's tests and of the checks.
        reason: text that the reader sees already; of a check that it reports, only the name is given.
    """
    own, others = (evidence.acceptance, evidence.checks) if evidence else ((), ())
    lines = [_failed_line(check, reason) for check in own if not check.passed]
    lines += [f"{test.id}: {error_line(test)}" for test in tests if test.outcome != "passed"]
    lines += [_failed_line(check, reason) for check in others if not check.passed]
    return markup.clipped(" ".join(lines[0].split()), FIRST_LINE) if lines else ""


def _failed_line(check: CheckOutcome, reason: str) -> str:
    if not check.message or is_reported(check, reason):
        return f"✗ {check.name}"
    return f"{check.name}: {check.message}"


def error_line(test: TestOutcome) -> str:
    """The line of a failed test's message that names the error; pytest marks it with an E."""
    lines = [line for line in test.message.splitlines() if line.strip()]
    marked = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    return next((line for line in (*marked, *lines)), test.outcome)


def tests(outcomes: Iterable[TestOutcome], pending: Iterable[str] = ()) -> Html:
    """Every test with its docstring, its id and its time; a failed test with its message."""
    lines = [
        _entry(
            test.outcome == "passed",
            f"{MARKS[test.outcome]} {test.outcome}",
            join(escape(test.sentence), markup.inline_code(test.id, markup.MUTED), between=" "),
            f"{test.seconds * 1000:.0f} ms" if test.seconds else "",
            markup.code(test.message) if test.outcome != "passed" else EMPTY,
        )
        for test in outcomes
    ]
    lines += [_entry(None, "… waits", markup.inline_code(name)) for name in pending]
    return join(*lines)


def own(evidence: Evidence | None, *, in_full: bool = False, messages: bool = True) -> Html:
    """The user's own tests and their outcomes; empty if there are none.

    Args:
        evidence: their outcomes.
        in_full: whether messages may contain values of the data.
        messages: whether messages are shown.
    """
    return _checks(evidence.acceptance, in_full=in_full, messages=messages) if evidence else EMPTY


def own_lines(evidence: Evidence, reason: str = "") -> Iterator[str]:
    """The same as text; a message that `reason` contains is left out."""
    for outcome in evidence.acceptance:
        mark = "✓" if outcome.passed else "✗"
        message = "" if is_reported(outcome, reason) else markup.clipped(outcome.message, MESSAGE_CHARACTERS)
        yield f"{mark} {markup.clipped(outcome.name)}  {message}".rstrip()


def checks(evidence: Evidence) -> Html:
    """The checks and their outcomes."""
    return _checks(evidence.checks)


def _checks(outcomes: Iterable[CheckOutcome], *, in_full: bool = False, messages: bool = True) -> Html:
    return join(*(_check(check, _chosen(check, in_full=in_full) if messages else "") for check in outcomes))


def _chosen(check: CheckOutcome, *, in_full: bool) -> str:
    return (in_full and check.in_full) or check.message


def _check(check: CheckOutcome, message: str) -> Html:
    """A check; a message of several lines stands below it."""
    beside, below = _message(message)
    return _entry(
        check.passed,
        "✓ passed" if check.passed else "✗ failed",
        join(escape(markup.clipped(check.name, 500)), markup.muted(beside), between=" "),
        "",
        below,
    )


def _entry(good: bool | None, mark: str, content: Html, note: str = "", below: Html = EMPTY) -> Html:
    shown = markup.muted(mark) if good is None else markup.coloured(mark, markup.GOOD if good else markup.BAD)
    cells = [
        element("div", shown, style="flex:0 0 5.5em"),
        element("div", content, below, style="flex:1 1 0;min-width:0"),
        *([element("div", escape(note), style=f"flex:none;{markup.MUTED}")] if note else []),
    ]
    return element("div", join(*cells, between=" "), style="display:flex;column-gap:12px")
