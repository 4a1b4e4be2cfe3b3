"""The evidence for a function: outcomes of tests and checks, changes, differences from a second solution."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from autocoder_jupyter.types.interface import CodePlan
from autocoder_jupyter.types.record import Count, Record
from autocoder_jupyter.types.solution import Usage
from autocoder_jupyter.types.strength import LayerCost, Strength
from autocoder_jupyter.untrusted.visible import visible

Outcome = Literal["passed", "failed", "error", "missing"]


BLIND = "blind::"
"""The prefix of the ids of blind tests in a list with other tests."""

OWN_EXAMPLE, OWN_TEST = "your example", "your test"
"""The beginnings of the names of what the user gave."""

THE_SAMPLE = "the sample"
"""The name of the sample among the inputs of a comparison."""


class TestOutcome(Record):
    """One test: its id (`test_x`, `TestC::test_x`, `test_x[1-a]`), the sentence that it checks, and its outcome."""

    __test__ = False

    id: str
    outcome: Outcome
    seconds: float = 0.0
    sentence: str = ""
    message: str = ""

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
    opinion, and those that need no model; of a function that was examined before, what they took then.
    """

    acceptance: tuple[CheckOutcome, ...] = ()
    tests: tuple[TestOutcome, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()
    vacuous_tests: tuple[str, ...] = ()
    tests_changed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    strength: Strength | None = None
    costs: tuple[LayerCost, ...] = ()

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


class SecondOpinion(Record):
    """The comparison with an independent second solution of the request.

    `state`: both `agree`; they `differ`; an output was `not compared`, and the rest agrees; or there is `none`, and
    `note` says why. While the function can be used already, it is `running`. `compared` names the outputs of which
    values were compared, `tried` the variations of the sample on which they were, `not_compared` the parts without a
    counterpart and the variations on which the second one failed. `differs_on` names all inputs on which they differ;
    `differences` has each place once. `parts` is the number of small parts of the sample on which both agree; 0 if they
    differ on one.
    `smallest` is a small input on which they differ, as Python source, and `derivation` the correct output for it,
    derived independently from the request and the plan; `confirms` says which of the two has it. `tests` are the tests
    that were made from it, and that the function has passed since. If the second one has the derived output and the
    function was not changed, `stays` says why. `unanswered` are the questions without an answer; the next run asks them
    again. `usage` is part of the report's.
    """

    state: Literal["agree", "differ", "not compared", "none", "running"] = "none"
    note: str = ""
    code: str = ""
    model: str = ""
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
    usage: Usage = Usage()
