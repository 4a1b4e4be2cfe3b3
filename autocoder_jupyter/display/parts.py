"""Pieces that cards and inspector share: phases, plan, tests, checks, failures, source, and changes of a version."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from autocoder_jupyter.errors import RAN_OUT_OF_TIME
from autocoder_jupyter.run.record import AsksFor, Phase, RunRecord
from autocoder_jupyter.tasks.export import places
from autocoder_jupyter.types.records import STAGES
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.document import (
    Block,
    Bullets,
    Button,
    Fold,
    Group,
    Item,
    Items,
    Line,
    Paragraph,
    Source,
    Span,
    Tone,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import clipped, plain

if TYPE_CHECKING:
    from autocoder_jupyter.run.function_run import FunctionRun
    from autocoder_jupyter.run.of_report import Subject
    from autocoder_jupyter.types import (
        Changes,
        CheckOutcome,
        CodePlan,
        Evidence,
        InputSpec,
        Loss,
        OutputSpec,
        RowStep,
        TestOutcome,
        Trace,
    )


# Phases

PHASE_TONES: dict[Phase, Tone] = {
    "running": "busy",
    "waiting": "warn",
    "ready": "good",
    "failed": "bad",
    "cancelled": "quiet",
    "over_budget": "bad",
    "not_verified": "warn",
}

NO_ANSWER = "no answer yet"


def waits_for(run: RunRecord, faults: Iterable[str]) -> tuple[str, ...]:
    """What a run waits for: another run, the import of the model client, or the model's service."""
    loading = "Loading the model client; this takes some seconds, once per kernel" if run.loading else ""
    return (*filter(None, (run.waits, loading)), *(f"{fault[:1].upper()}{fault[1:]}" for fault in faults))


def no_answer(run: RunRecord) -> str:
    """`no answer yet: Tests`, without a name if there is only the first question; "" if the model says something."""
    named = [STAGES[stage].label for stage in run.silent if stage in STAGES] if run.silent != ("code",) else []
    return ": ".join(filter(None, (NO_ANSWER, ", ".join(named)))) if run.silent else ""


def effort(run: FunctionRun) -> tuple[str, ...]:
    """What a run under way will ask and take, until there is a plan."""
    return (run.effort,) if run.effort and not run.finished else ()


_TYPED: dict[AsksFor, tuple[str, ...]] = {
    "model": ("Set it before Python starts",),
    "price": ("If it is free: ", "To set a price"),
    "name": ("If they are: ",),
}
"""How lines of a reason begin that say what to type in place of our forms and buttons."""


def typed(run: RunRecord) -> list[str]:
    """The lines of the reason why a run ended that say what to type in place of our forms and buttons."""
    begins = _TYPED.get(run.asked_at_end, ())
    return [words for words in run.reason.split("\n") if words.strip().startswith(begins)]


def untyped(run: RunRecord) -> str:
    """The other lines of the reason."""
    left_out = typed(run)
    return "\n".join(words for words in run.reason.split("\n") if words not in left_out)


def reason_of(reason: str, title: str) -> str:
    """The reason why a run ended; "" if it only repeats the title."""
    return "" if reason.strip(".").casefold() == title.casefold() else reason


# Plan, tests and checks

MOST_ASSUMPTIONS = 20
FIRST_WORDS = 30
"""Words of the assumptions that are seen first; the others are behind a fold."""

MOST_FAILURES = 3
FIRST_LINE = 120
"""Characters of the first failure in the first line of the card."""

MESSAGE_CHARACTERS = 2_000
"""Characters of the message of a test or a check."""

MOST_RULES = 3

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


def assumptions(
    plan: CodePlan | None, evidence: Evidence | None = None, *, can_change: bool, most: int | None = FIRST_WORDS
) -> tuple[Block, ...]:
    """The assumptions of a plan, each with a button to change it: first a paragraph of at most so many words, but one;
    then a list. Those that are known to leave out no row come last.
    """
    if plan is None or not plan.assumptions:
        return ()
    rows = evidence.rows_used.assumptions if evidence is not None and evidence.rows_used is not None else {}
    change = (Button("Change"),) if can_change else ()
    kept = sorted(plan.assumptions[:MOST_ASSUMPTIONS], key=lambda assumption: rows.get(assumption) == 0)
    lost = {loss.said_by: loss.words for loss in reversed(evidence.losses if evidence is not None else ())}
    counts = {**lost, **{one: counted(count, "row") for one, count in rows.items()}}
    noted = {one: (Span(f"({words})", "muted"),) for one, words in counts.items()}
    listed = [line(clipped(one), *noted.get(one, ()), *change) for one in kept]
    if (left := len(plan.assumptions) - MOST_ASSUMPTIONS) > 0:
        listed.append(muted(f"and {left:,} more, in the plan"))
    touching = [assumption for assumption in kept if rows.get(assumption) != 0]
    words = itertools.accumulate(len(assumption.split()) for assumption in touching)
    first = max(min(most or 0, len(touching), 1), sum(most is None or count <= most for count in words))
    first += (len(listed) - len(touching)) * (most is None)
    if most is None:
        return (Bullets(tuple(listed)),)
    if first == len(listed):
        return (Paragraph(tuple(listed)),)
    more = f"{len(listed) - first} more" if first else counted(len(listed), "assumption")
    return (
        *([Paragraph(tuple(listed[:first]))] if first else []),
        line(Span(f"and {more}" if first else more, only="text")),
        Fold(more, (Bullets(tuple(listed[first:])),), only="html", is_beside=not first),
    )


def house_rules(rules: Sequence[str]) -> tuple[Block, ...]:
    """The first house rules that apply, and how many more there are. Their whole text is in what was sent."""
    shown = [clipped(rule, FIRST_LINE) for rule in rules[:MOST_RULES]]
    more = [f"and {len(rules) - MOST_RULES:,} more, in what was sent"] if len(rules) > MOST_RULES else []
    return lines([*shown, *more])


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
    return (
        *lines([plan.description, plan.approach]),
        *([Bullets(tuple(declared))] if declared else []),
        *lines(packages),
    )


def _explained(declared: str, meaning: str) -> Line:
    return line(Span(declared, "code"), Span(meaning, "muted"))


def sandbox_blocks(words: str) -> tuple[Block, ...]:
    """The sandbox and its tier; a click shows what it protects and what not. In a terminal it is one line."""
    name, _, holds = words.partition(": ")
    if not holds:
        return tuple(lines([words], "muted"))
    return Fold(name, (muted(holds),), only="html", is_beside=True), line(Span(words, only="text"))


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
    yield from (clipped(check.name, FIRST_LINE) for check in evidence.checks if check.passed)


def rows_used(evidence: Evidence | None, *, steps: bool = False) -> tuple[Block, ...]:
    """Which rows of the sample were used, in one line; with `steps`, where each of them is left out."""
    found = evidence.rows_used if evidence else None
    if found is None or (steps and not found.steps):
        return ()
    if not steps:
        return (line(clipped(found.line, 600)),)
    return (Bullets(tuple(line(clipped(step.words, 300), Span(_where(step), "muted")) for step in found.steps)),)


def _where(step: RowStep) -> str:
    rows = f"{step.before:,} → {step.after:,}" if step.before != step.after else f"{step.after:,}"
    return f"line {step.line}{f', {clipped(step.table, 80)}' if step.table else ''}: {rows}"


def remarks(evidence: Evidence) -> Iterator[str]:
    """Outputs on the sample that have no information, one sentence each."""
    for remark in evidence.remarks:
        yield f"{clipped(remark[:1].upper() + remark[1:])}."


def findings(evidence: Evidence, about: Subject) -> Iterator[str]:
    """What a person must decide: about what is lost, the outputs on the sample, or what the result depends on."""
    if about == "outputs":
        yield from remarks(evidence)
    if about == "losses":
        for loss in evidence.losses:
            if loss.asks:
                yield in_line(loss, loss.words)
    if about != "invariants" or evidence.strength is None:
        return
    yield from (clipped(one.words) for one in evidence.strength.dependences if one.differs)
    for one in evidence.strength.broken:
        if one.said:
            yield f"{one.words[:1].upper()}{one.words[1:]}."
        elif one.demanded_by:
            yield f"The plan says that {one.where} is the same with {one.name}, but it is not. One is wrong."
        else:
            yield f"The result must not depend on this, but does: with {one.name}, {one.where} differs."
    if (found := evidence.strength.stability) is not None and found.concern:
        yield f"{clipped(found.concern[:1].upper() + found.concern[1:], 600)}."
    for sentence in evidence.strength.dropped:
        yield f"A test of this sentence fails on the function, and was left out: {clipped(sentence)}"


def in_line(loss: Loss, words: str) -> str:
    """Words about a loss, as a sentence with its line."""
    return f"{clipped(words[:1].upper() + words[1:], 600)} (line {loss.line})."


def warning_lines(evidence: Evidence, trace: Trace | None = None, asked: Set[Subject] = frozenset()) -> Iterator[str]:
    """Warnings about what was found, but for what is asked about, and about tests."""
    subjects: tuple[Subject, ...] = "losses", "outputs", "invariants"
    for about in subjects:
        if about not in asked:
            yield from findings(evidence, about)
    if trace is not None and trace.suite_changed:
        yield f"Tests changed by the agent since it first wrote them: {', '.join(trace.suite_changed)}"
    if evidence.tests_changed:
        yield f"Tests changed since they were first written: {', '.join(evidence.tests_changed)}"
    if evidence.vacuous_tests:
        named = ", ".join(evidence.vacuous_tests)
        yield f"Tests that pass on stub functions, whatever the stubs return: {named}"
    if evidence.strength is not None:
        yield from (clipped(one.words) for one in evidence.strength.dependences if not one.differs)
        for one in evidence.strength.wrong_plan:
            claim = f"The plan says that {one.where} is the same with {one.name}."
            yield f"{claim} Two agreeing solutions contradict this."


def warned(sentences: Iterable[str]) -> tuple[Block, ...]:
    """Sentences with the sign of a warning."""
    return tuple(line(Span("⚠", "warn"), words) for words in sentences)


def warnings(
    evidence: Evidence | None, trace: Trace | None = None, asked: Set[Subject] = frozenset()
) -> tuple[Block, ...]:
    """`warning_lines` as blocks."""
    return warned(warning_lines(evidence, trace, asked)) if evidence else ()


def failures(
    tests: Sequence[TestOutcome], evidence: Evidence | None, reason: str = "", headline: str = ""
) -> tuple[Block, ...]:
    """The first failures with their messages: the user's tests, then the generated tests, then the checks."""
    own, others = (evidence.acceptance, evidence.checks) if evidence else ((), ())
    entries = [_failed(check) for check in own if not check.passed and not is_reported(check, reason)]
    entries += [_failed_test(test, headline) for test in tests if test.outcome != "passed"]
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


def _failed_test(test: TestOutcome, headline: str) -> tuple[Block, ...]:
    """A failed test with its error, unless the headline has it."""
    first = line(Span("✗", "bad"), Span(test.id, "code"), clipped(test.sentence))
    error = error_line(test)
    is_in_headline = headline == f"{test.id}: {error}" or (headline.startswith(_LATE) and _time_of(error) != "")
    return (first,) if is_in_headline else (first, line(Span(clipped(error), "code"), look="indented"))


def _message(message: str) -> tuple[str, tuple[Block, ...]]:
    """The message of a check: text to show beside its name, and a block to show below when it has several lines."""
    shown = clipped(message, MESSAGE_CHARACTERS)
    return ("", (Source(shown),)) if "\n" in message else (shown, ())


def first_failure(tests: Sequence[TestOutcome], evidence: Evidence | None, reason: str = "") -> str:
    """The first of `failures` in one short line, of a long one what failed; "" when there is none."""
    own, others = (evidence.acceptance, evidence.checks) if evidence else ((), ())
    messages = [check.message for check in (*own, *others) if not check.passed]
    messages += [test.message for test in tests if test.outcome != "passed"]
    if late := next(filter(None, map(_time_of, messages)), ""):
        return f"{_LATE} {late} s"  # that is why the others failed
    found = [(check.name, _failed_line(check, reason)) for check in own if not check.passed]
    found += [(test.id, f"{test.id}: {error_line(test)}") for test in tests if test.outcome != "passed"]
    found += [(check.name, _failed_line(check, reason)) for check in others if not check.passed]
    for name, words in found:
        told = " ".join(words.split())
        return clipped(told if len(told) <= FIRST_LINE else f"✗ {name}", FIRST_LINE)
    return ""


def _time_of(message: str) -> str:
    """The seconds after which a program was stopped; "" if the message does not say that."""
    found = _RAN_OUT.search(message)
    return found[1] if found else ""


def without_first(reason: str, tests: Sequence[TestOutcome]) -> str:
    """A reason without the assertion of the first failed test, which the headline has."""
    first = next((test.id for test in tests if test.outcome != "passed"), "")
    kept, found, error = reason.partition(f", first {first}: ") if first else (reason, "", "")
    _, end, more = error.partition("\n")
    return f"{kept}.{end}{more}" if found else reason


def _failed_line(check: CheckOutcome, reason: str) -> str:
    if not check.message or is_reported(check, reason):
        return f"✗ {check.name}"
    return f"{check.name}: {check.message}"


def error_line(test: TestOutcome) -> str:
    """The line of a failed test's message that names the error; pytest marks it with an E."""
    filled = [words for words in test.message.splitlines() if words.strip()]
    marked = [words.removeprefix("E").strip() for words in filled if words.startswith("E ")]
    return next((words for words in (*marked, *filled)), _ENDS.get(test.outcome, test.outcome))


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


# Source with buttons


def source_block(code: str, filename: str = "", defines: str = "", *, coloured: bool = True) -> Source:
    """Python code with buttons."""
    # For the button *Insert*: the positions of the name in the text as it is shown.
    found = places(plain(code).rstrip(), defines) if defines else ()
    return Source(code, coloured, filename=filename, defines=defines, places=tuple(found))


# Changes since the earlier version
#
# Lines with the signs of a diff, about interface, assumptions, outputs on the sample and tests. The code has a separate
# diff.

CHANGE_LINES = 12
"""Lines of one kind that are shown; the others are counted."""

SIGN_TONES: dict[str, Tone] = {"+": "good", "−": "bad", "→": "busy", "=": "quiet"}
"""The signs: added, removed, changed, unchanged."""

Change = tuple[str, str]
"""A sign and its text."""


def change_blocks(changes: Changes, plan: CodePlan, tests: Iterable[TestOutcome]) -> tuple[Block, ...]:
    """The changes, grouped by kind."""
    return tuple(Group(kind, _lines(found)) for kind, found in change_lines(changes, plan, tests).items())


def _lines(found: Sequence[Change]) -> tuple[Block, ...]:
    shown = [line(Span(sign, SIGN_TONES[sign]), clipped(words), look="hanging") for sign, words in found[:CHANGE_LINES]]
    more = len(found) - CHANGE_LINES
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
    return _compared("input", old, new)


def _input(spec: InputSpec) -> str:
    return f"{spec.name}: {spec.written_type}" + ("" if spec.required else f" = {spec.default!r}")


def _outputs(before: Sequence[OutputSpec], now: Sequence[OutputSpec]) -> list[Change]:
    old, new = ({spec.name: f"{spec.name}: {spec.written_type}" for spec in specs} for specs in (before, now))
    lines = _compared("output", old, new)
    columns = {spec.name: {column.name: column.dtype for column in spec.columns} for spec in before}
    for spec in now:
        if columns.get(spec.name) and spec.columns:
            were, are = columns[spec.name], {column.name: column.dtype for column in spec.columns}
            names = ({name: f"{spec.name}.{name}: {dtype}" for name, dtype in some.items()} for some in (were, are))
            lines += _compared("column", *names)
    return lines


def _compared(what: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[Change]:
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
