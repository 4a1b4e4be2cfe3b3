"""What a generation finds out: the answers of the model, and the evidence for a function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from autocoder_jupyter.types.interface import CodePlan, Conclusion, ConclusionKind
from autocoder_jupyter.types.records import Count, Record
from autocoder_jupyter.untrusted.visible import visible

# Answers of the model: code, edits, diagnoses, and their usage


class CodeSolution(Record):
    """The generated module. It defines one typed function, `run`."""

    language: Literal["python"] = "python"
    code: str
    system_packages: tuple[str, ...] = ()


ErrorType = Literal["logic", "environment", "test_error"]


class Edit(Record):
    """A replacement in a source text: `find` stands there exactly once, `replace` takes its place."""

    find: str
    replace: str


class TestFailure(Record):
    """One failing test and what the diagnosis makes of it."""

    __test__ = False  # the name starts with "Test", but pytest must not collect the class

    test_name: str
    error_message: str
    expected_behavior: str = ""
    actual_behavior: str = ""
    root_cause: str = ""
    suggested_fix: str = ""
    error_type: ErrorType


class ErrorDiagnosis(Record):
    """Why a test run failed, a failure at a time, and what the environment lacks."""

    failures: tuple[TestFailure, ...] = ()
    needs_system_packages: tuple[str, ...] = ()
    needs_language_packages: tuple[str, ...] = ()

    def of_type(self, error_type: ErrorType) -> tuple[TestFailure, ...]:
        """The failures of one kind."""
        return tuple(failure for failure in self.failures if failure.error_type == error_type)


class Usage(Record):
    """Tokens and money. `cost` is US dollars; None means unknown, which is not zero.

    Of the input tokens, `cached_tokens` were read from a provider's cache and `written_tokens` were written into it.
    """

    input_tokens: Count = 0
    cached_tokens: Count = 0
    written_tokens: Count = 0
    output_tokens: Count = 0
    cost: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            written_tokens=self.written_tokens + other.written_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=cost,
        )


STOPPED = "stopped"
"""The finish reason of an answer that is no longer awaited. Its tokens are estimated."""


class Exchange(Record):
    """One question to the language model and its answer, as they crossed the wire.

    `stage` is what it was for ("plan", "code" …), `key` the content key of the question, `seconds` the latency of
    the real call, `replayed` whether the answer came from the journal. `usage` is what it cost this run, so nothing if
    it was replayed; `recorded` is then what it cost when it was recorded. Of an answer that was cut off, `room` is the
    number of tokens that it could have.
    """

    stage: str
    key: str
    model: str
    messages: tuple[dict[str, Any], ...]
    answer: str
    finish_reason: str = "stop"
    usage: Usage = Usage()
    seconds: float = 0.0
    replayed: bool = False
    room: Count | None = None
    recorded: Usage = Field(default=Usage(), exclude=True)

    def as_replayed(self) -> Exchange:
        """The same, from the journal and without cost."""
        return self.model_copy(update={"replayed": True, "usage": Usage(), "recorded": self.usage})


# Strength of the evidence: whether tests notice changes of the function, and what else was tried

LONGEST = 200
"""Characters of an expression."""

ENOUGH = 0.8
"""The share of changes that tests must notice. If more than a fifth passes, a sentence of the request has no test."""

NO_CHANGE = "no small change of it gives another answer"
"""Why no change counts, if nothing went wrong."""

TIME_IS_UP = "the time was up"
"""Why a layer of evidence is not complete. A later run may complete it, and has more time for that."""

MORE_TIME = 10
"""How many times as long a layer may take in such a run."""

TOO_SLOW = f"the function is too slow: the time was up, although it was {MORE_TIME} times as much as usual"
"""Why it is not complete then."""

ZONE = "the same instants in another time zone"
"""The name of an invariant. It may matter, because it moves the limits of days."""


def _in_one_line(text: str) -> str:
    return visible(" ".join(text.split()))[:LONGEST]


_Shown = Annotated[str, AfterValidator(_in_one_line)]


class CodeChange(Record):
    """A small change of the function that changes an answer: in this `line`, `now` instead of `was`.

    `noticed_by` is the first test, or the user's example, that failed with it; "" if none did.
    """

    line: Count
    was: _Shown
    now: _Shown
    noticed_by: _Shown = ""

    @property
    def words(self) -> str:
        """The change in one line."""
        return f"line {self.line}: {self.now} instead of {self.was}"


class HiddenInput(Record):
    """Something beside the inputs that the result may depend on: the date, chance, the process.

    `on` is what was changed ("the date", "chance", "the process that runs it"), `reads` what the code reads of it, in
    these `lines`; `differs` says whether the result on the sample was another one, `tried` whether a run with a change
    had a result.
    """

    on: _Shown
    reads: tuple[_Shown, ...] = ()
    lines: tuple[Count, ...] = ()
    differs: bool = False
    tried: bool = True

    @property
    def words(self) -> str:
        """The finding in one or two sentences."""
        where = f" (line {', '.join(map(str, self.lines))})" if self.lines else ""
        reads = f"The code reads {' and '.join(self.reads)}{where}" if self.reads else ""
        if self.differs:
            return f"{reads}, and the result depends on it." if reads else f"The result depends on {self.on}."
        if not self.tried:
            return f"{reads}. No trial run could change that, so check whether the result depends on it."
        return f"{reads}; the result was the same when it changed."


class Invariant(Record):
    """A change of the data after which the result must be the same, such as another order of the rows; or other inputs.

    `holds` says whether it was, `where` names the first output that differs, and `smallest` is a small input on which
    it does, as Python source; "" if there is none that may be shown. `said` is what else was tried, or went wrong: "the
    function raises KeyError", a check of the user, or a property; `name` is then the input. `demanded_by` says who
    wants it: "" if every function must keep it, `plan` if only the plan says so, `tests` if it is a property that the
    tests name, and `nobody` if it is wrong: a second solution that agrees with the function does not keep what the plan
    says either, or a second derivation rejects the property.
    """

    name: _Shown
    holds: bool
    where: _Shown = ""
    smallest: str = ""
    said: _Shown = ""
    demanded_by: Literal["", "plan", "tests", "nobody"] = ""

    @property
    def words(self) -> str:
        """What was found, in a few words."""
        if self.said:
            return f"{self.said} {self.name}"
        ruled_out = ", which the plan rules out" if self.demanded_by else ""
        return f"{self.name} changes {self.where}{ruled_out}"

    @property
    def is_property(self) -> bool:
        """Whether it is a property that the tests name."""
        return bool(self.said) and self.demanded_by in ("tests", "nobody")


# Stability: whether a conclusion holds when the data are drawn anew, and when its outcome is shuffled

MOST_DRAWS = 1_000
"""Resamples, and shuffled data, of one record."""

MOST_LABELS = 8
"""Labels of which the number is told."""

_Draws = Annotated[int, Field(ge=0, le=MOST_DRAWS)]
_Numbers = Annotated[tuple[float, ...], Field(max_length=MOST_DRAWS)]

_SAME_WORDS: dict[ConclusionKind, str] = {
    "verdict": "{output} is the same in {same} of {of}",
    "ranking": "the first entry of {output} is another one in {other} of {of}",
    "effect": "the sign of {output} holds in {same} of {of}",
    "number": "{output} changes by less than half in {same} of {of}",
}
_ALIKE_WORDS: dict[ConclusionKind, str] = {
    "verdict": "the same verdict",
    "ranking": "the same first entry",
    "effect": "as large an effect",
    "number": "as large a number",
}


class LabelCount(Record):
    """How often a label, such as the first entry of a ranking, was the result of resamples and of shuffled data."""

    label: _Shown
    resampled: _Draws = 0
    shuffled: _Draws = 0


class Stability(Record):
    """Whether a conclusion holds on resamples of its data, and whether it needs its outcome.

    A resample has as many rows, or as many whole groups, as the data, drawn from them with replacement; `drawn` says
    which. `same` of the `resamples` that gave a result agree with the data. In `shuffled` data the outcome was
    permuted, only `within` each group or not, and `alike` of them gave as affirmative a result. On `failed` further
    ones the function raised an error (`error`), or gave no result. What is alarming is in `alarms`: few resamples
    agree (`resampled`); too many shuffled data give the same (`shuffled`); the result has nothing to do with the
    outcome (`outcome`). `why` says why nothing was tried, or not both. `result` is that on the data, `numbers` and
    `shuffled_numbers` are those of an effect or a number, `tallies` those of labels; they are empty if they must not
    be recorded.
    """

    conclusion: Conclusion
    result: _Shown = ""
    drawn: Literal["rows", "groups", "rows of each group"] = "rows"
    within: bool = False
    resamples: _Draws = 0
    same: _Draws = 0
    shuffled: _Draws = 0
    alike: _Draws = 0
    failed: _Draws = 0
    error: _Shown = ""
    alarms: Annotated[tuple[Literal["resampled", "shuffled", "outcome"], ...], Field(max_length=3)] = ()
    why: _Shown = ""
    numbers: _Numbers = ()
    shuffled_numbers: _Numbers = ()
    tallies: Annotated[tuple[LabelCount, ...], Field(max_length=MOST_LABELS)] = ()

    def __repr__(self) -> str:
        return "\n".join(map(visible, self.sentences))

    def __str__(self) -> str:
        return repr(self)

    @property
    def concern(self) -> str:
        """What is alarming, in one line; "" if nothing is."""
        return "; ".join(words for about, words in self._findings() if about in self.alarms)

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that was found, each as a sentence."""
        found = [words for about, words in self._findings() if about != "outcome" or about in self.alarms]
        if self.failed:
            found.append(f"{self.failed} more gave no result{f' ({self.error})' if self.error else ''}")
        if self.why:
            found.append(self.why)
        return tuple(f"{words[:1].upper()}{words[1:]}." for words in found)

    def _findings(self) -> Iterator[tuple[str, str]]:
        """The sentences without their ends, each with the alarm that it is about."""
        about, outcome = self.conclusion, _in_one_line(self.conclusion.outcome)
        output, groups = _in_one_line(about.output), _in_one_line(", ".join(about.groups))
        if self.resamples:
            of = {"rows": "", "groups": f" of whole groups ({groups})", "rows of each group": f" within {groups}"}
            yield (
                "resampled",
                _SAME_WORDS[about.kind].format(
                    output=output,
                    same=self.same,
                    other=max(self.resamples - self.same, 0),
                    of=f"{self.resamples} resamples{of[self.drawn]}",
                ),
            )
        if self.shuffled and "outcome" not in self.alarms:
            alike = _ALIKE_WORDS[about.kind]
            within = f" within {groups}" if self.within else ""
            shuffled = f"data with {outcome} shuffled{within}"
            yield "shuffled", f"{shuffled} give {alike} in {self.alike} of {self.shuffled}"
        yield "outcome", f"{output} stays the same whatever {outcome} is: it does not depend on it"


class LayerCost(Record):
    """What one layer of the evidence took: the `tokens` of its questions, in and out, that this run paid for; the
    `recorded` ones, of answers from the journal, which an earlier run paid for; and the `seconds` of its runs, without
    those in which the model answered.
    """

    layer: _Shown
    tokens: Count = 0
    recorded: Count = 0
    seconds: float = Field(default=0.0, ge=0)


class Strength(Record):
    """What the tests notice, and what else was found out about a verified function.

    `changes` are small changes of the function, each of which gives another answer on the sample or on a variation of
    it. `ended` says why not all were tried, or why there are none; "" if there is nothing to say. `dependences` say
    what else than its inputs the code reads, `relations` whether changes of the data that should not matter do. `added`
    are tests that were added because changes were not noticed; `dropped` are the sentences of tests that were not
    added, because they fail on the function. `note` says why no tests were added although some were wanted. `effort` is
    the effort with which it was examined, "" in older records. `cut` names other layers that had too little
    time. A later run completes what the time has cut, unless it has already had several times as much (`is_final`).
    `pace` says how long it would take for many more rows, if that is long. `stability` says whether the conclusion that
    the plan names is stable; None if it names none.
    """

    changes: tuple[CodeChange, ...] = ()
    pace: _Shown = ""
    ended: str = ""
    dependences: tuple[HiddenInput, ...] = ()
    relations: tuple[Invariant, ...] = ()
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    note: str = ""
    effort: _Shown = ""
    cut: tuple[_Shown, ...] = ()
    is_final: bool = False
    stability: Stability | None = None

    @property
    def is_cut(self) -> bool:
        """Whether a later run may complete it."""
        return not self.is_final and (bool(self.cut) or self.ended == TIME_IS_UP)

    def is_less_than(self, other: Strength) -> bool:
        """Whether another run found out more."""
        found = len(self.changes), len(other.changes)
        return found[0] < found[1] or (
            found[0] == found[1] and (self.is_cut or self.effort != other.effort) and not other.is_cut
        )

    @property
    def is_weak(self) -> bool:
        """Whether the tests notice too few of the changes."""
        return self.noticed < ENOUGH * len(self.changes)

    @property
    def noticed(self) -> int:
        """The number of changes that a test notices."""
        return sum(bool(change.noticed_by) for change in self.changes)

    @property
    def survivors(self) -> tuple[CodeChange, ...]:
        """The changes that no test notices."""
        return tuple(change for change in self.changes if not change.noticed_by)

    @property
    def broken(self) -> tuple[Invariant, ...]:
        """The changes of the data that matter although they should not, and what went wrong on other inputs."""
        found = (one for one in self.relations if not one.holds and one.name != ZONE)
        return tuple(one for one in found if one.demanded_by != "nobody")

    @property
    def wrong_plan(self) -> tuple[Invariant, ...]:
        """What only the plan says of the answer, and two solutions that agree do not keep."""
        return tuple(one for one in self.relations if one.demanded_by == "nobody" and not one.said)


# Rows: which rows of the sample a function used, and why it left others out

MOST_REASONS = 5
"""Reasons in one line."""


class RowStep(Record):
    """A step that changes the number of rows, in this `line` of the function: `before`, `after`.

    `reason` says which rows are left out ("with status cancelled"), or is a sentence about a join or about rows that
    become more; "" if it is not known. `table` is the input, if there are several. Of groups, `of_groups` is true.
    `by_value` is true if the values of a row decide alone, so that the share may be compared with that of other data.
    """

    line: Count
    table: _Shown = ""
    before: Count = 0
    after: Count = 0
    reason: _Shown = ""
    of_groups: bool = False
    by_value: bool = False

    @property
    def words(self) -> str:
        """The step in a few words, such as `118 with status cancelled`."""
        if not self.reason:
            return f"{'groups' if self.of_groups else 'rows'} after line {self.line}: {self.after:,}"
        if self.after >= self.before:
            return self.reason
        of = f" of {self.before:,} groups" if self.of_groups else ""
        return f"{self.before - self.after:,}{of} {self.reason}"


class RowsUsed(Record):
    """Which rows of the sample a function used: `used` of those `before`.

    It is counted in a run of an instrumented copy. `after_line` is the line up to which the rows could be followed; 0
    if that is the end. `output` is the output that has these rows, if another one may have others. `assumptions` are
    those of the plan of which it is certain how many rows they leave out, with that number.
    """

    table: _Shown = ""
    before: Count
    used: Count
    after_line: Count = 0
    output: _Shown = ""
    steps: tuple[RowStep, ...] = ()
    assumptions: Mapping[str, int] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.line!r})"

    def __str__(self) -> str:
        return self.line

    @property
    def line(self) -> str:
        """`4,200 rows → 3,961 used; 118 with status cancelled, 64 where country is missing`."""
        of, output = (f" of {self.table}" if self.table else ""), f" for {self.output}" if self.output else ""
        rows = f"{self.before:,} row{'' if self.before == 1 else 's'}{of}"
        drops_first = sorted(self.steps, key=lambda step: step.after >= step.before)
        reasons = [f"{step.table}: {step.words}" if self._is_other(step) else step.words for step in drops_first]
        dropping = [step for step in self.steps if step.after != step.before and not self._is_other(step)]
        if self.after_line:
            head = f"{rows} → {self.used:,} after line {self.after_line}{output}"
        elif self.used == self.before and all(step.of_groups for step in dropping):
            head = f"none of {rows} left out{output}"
        else:
            head = f"{rows} → {self.used:,} used{output}"
        more = len(reasons) - MOST_REASONS
        shown = [*reasons[:MOST_REASONS], *([f"and {more} more"] if more > 0 else [])]
        return f"{head}; {', '.join(shown)}" if shown else head

    def _is_other(self, step: RowStep) -> bool:
        """Whether a step is about a table that is joined to this one."""
        return step.table not in ("", self.table)


class Loss(Record):
    """What a call in this `line` of the function loses or multiplies on the sample.

    `words` say it with its numbers, and name values of the data only if these may be kept; `in_full` always does, is
    only for the user and is never written to a file. `said_by` is the sentence of the request or the plan that speaks
    of it; "" if none does. `asks` says whether a person must decide if it is right.
    """

    line: Count
    words: _Shown
    in_full: str = Field(default="", exclude=True, repr=False)
    said_by: str = ""
    asks: bool = False


# Tests, checks, earlier versions and the second opinion

Outcome = Literal["passed", "failed", "error", "missing"]

BLIND = "blind::"
"""The prefix of the ids of blind tests in a list with other tests."""

OWN_EXAMPLE, OWN_TEST = "your example", "your test"
"""The beginnings of the names of what the user gave."""

BEYOND = "beyond the profile, "
"""The beginning of the names of variations that the profile of the sample does not have, and later data may."""

THE_SAMPLE = "the sample"
"""The name of the sample among the inputs of a comparison."""


class TestOutcome(Record):
    """One test: its id (`test_x`, `TestC::test_x`, `test_x[1-a]`), the sentence that it checks, and its outcome.

    `calls` is false if it failed before it called the function, which then has no part in it; it is not recorded.
    """

    __test__ = False

    id: str
    outcome: Outcome
    seconds: float = 0.0
    sentence: str = ""
    message: str = ""
    calls: bool = Field(default=True, exclude=True, repr=False)

    @property
    def is_blind(self) -> bool:
        """Whether it is a blind test, which the writer of code and tests has not seen."""
        return self.id.startswith(BLIND)


class CheckOutcome(Record):
    """One condition that is not a test: a user's `--check`, a constraint, types, determinism, untouched inputs.

    `message` may also be sent to a model. `in_full` is only for the user and is never written to a file.
    """

    name: str
    passed: bool
    message: str = ""
    in_full: str = Field(default="", exclude=True, repr=False)


class Evidence(Record):
    """The evidence for `success`, which needs every part of it. A part that was not reached is empty.

    `acceptance` has the outcomes of the user's examples, tests and checks, in this order. Only the user changes these.
    `remarks` say which outputs on the sample are empty, all missing or constant; they do not fail it. `strength` says
    what the tests are worth; None if that was not examined. `costs` say what each layer took: the tests, the second
    opinion, and those that need no model; of a function that was examined before, what they took then. `rows_used` says
    which rows of the sample were used; None if that is not known. `losses` are what its calls lose or multiply.
    `rows_cut` says whether the time was up for both.
    """

    acceptance: tuple[CheckOutcome, ...] = ()
    tests: tuple[TestOutcome, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()
    vacuous_tests: tuple[str, ...] = ()
    tests_changed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    strength: Strength | None = None
    costs: tuple[LayerCost, ...] = ()
    rows_used: RowsUsed | None = None
    losses: tuple[Loss, ...] = ()
    rows_cut: bool = False

    @property
    def conditions(self) -> tuple[CheckOutcome, ...]:
        """All conditions except the model's tests; the user's come first."""
        return (*self.acceptance, *self.checks)


class TestChoice(Record):
    """What happened to a test of the earlier version: kept, dropped or re-derived, and why."""

    __test__ = False

    id: str
    sentence: str = ""
    fate: Literal["kept", "dropped", "changed"] = "kept"
    reason: str = ""


class OutputChange(Record):
    """How an output on the sample differs from that of the earlier version, one sentence per line."""

    name: str
    lines: tuple[str, ...] = ()


class Changes(Record):
    """The differences from the version that this one was made from.

    `plan` and `code` are those of the earlier version. `outputs` are compared on this version's sample; `None` if the
    earlier version could not run on it.
    """

    plan: CodePlan
    code: str
    tests: tuple[TestChoice, ...] = ()
    outputs: tuple[OutputChange, ...] | None = None


class Difference(Record):
    """One place where the function and the second solution differ.

    `where` is an output, its column (`monthly.growth`) or its rows; `first` is the result of the function there,
    `second` that of the other, `at` the row that is shown; `count` of `of` rows differ. `on` names the variation of the
    sample; it is "" for the sample itself.
    """

    where: str
    first: str
    second: str
    at: str = ""
    count: Count = 1
    of: Count = 1
    on: str = ""


def _as_wish(line: str) -> str:
    return visible(" ".join(line.replace("@", "").split())).lstrip("-%!? ")[:400]


def _few_words(words: str) -> str:
    return visible(" ".join(words.split()))[:80].rstrip(".")


class Reading(Record):
    """Another reading of the request: a few `words` ("year on year"), and a `line` for the request.

    A model or a stranger's file wrote both, and `line` becomes the text of a cell. So it is one line without options,
    references to data (`@name`) and hidden characters. `assumption` is the plan's assumption that says the opposite, or
    "".
    """

    words: Annotated[str, AfterValidator(_few_words)]
    line: Annotated[str, AfterValidator(_as_wish)]
    assumption: str = ""


MOST_MISUNDERSTANDINGS = 3


def _first_few(texts: tuple[str, ...]) -> tuple[str, ...]:
    return texts[:MOST_MISUNDERSTANDINGS]


class SecondOpinion(Record):
    """The comparison with an independent second solution of the request.

    `state`: both `agree`; they `differ`; an output was `not compared`, and the rest agrees; or there is `none`, and
    `note` says why. While the function can be used already, it is `running`. `compared` names the outputs of which
    values were compared, `tried` the variations of the sample on which they were, `not_compared` the parts without a
    counterpart and the variations on which the second one failed. `differs_on` names all inputs on which they differ;
    `differences` has each place once. `parts` is the number of small parts of the sample on which both agree; 0 if they
    differ on one.
    `misunderstandings` are what the writer of the second one says could be misunderstood. `family` is the family of
    models that wrote both, such as "Claude"; "" if there are two, or that is unknown.
    `smallest` is a small input on which they differ, as Python source, and `derivation` the correct output for it,
    derived independently from the request and the plan; `confirms` says which of the two has it. `tests` are the tests
    that were made from it, and that the function has passed since. If the second one has the derived output and the
    function was not changed, `stays` says why. `unanswered` are the questions without an answer; the next run asks them
    again. `cut` says whether the time was up, so that a later run completes the comparison. `usage` is part of the
    report's.
    """

    state: Literal["agree", "differ", "not compared", "none", "running"] = "none"
    note: str = ""
    code: str = ""
    model: str = ""
    family: _Shown = ""
    misunderstandings: Annotated[tuple[_Shown, ...], AfterValidator(_first_few)] = ()
    differences: tuple[Difference, ...] = ()
    readings: tuple[Reading, ...] = ()
    differs_on: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    parts: Count = 0
    not_compared: tuple[str, ...] = ()
    smallest: str = ""
    derivation: str = ""
    confirms: Literal["first", "second", ""] = ""
    tests: tuple[str, ...] = ()
    stays: str = ""
    unanswered: tuple[str, ...] = ()
    cut: bool = False
    usage: Usage = Usage()
