"""What card and inspector show of a plan and of its evidence: signature, assumptions, tests, checks, failures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from autocoder_jupyter.errors import RAN_OUT_OF_TIME
from autocoder_jupyter.view.amounts import counted, spending
from autocoder_jupyter.view.document import (
    Beside,
    Block,
    Bullets,
    Button,
    Fold,
    Group,
    Item,
    Items,
    Line,
    Offer,
    Source,
    Span,
    Tone,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import clipped

if TYPE_CHECKING:
    from autocoder_jupyter.types import (
        Changes,
        CheckOutcome,
        CodePlan,
        Difference,
        Evidence,
        InputSpec,
        OutputSpec,
        Reading,
        SecondOpinion,
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
    """Warnings about outputs that say nothing, and about tests that were changed, left out, or pass on a stub."""
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
    """The first failures with their messages: the user's tests, then the generated tests, then the checks."""
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
    """The first of `failures` in one short line; "" when there is none."""
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
    """Checks, or the user's own tests, and their outcomes."""
    shown = tuple(_check(one, ((in_full and one.in_full) or one.message) if messages else "") for one in outcomes)
    return (Items(shown),) if shown else ()


def _check(check: CheckOutcome, message: str) -> Item:
    """A check; a message of several lines stands below it."""
    beside, below = _message(message)
    mark = _mark(check.passed, "✓ passed" if check.passed else "✗ failed")
    return Item(mark, (clipped(check.name, 500),), beside, below=below)


def _mark(good: bool, words: str) -> Span:
    return Span(words, "good" if good else "bad")


# Changes since the earlier version: interface, assumptions, outputs on the sample and tests.
#
# They are lines with the signs of a diff. The code has a separate diff.


CHANGES_MOST = 12
"""Lines of one kind that are shown; the others are counted."""

TONES: dict[str, Tone] = {"+": "good", "−": "bad", "→": "busy", "=": "quiet"}
"""The signs: added, removed, changed, unchanged."""

Change = tuple[str, str]
"""A sign and its text."""


def change_blocks(changes: Changes, plan: CodePlan, tests: Iterable[TestOutcome]) -> tuple[Block, ...]:
    """The changes, grouped by kind."""
    return tuple(Group(kind, _lines(found)) for kind, found in change_lines(changes, plan, tests).items())


def _lines(found: Sequence[Change]) -> tuple[Block, ...]:
    shown = [line(Span(sign, TONES[sign]), clipped(words), look="hanging") for sign, words in found[:CHANGES_MOST]]
    more = len(found) - CHANGES_MOST
    return (*shown, *([muted(f"and {more} more")] if more > 0 else []))


def change_lines(changes: Changes, plan: CodePlan, tests: Iterable[TestOutcome]) -> Mapping[str, Sequence[Change]]:
    """The lines by kind, in the order in which they are shown; kinds without lines are left out."""
    found = {
        "Interface": [*_inputs(changes.plan.inputs, plan.inputs), *_outputs(changes.plan.outputs, plan.outputs)],
        "Assumptions": _texts(changes.plan.assumptions, plan.assumptions),
        "On the sample": _on_the_sample(changes, plan),
        "Tests": _tests(changes, [test.id for test in tests]),
    }
    return {kind: lines for kind, lines in found.items() if lines}


def _inputs(before: Sequence[InputSpec], now: Sequence[InputSpec]) -> list[Change]:
    old, new = ({spec.name: _input(spec) for spec in specs} for specs in (before, now))
    return _changes_compared("input", old, new)


def _input(spec: InputSpec) -> str:
    return f"{spec.name}: {spec.written_type}" + ("" if spec.required else f" = {spec.default!r}")


def _outputs(before: Sequence[OutputSpec], now: Sequence[OutputSpec]) -> list[Change]:
    old, new = ({spec.name: f"{spec.name}: {spec.written_type}" for spec in specs} for specs in (before, now))
    lines = _changes_compared("output", old, new)
    columns = {spec.name: {column.name: column.dtype for column in spec.columns} for spec in before}
    for spec in now:
        if columns.get(spec.name) and spec.columns:
            were, are = columns[spec.name], {column.name: column.dtype for column in spec.columns}
            names = ({name: f"{spec.name}.{name}: {dtype}" for name, dtype in some.items()} for some in (were, are))
            lines += _changes_compared("column", *names)
    return lines


def _changes_compared(what: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[Change]:
    return [
        *(("−", f"{what} {old[name]}") for name in old if name not in new),
        *(("→", f"{what} {new[name]}, was {old[name]}") for name in new if name in old and new[name] != old[name]),
        *(("+", f"{what} {new[name]}") for name in new if name not in old),
    ]


def _texts(before: Sequence[str], now: Sequence[str]) -> list[Change]:
    return [*(("−", text) for text in before if text not in now), *(("+", text) for text in now if text not in before)]


def _on_the_sample(changes: Changes, plan: CodePlan) -> list[Change]:
    if changes.outputs is None:
        return []
    lines = [("→", f"{output.name}: {words}") for output in changes.outputs for words in output.lines]
    changed = {output.name for output in changes.outputs}
    before = {output.name for output in changes.plan.outputs}
    same = [output.name for output in plan.outputs if output.name in before and output.name not in changed]
    return [*lines, *([("=", f"{', '.join(same)}: as before")] if same else [])]


def _tests(changes: Changes, now: Sequence[str]) -> list[Change]:
    by_choice = {
        choice: [test for test in changes.tests if test.fate == choice] for choice in ("kept", "changed", "dropped")
    }
    kept = by_choice["kept"]
    known = {test.id for test in changes.tests}
    names = dict.fromkeys(test.partition("[")[0] for test in now)
    new = [name for name in names if name not in known] if changes.tests else []
    return [
        *([("=", f"{counted(len(kept), 'earlier test')} kept")] if kept else []),
        *(("→", f"{test.id}: {test.reason}") for test in by_choice["changed"]),
        *(("−", f"{test.id}: {test.reason or test.sentence}") for test in by_choice["dropped"]),
        *([("+", f"{counted(len(new), 'new test')}: {', '.join(new)}")] if new else []),
    ]


# The row *Second opinion* on cards and in the inspector: the differences in numbers, and other readings.


LONGEST = 400
"""Characters of a sentence."""

MOST = 3
"""Differences that are shown without a reading that explains them."""


def opinion_blocks(name: str, opinion: SecondOpinion | None) -> tuple[Block, ...]:
    """The content of the row; empty without a second opinion."""
    if opinion is None:
        return ()
    if opinion.state == "running":
        return (muted("running …"),)
    if opinion.state == "none":
        none = line(Span("none.", only="text"), Span(clipped(opinion.note, LONGEST), "muted"))
        return (none, *lines([_unanswered(opinion)], "muted"))
    return (*lines(_found_wrong(opinion)), *_compared(name, opinion), *lines(_notes(opinion), "muted"))


def _compared(name: str, opinion: SecondOpinion) -> Iterator[Block]:
    if opinion.state in ("agree", "not compared"):
        yield line(Span("✓", "good") if opinion.state == "agree" else Span("–", "quiet"), _agrees(opinion))
        yield from lines(map(_sentence, opinion.differences[:MOST]), "muted")
        yield from _readings(name, opinion)
        return
    yield from _readings(name, opinion)
    rest = opinion.differences[1 if opinion.readings else 0 :][:MOST]
    yield from (line(Span("≠", "warn"), _sentence(entry)) for entry in rest)
    yield from _judged(opinion)


def _readings(name: str, opinion: SecondOpinion) -> Iterator[Block]:
    for number, reading in enumerate(opinion.readings, 1):
        yield line(Span("≠", "warn"), _read(opinion, number))
        if reading.assumption:
            yield muted(f"It depends on: {clipped(reading.assumption, LONGEST)}")
        if name:
            yield _use(name, number, reading)


def _use(name: str, number: int, reading: Reading) -> Offer:
    """How to apply a reading."""
    cell = f"%%autocode {name} --refine\n{reading.line}"
    command = f"%autocode reading {name} {number}"
    return Offer("Use this reading", cell, command, f"adds to the request: {reading.line}")


def _notes(opinion: SecondOpinion) -> tuple[str, str, str]:
    return _not_compared(opinion), _unanswered(opinion), _cost(opinion)


def _unanswered(opinion: SecondOpinion) -> str:
    asked = " and ".join(opinion.unanswered)
    return f"A question for {clipped(asked, LONGEST)} had no answer. The next run asks it again." if asked else ""


def _agrees(opinion: SecondOpinion) -> str:
    count = len(opinion.tried)
    inputs = f"on the sample and {counted(count, 'variation')} of it" if count else "on the sample"
    if opinion.state == "agree" and not opinion.not_compared:
        return f"A second solution gives the same result {inputs}."
    if opinion.state == "agree":
        return f"In what was compared, a second solution gives the same result {inputs}."
    if not opinion.compared:
        return "There is a second solution, but none of its outputs could be compared."
    same = clipped(" and ".join(opinion.compared), LONGEST)
    return f"Not all outputs were compared. A second solution gives the same {same} {inputs}."


def _read(opinion: SecondOpinion, number: int) -> str:
    """`With the reading “year on year”, best_month would be 2024-03 instead of 2024-11.`"""
    words = opinion.readings[number - 1].words.removeprefix("read ")
    if opinion.state == "agree":
        return f"With the reading “{words}”, the result is the same on this data, and may differ on other data."
    if number > 1 or not opinion.differences:
        return f"With the reading “{words}”, the result differs too."
    return f"With the reading “{words}”, {_described(opinion.differences[0])}."


def _sentence(difference: Difference) -> str:
    text = _described(difference)
    return f"{text[0].upper() if difference.on else text[0]}{text[1:]}."


def _described(difference: Difference) -> str:
    """`best_month would be 2024-03 instead of 2024-11`."""
    where, first, second = difference.where, difference.first, difference.second
    if not first and not second:  # values are withheld
        rows = f" in {difference.count} of {difference.of} rows" if difference.of > 1 else ""
        text = f"{where} would differ{rows}"
    elif second.endswith((" rows", " entries")):
        at = f" ({difference.at})" if difference.at else ""
        text = f"{where} would have {second} instead of {first}{at}"
    elif difference.of > 1:
        at = f" at {difference.at}" if difference.at else ""
        text = f"{where} would differ in {difference.count} of {difference.of} rows: {second} instead of {first}{at}"
    else:
        text = f"{where} would be {second} instead of {first}"
    text = f"{difference.on}, {text}" if difference.on else text
    return clipped(text, LONGEST)


def _judged(opinion: SecondOpinion) -> Iterator[Block]:
    if opinion.confirms == "first":
        yield muted(
            "A third derivation on a small input, made from the request and the plan's assumptions, confirms that the "
            "function follows the plan. It does not confirm the assumptions."
        )
    elif opinion.confirms == "second":
        words = "A third derivation on a small input confirms the second solution, so the function may be wrong."
        yield line(Span("⚠", "warn"), words)
        if opinion.stays:
            yield muted(f"The function stays as it is. {clipped(opinion.stays, LONGEST)}")


def _found_wrong(opinion: SecondOpinion) -> Iterator[str]:
    if opinion.tests:
        yield f"It found an input on which the code was wrong. It is a test now: {', '.join(opinion.tests)}."


def _cost(opinion: SecondOpinion) -> str:
    spent = spending(opinion.usage, None)
    return " ".join(filter(None, (f"It cost {spent}, included in the total above." if spent else "", opinion.note)))


def _not_compared(opinion: SecondOpinion) -> str:
    if not opinion.not_compared:
        return ""
    more = f" and {len(opinion.not_compared) - MOST} more" if len(opinion.not_compared) > MOST else ""
    shown = "; ".join(clipped(note, LONGEST) for note in opinion.not_compared[:MOST])
    return f"Not compared: {shown}{more}."
