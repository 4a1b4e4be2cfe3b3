"""What cards and results both show of a plan and of the evidence: how to call it, what it assumes, what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from autocoder_jupyter.display import markup
from autocoder_jupyter.display.amounts import counted
from autocoder_jupyter.display.html import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.types import CheckOutcome, CodePlan, Evidence, InputSpec, OutputSpec, TestOutcome, Trace

MOST_ASSUMPTIONS = 20
FIRST_LINE = 120
"""Characters that the first line has for what failed."""

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
    """How the request was read where it leaves something open.

    Args:
        plan: that assumes it.
        name: of a function that can be refined: then each can be changed.
    """
    if plan is None:
        return EMPTY
    change = [wish_button("Change")] if name else []
    shown = [
        join(escape(markup.clipped(assumption)), *change, between=" ")
        for assumption in plan.assumptions[:MOST_ASSUMPTIONS]
    ]
    more = len(plan.assumptions) - MOST_ASSUMPTIONS
    listed = markup.items([*shown, *([markup.muted(f"and {more} more, in the plan")] if more > 0 else [])])
    return _refinable(name, listed) if name else listed


def refining(name: str) -> Html:
    """Where a person says what should be different; nothing without our extension, which shows the button."""
    return _refinable(name, wish_button("Refine"), style="margin-top:6px")


def _refinable(name: str, content: Html, style: str | None = None) -> Html:
    """Buttons that refine `name`. In a list, the text before a button is the assumption that it changes."""
    return element("div", content, data_autocode_refines=name, style=style)


def wish_button(words: str, kind: str = "autocode-wish") -> Html:
    """A button that our extension shows; it has a label and no text, and looks as that says."""
    return element("button", hidden=True, class_=kind, aria_label=words)


def plan_parts(plan: CodePlan) -> Html:
    """What the plan says: approach, outputs and their columns, packages."""
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
    """All that held, side by side; what did not hold is `failures`' to say."""
    return markup.line_up(markup.marked("✓", markup.GOOD, told) for told in held(evidence))


def evidence_text(evidence: Evidence) -> str:
    """`evidence_line` as text."""
    return ", ".join(held(evidence))


def held(evidence: Evidence) -> Iterator[str]:
    """All that held, each in a few words."""
    accepted, demanded = sum(outcome.passed for outcome in evidence.acceptance), len(evidence.acceptance)
    if accepted:
        yours = f"your {counted(demanded, 'test')}" if demanded > 1 else "your test"
        yield yours if accepted == demanded else f"{accepted} of {yours}"
    for what, blind in (("test", False), ("blind test", True)):
        outcomes = [test.outcome for test in evidence.tests if test.is_blind is blind]
        if passed := outcomes.count("passed"):
            yield counted(passed, what) if passed == len(outcomes) else f"{passed} of {counted(len(outcomes), what)}"
    yield from (markup.clipped(check.name, 120) for check in evidence.checks if check.passed)


def has_changed_tests(evidence: Evidence, trace: Trace | None) -> bool:
    """Whether tests are not as they were first written."""
    return bool(evidence.tests_changed or (trace and trace.suite_changed))


def warnings(evidence: Evidence, trace: Trace | None = None) -> Html:
    """Tests that were changed, and tests that prove nothing.

    Args:
        evidence: of the attempt.
        trace: of the agent that wrote them, where one did.
    """
    lines = warning_lines(evidence, trace)
    return join(*(element("div", markup.marked("⚠", markup.WARN, line)) for line in lines))


def warning_lines(evidence: Evidence, trace: Trace | None = None) -> Iterator[str]:
    """The same as text."""
    if trace is not None and trace.suite_changed:
        yield f"Tests changed by the agent after a failure: {', '.join(trace.suite_changed)}"
    if evidence.tests_changed:
        yield f"Tests changed on the way: {', '.join(evidence.tests_changed)}"
    if evidence.vacuous_tests:
        yield f"Tests that also pass on a function that does nothing: {', '.join(evidence.vacuous_tests)}"


def failures(tests: Sequence[TestOutcome], evidence: Evidence | None, most: int = 3) -> Html:
    """What did not hold, each with what it says; what the person demands first, then the tests; the first few."""
    own, others = (evidence.acceptance, evidence.checks) if evidence else ((), ())
    entries = [_failed(check) for check in own if not check.passed]
    entries += [_failed_test(test) for test in tests if test.outcome != "passed"]
    entries += [_failed(check) for check in others if not check.passed]
    more = [markup.muted(f"and {len(entries) - most} more")] if len(entries) > most else []
    return join(*(element("div", entry) for entry in (*entries[:most], *more)))


def _failed(check: CheckOutcome) -> Html:
    name = markup.marked("✗", markup.BAD, markup.clipped(check.name))
    return join(name, markup.muted(markup.clipped(check.message)), between=" ")


def _failed_test(test: TestOutcome) -> Html:
    mark, name = markup.coloured("✗", markup.BAD), markup.inline_code(test.id)
    said = element("div", markup.inline_code(markup.clipped(complaint(test))))
    return join(join(mark, name, escape(markup.clipped(test.sentence)), between=" "), said)


def first_failure(tests: Sequence[TestOutcome], evidence: Evidence | None) -> str:
    """The first of `failures`, and what it says, in one short line; "" when all held."""
    own, others = (evidence.acceptance, evidence.checks) if evidence else ((), ())
    named = [f"{check.name}: {check.message}".removesuffix(": ") for check in own if not check.passed]
    named += [f"{test.id}: {complaint(test)}" for test in tests if test.outcome != "passed"]
    named += [f"{check.name}: {check.message}".removesuffix(": ") for check in others if not check.passed]
    return markup.clipped(" ".join(named[0].split()), FIRST_LINE) if named else ""


def complaint(test: TestOutcome) -> str:
    """The one line of a failed test's message that says what is wrong; pytest marks it with an E."""
    lines = [line for line in test.message.splitlines() if line.strip()]
    marked = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    return next((line for line in (*marked, *lines)), test.outcome)


def tests(outcomes: Iterable[TestOutcome], pending: Iterable[str] = ()) -> Html:
    """Every test with the sentence it checks, its id and its time; what failed says why."""
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


def own(evidence: Evidence | None, *, in_full: bool = False) -> Html:
    """The person's own tests and their outcomes; empty without any. With `in_full`, values of the data may be shown."""
    return _conditions(evidence.acceptance, in_full=in_full) if evidence else EMPTY


def own_lines(evidence: Evidence) -> Iterator[str]:
    """The same as text."""
    for outcome in evidence.acceptance:
        mark, said = "✓" if outcome.passed else "✗", markup.clipped(outcome.message)
        yield f"{mark} {markup.clipped(outcome.name)}  {said}".rstrip()


def checks(evidence: Evidence) -> Html:
    """What else had to hold, and whether it did."""
    return _conditions(evidence.checks)


def _conditions(conditions: Iterable[CheckOutcome], *, in_full: bool = False) -> Html:
    return join(*(_condition(check, (in_full and check.in_full) or check.message) for check in conditions))


def _condition(check: CheckOutcome, said: str) -> Html:
    """A condition, and below it what is more than a line."""
    beside, below = (
        ("", markup.code(markup.clipped(said, 2_000))) if "\n" in said else (markup.clipped(said, 1_000), EMPTY)
    )
    return _entry(
        check.passed,
        "✓ holds" if check.passed else "✗ does not hold",
        join(escape(markup.clipped(check.name, 500)), markup.muted(beside), between=" "),
        "",
        below,
    )


def _entry(good: bool | None, mark: str, content: Html, note: str = "", below: Html = EMPTY) -> Html:
    shown = markup.muted(mark) if good is None else markup.coloured(mark, markup.GOOD if good else markup.BAD)
    cells = [
        element("div", shown, style="flex:0 0 6.5em"),
        element("div", content, below, style="flex:1 1 0;min-width:0"),
        *([element("div", escape(note), style=f"flex:none;{markup.MUTED}")] if note else []),
    ]
    return element("div", join(*cells, between=" "), style="display:flex;column-gap:12px")
