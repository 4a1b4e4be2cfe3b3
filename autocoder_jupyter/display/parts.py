"""What card and inspector show of a plan and of its evidence: signature, assumptions, tests, checks, failures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from autocoder_jupyter.errors import RAN_OUT_OF_TIME
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.document import (
    Beside,
    Block,
    Bullets,
    Button,
    Fold,
    Item,
    Items,
    Line,
    Source,
    Span,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import clipped

if TYPE_CHECKING:
    from autocoder_jupyter.types import (
        CheckOutcome,
        CodePlan,
        Evidence,
        InputSpec,
        OutputSpec,
        Strength,
        TestOutcome,
        Trace,
    )

MOST_ASSUMPTIONS = 20
MOST_FAILURES = 3
FIRST_LINE = 120
"""Characters of the first failure in the first line of the card."""

MESSAGE_CHARACTERS = 2_000
"""Characters of the message of a test or a check."""

_LATE = "timed out after"
_RAN_OUT = re.compile(rf"{RAN_OUT_OF_TIME} (\d[\d.e+]{{0,12}}) s\b")
_ENDS = {"missing": "it never ended"}

MARKS = {"passed": "✓", "failed": "✗", "error": "✗", "missing": "?"}


def signature(name: str, inputs: Iterable[InputSpec], outputs: Iterable[OutputSpec]) -> str:
    """`growth.run(sales: DataFrame, min_orders: int = 5) -> (monthly: DataFrame, best_month: str)`."""
    given = ", ".join(
        f"{spec.name}: {spec.written_type}" + ("" if spec.required else f" = {spec.default!r}") for spec in inputs
    )
    returned = [f"{spec.name}: {spec.written_type}" for spec in outputs]
    outcome = returned[0] if len(returned) == 1 else f"({', '.join(returned)})"
    return f"{name}.run({given}) -> {outcome}"


def assumptions(plan: CodePlan | None, *, can_change: bool) -> tuple[Block, ...]:
    """The assumptions of a plan as a list; with a button to change each, if the function can be refined."""
    if plan is None or not plan.assumptions:
        return ()
    change = (Button("Change"),) if can_change else ()
    shown = [line(clipped(assumption), *change) for assumption in plan.assumptions[:MOST_ASSUMPTIONS]]
    more = len(plan.assumptions) - MOST_ASSUMPTIONS
    return (Bullets((*shown, *([muted(f"and {more} more, in the plan")] if more > 0 else []))),)


def plan_blocks(plan: CodePlan) -> tuple[Block, ...]:
    """The plan: approach, outputs and their columns, packages."""
    declared = [
        entry
        for output in plan.outputs
        for entry in (
            _explained(f"{output.name}: {output.written_type}", output.meaning),
            *(_explained(f"{output.name}.{column.name}: {column.dtype}", column.meaning) for column in output.columns),
        )
    ]
    packages = [f"Packages: {', '.join(plan.packages)}"] if plan.packages else []
    return (*lines([plan.approach]), *([Bullets(tuple(declared))] if declared else []), *lines(packages))


def _explained(declared: str, meaning: str) -> Line:
    return line(Span(declared, "code"), Span(meaning, "muted"))


def sandbox_blocks(words: str) -> tuple[Block, ...]:
    """The sandbox and its tier; a click shows what it protects and what not. In a terminal it is one line."""
    name, _, holds = words.partition(": ")
    if not holds:
        return tuple(lines([words], "muted"))
    return Fold(name, (muted(holds),), only="html", is_beside=True), line(Span(words, only="text"))


def passed_blocks(evidence: Evidence | None) -> tuple[Block, ...]:
    """What passed, side by side; `failures` shows what failed. The first line of the card counts the tests."""
    told = passed(evidence, counts_tests=False) if evidence else ()
    shown = tuple(line(Span("✓", "good", only="html"), words) for words in told)
    return (Beside(shown),) if shown else ()


def passed(evidence: Evidence, *, counts_tests: bool = True) -> Iterator[str]:
    """What passed, each in a few words: the user's tests, the generated tests, the checks."""
    accepted, demanded = sum(outcome.passed for outcome in evidence.acceptance), len(evidence.acceptance)
    if accepted and counts_tests:
        yours = f"your {counted(demanded, 'test')}" if demanded > 1 else "your test"
        yield yours if accepted == demanded else f"{accepted} of {yours}"
    for what, blind in (("test", False), ("blind test", True)):
        outcomes = [test.outcome for test in evidence.tests if test.is_blind is blind]
        if (count := outcomes.count("passed")) and (counts_tests or blind):
            yield counted(count, what) if count == len(outcomes) else f"{count} of {counted(len(outcomes), what)}"
    yield from (clipped(check.name, FIRST_LINE) for check in evidence.checks if check.passed)


def has_changed_tests(evidence: Evidence, trace: Trace | None) -> bool:
    """Whether tests are not as they were first written."""
    return bool(evidence.tests_changed or (trace and trace.suite_changed))


def remarks(evidence: Evidence) -> Iterator[str]:
    """Which outputs on the sample say nothing, one sentence each."""
    for remark in evidence.remarks:
        yield f"{clipped(remark[:1].upper() + remark[1:])}. Look at the outputs before you rely on it."


def warning_lines(evidence: Evidence, trace: Trace | None = None) -> Iterator[str]:
    """Warnings about outputs that say nothing, and about tests that were changed, left out, or pass on a stub.

    Args:
        evidence: the evidence of the attempt.
        trace: the trace of the agent that wrote the tests, if an agent wrote them.
    """
    yield from remarks(evidence)
    if trace is not None and trace.suite_changed:
        yield f"Tests changed by the agent since it first wrote them: {', '.join(trace.suite_changed)}"
    if evidence.tests_changed:
        yield f"Tests changed since they were first written: {', '.join(evidence.tests_changed)}"
    if evidence.vacuous_tests:
        named = ", ".join(evidence.vacuous_tests)
        yield f"Tests that pass on functions that do nothing, whatever these return: {named}"
    if evidence.strength is not None:
        yield from _weaknesses(evidence.strength)


def _weaknesses(strength: Strength) -> Iterator[str]:
    """What was found when the verified function was examined."""
    yield from (clipped(one.words) for one in strength.dependences)
    for relation in strength.broken:
        if relation.said:
            yield f"{relation.words[:1].upper()}{relation.words[1:]}."
        elif relation.demanded_by:
            yield f"The plan says that {relation.where} is the same with {relation.name}, and it is not. One is wrong."
        else:
            yield f"The result must not depend on it, and does: with {relation.name}, {relation.where} is another one."
    for relation in strength.wrong_plan:
        yield f"The plan says that {relation.where} is the same with {relation.name}. Two solutions that agree say not."
    for sentence in strength.dropped:
        yield f"A test of this sentence fails on the function, and was left out: {clipped(sentence)}"


def warnings(evidence: Evidence | None, trace: Trace | None = None) -> tuple[Block, ...]:
    """The same as blocks."""
    found = warning_lines(evidence, trace) if evidence else ()
    return tuple(line(Span("⚠", "warn"), words) for words in found)


def failures(
    tests: Sequence[TestOutcome], evidence: Evidence | None, reason: str = "", told: str = ""
) -> tuple[Block, ...]:
    """The first failures with their messages: the user's tests, then the generated tests, then the checks.

    Args:
        tests: the outcomes of the generated tests.
        evidence: the outcomes of the user's tests and of the checks.
        reason: text that the reader sees already; a check that it reports is left out.
        told: the headline that the reader sees already, from `first_failure`; an assertion in it is not repeated.
    """
    own, others = (evidence.acceptance, evidence.checks) if evidence else ((), ())
    entries = [_failed(check) for check in own if not check.passed and not is_reported(check, reason)]
    entries += [_failed_test(test, told) for test in tests if test.outcome != "passed"]
    entries += [_failed(check) for check in others if not check.passed and not is_reported(check, reason)]
    more = len(entries) - MOST_FAILURES
    shown = [block for entry in entries[:MOST_FAILURES] for block in entry]
    return (*shown, *([muted(f"and {more} more")] if more > 0 else []))


def is_reported(check: CheckOutcome, reason: str) -> bool:
    """Whether a reason gives the name and the whole message of a check."""
    return check.name in reason and check.message in reason


def _failed(check: CheckOutcome) -> tuple[Block, ...]:
    beside, below = _message(check.message)
    return line(Span("✗", "bad"), clipped(check.name), Span(beside, "muted")), *below


def _failed_test(test: TestOutcome, told: str) -> tuple[Block, ...]:
    """A failed test with its error, unless the headline `told` has it."""
    first = line(Span("✗", "bad"), Span(test.id, "code"), clipped(test.sentence))
    error = error_line(test)
    is_told = told == f"{test.id}: {error}" or (told.startswith(_LATE) and _time_of(error) != "")
    return (first,) if is_told else (first, line(Span(clipped(error), "code"), look="indented"))


def _message(message: str) -> tuple[str, tuple[Block, ...]]:
    """The message of a check: text to show beside its name, and a block to show below when it has several lines."""
    shown = clipped(message, MESSAGE_CHARACTERS)
    return ("", (Source(shown),)) if "\n" in message else (shown, ())


def first_failure(tests: Sequence[TestOutcome], evidence: Evidence | None, reason: str = "") -> str:
    """The first of `failures` in one short line; "" when there is none.

    Args:
        tests: the outcomes of the generated tests.
        evidence: the outcomes of the user's tests and of the checks.
        reason: text that the reader sees already; of a check that it reports, only the name is given.
    """
    own, others = (evidence.acceptance, evidence.checks) if evidence else ((), ())
    messages = [check.message for check in (*own, *others) if not check.passed]
    messages += [test.message for test in tests if test.outcome != "passed"]
    if late := next(filter(None, map(_time_of, messages)), ""):
        return f"{_LATE} {late} s"  # that is why the others failed
    found = [_failed_line(check, reason) for check in own if not check.passed]
    found += [f"{test.id}: {error_line(test)}" for test in tests if test.outcome != "passed"]
    found += [_failed_line(check, reason) for check in others if not check.passed]
    return clipped(" ".join(found[0].split()), FIRST_LINE) if found else ""


def _time_of(message: str) -> str:
    """The seconds after which a program was stopped; "" if the message does not say that."""
    found = _RAN_OUT.search(message)
    return found[1] if found else ""


def without_first(reason: str, tests: Sequence[TestOutcome]) -> str:
    """A reason without the assertion of the first failed test, which the headline has."""
    first = next((test.id for test in tests if test.outcome != "passed"), "")
    kept, found, told = reason.partition(f", first {first}: ") if first else (reason, "", "")
    _, end, more = told.partition("\n")
    return f"{kept}.{end}{more}" if found else reason


def _failed_line(check: CheckOutcome, reason: str) -> str:
    if not check.message or is_reported(check, reason):
        return f"✗ {check.name}"
    return f"{check.name}: {check.message}"


def error_line(test: TestOutcome) -> str:
    """The line of a failed test's message that names the error; pytest marks it with an E."""
    told = [words for words in test.message.splitlines() if words.strip()]
    marked = [words.removeprefix("E").strip() for words in told if words.startswith("E ")]
    return next((words for words in (*marked, *told)), _ENDS.get(test.outcome, test.outcome))


def tests(outcomes: Iterable[TestOutcome], pending: Iterable[str] = ()) -> tuple[Block, ...]:
    """Every test with its docstring, its id and its time; a failed test with its message."""
    shown = [
        Item(
            _mark(test.outcome == "passed", f"{MARKS[test.outcome]} {test.outcome}"),
            (test.sentence, Span(test.id, "muted code")),
            note=f"{test.seconds * 1000:.0f} ms" if test.seconds else "",
            below=(Source(_shortened(test.message)),) if test.outcome != "passed" else (),
        )
        for test in outcomes
    ]
    shown += [Item(Span("… waits", "muted"), (Span(name, "code"),)) for name in pending]
    return (Items(tuple(shown)),) if shown else ()


def _shortened(message: str) -> str:
    return message if len(message) <= MESSAGE_CHARACTERS else f"{message[:MESSAGE_CHARACTERS]}\n…"


def checks(outcomes: Iterable[CheckOutcome], *, in_full: bool = False, messages: bool = True) -> tuple[Block, ...]:
    """Checks, or the user's own tests, and their outcomes.

    Args:
        outcomes: the outcomes.
        in_full: whether messages may contain values of the data.
        messages: whether messages are shown.
    """
    shown = tuple(_check(one, ((in_full and one.in_full) or one.message) if messages else "") for one in outcomes)
    return (Items(shown),) if shown else ()


def _check(check: CheckOutcome, message: str) -> Item:
    """A check; a message of several lines stands below it."""
    beside, below = _message(message)
    mark = _mark(check.passed, "✓ passed" if check.passed else "✗ failed")
    return Item(mark, (clipped(check.name, 500),), beside, below=below)


def _mark(good: bool, words: str) -> Span:
    return Span(words, "good" if good else "bad")
